"""What a gateway remembers over its own death: transcripts, marks, flags and owed answers.

One small file, replaced as a whole with every change, so that a kill leaves the one or the other.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["ATTEMPTS", "Conversation", "Exchange", "Lasting", "Owed"]

ATTEMPTS = 3  # Source: Hermes 0.22, gateway/delivery_ledger.py:MAX_ATTEMPTS


@dataclass
class Exchange:
    """A question in a transcript, and the reply to it."""

    message_id: str
    text: str
    replied_at: float | None = None
    """When the reply was written; what it says is the agent's answer to the text."""


@dataclass
class Conversation:
    """One session."""

    room_id: str
    thread_root_id: str | None
    token: str | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    marked_at: float | None = None
    """Since when a run is under way: the durable mark of an active turn; None: none is."""
    is_resumed: bool = False
    """It is to be resumed at the next start."""


@dataclass
class Owed:
    """An answer that may not have reached the room."""

    session_key: str
    question: str
    """The text it answers."""
    created_at: float
    state: str = "pending"
    attempts: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it will still be handed over."""
        return self.state in {"pending", "attempting", "failed"}


class Lasting:
    """The file."""

    def __init__(self, path: Path) -> None:
        """Read it; a missing one is empty."""
        self._path = path
        self.conversations: dict[str, Conversation] = {}
        self.owed: list[Owed] = []
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            for key, values in kept["conversations"].items():
                exchanges = [Exchange(**each) for each in values.pop("exchanges")]
                self.conversations[key] = Conversation(**values, exchanges=exchanges)
            self.owed = [Owed(**each) for each in kept["owed"]]

    @contextmanager
    def changed(self) -> Iterator[None]:
        """Change something within a block; afterwards it is in the file."""
        yield
        self.owed = [each for each in self.owed if each.is_open]
        content = {
            "conversations": {key: asdict(each) for key, each in self.conversations.items()},
            "owed": [asdict(each) for each in self.owed],
        }
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(content), encoding="utf-8")
        os.replace(beside, self._path)  # noqa: PTH105 - the word for what it does

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is to be resumed or handed over any more."""
        busy = any(each.marked_at or each.is_resumed for each in self.conversations.values())
        return not busy and not any(each.is_open for each in self.owed)
