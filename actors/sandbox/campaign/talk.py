"""How a campaign and the process that hosts the plugin talk: one JSON object a line, both ways."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final, TypeAlias

__all__ = [
    "Arm",
    "Die",
    "Ended",
    "Live",
    "Mail",
    "Passed",
    "Ready",
    "Struck",
    "Tell",
    "read",
    "write",
]


@dataclass(frozen=True, slots=True)
class Live:
    """Start a process that hosts the plugin."""

    url: str
    folder: str
    commit_s: float = 0.0
    """How long each commit waits for a slow disk."""


@dataclass(frozen=True, slots=True)
class Arm:
    """Have the process kill itself at a point, or at any other that is not spared."""

    target: list[str]
    """Edge and place; empty: there is none."""
    nth: int
    """When the target is passed for this time from now on."""
    spared: list[list[str]]
    """Edge and place of each point where it goes on."""


@dataclass(frozen=True, slots=True)
class Tell:
    """Have the process say which points it passed since then, and kill itself at none."""


@dataclass(frozen=True, slots=True)
class Die:
    """Kill the process from outside, now."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The plugin is connected and the gateway lets people in."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Which points were passed, and how often: edge, place, count."""

    points: list[list[str | int]]


@dataclass(frozen=True, slots=True)
class Struck:
    """The process kills itself now; where: edge and place."""

    edge: str
    place: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The process is gone; its exit code, or minus the signal that ended it."""

    status: int


Mail: TypeAlias = Live | Arm | Tell | Die | Ready | Passed | Struck | Ended

KINDS: Final[Mapping[str, type[Mail]]] = {
    kind.__name__: kind for kind in (Live, Arm, Tell, Die, Ready, Passed, Struck, Ended)
}


def write(mail: Mail) -> bytes:
    """Return a mail as a line."""
    return json.dumps([type(mail).__name__, asdict(mail)]).encode() + b"\n"


def read(line: bytes) -> Mail:
    """Return the mail of a line.

    Raises:
        ValueError: it is none.
    """
    kind, values = json.loads(line)
    return KINDS[kind](**values)
