"""How a campaign and the process that hosts the plugin talk: one JSON object a line, both ways."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final, TypeAlias

__all__ = ["Arm", "Die", "Ended", "Live", "Mail", "Passed", "Ready", "Tell", "read", "write"]


@dataclass(frozen=True, slots=True)
class Live:
    """Start a process that hosts the plugin."""

    url: str
    folder: str
    commit_s: float = 0.0
    """How long each commit waits for a slow disk."""


@dataclass(frozen=True, slots=True)
class Arm:
    """Have the process kill itself when it passes a point for the n-th time from now on."""

    edge: str
    place: str
    nth: int


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
class Ended:
    """The process is gone; its exit code, or minus the signal that ended it."""

    status: int


Mail: TypeAlias = Live | Arm | Tell | Die | Ready | Passed | Ended

KINDS: Final[Mapping[str, type[Mail]]] = {
    kind.__name__: kind for kind in (Live, Arm, Tell, Die, Ready, Passed, Ended)
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
