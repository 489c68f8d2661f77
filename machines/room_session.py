"""A session that a fresh room message opens: what it is told about the room, once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .chart import Chart, State
from .driver import Record, Slot

__all__ = ["RoomSessionChart", "RoomSessionRecord", "Skip"]


@dataclass(slots=True)
class RoomSessionRecord(Record):
    """What the chart decides about a room session."""

    state: str = "blind"
    reason: str | None = None
    """Why it was skipped; None unless it was."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Payload of `skip`: why the room was not told about."""

    reason: str


class RoomSessionChart(Chart[Slot[RoomSessionRecord]]):
    """Decide whether the session a room message opens still needs to hear about the room."""

    MACHINE = "room_session"
    CLOSED = frozenset({"briefed", "skipped"})
    MEANING: ClassVar[Mapping[str, str]] = {
        "blind": "the session knows nothing of the room yet",
        "briefed": "its first turn brought the room block and the reply pointer along",
        "skipped": "nothing to tell: the session existed, or the turn ended before its hand-over",
    }

    blind = State(initial=True)
    briefed = State()
    skipped = State()

    brief = blind.to(briefed) | briefed.to(briefed) | skipped.to(skipped)
    skip = blind.to(skipped, on="note_reason") | skipped.to(skipped) | briefed.to(briefed)

    def note_reason(self, ev: Skip) -> None:
        """Write down why."""
        self.model.record.reason = ev.reason
