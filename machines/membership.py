"""How the agent's account stands in one room."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .chart import Chart, State
from .driver import Record, Slot

__all__ = ["Change", "MembershipChart", "MembershipRecord"]


@dataclass(slots=True)
class MembershipRecord(Record):
    """What the chart decides about a membership."""

    state: str = "outside"
    reason: str | None = None
    """How it came about."""


@dataclass(frozen=True, slots=True)
class Change:
    """Payload of every event: how it came about."""

    reason: str


class MembershipChart(Chart[Slot[MembershipRecord]]):
    """Decide what a look at the room changes; a look that shows nothing new changes nothing."""

    MACHINE = "membership"
    MEANING: ClassVar[Mapping[str, str]] = {
        "outside": "not in the room; it may be joined",
        "inside": "in the room",
        "shut_out": "not in the room and not let in: banned, or without the right to join",
    }

    outside = State(initial=True)
    inside = State()
    shut_out = State()

    enter = (
        outside.to(inside, on="note_reason")
        | shut_out.to(inside, on="note_reason")
        | inside.to(inside)
    )
    leave = (
        inside.to(outside, on="note_reason")
        | shut_out.to(outside, on="note_reason")
        | outside.to(outside)
    )
    bar = (
        inside.to(shut_out, on="note_reason")
        | outside.to(shut_out, on="note_reason")
        | shut_out.to(shut_out)
    )

    def note_reason(self, ev: Change) -> None:
        """Write down how it came about."""
        self.model.record.reason = ev.reason
