"""A thread, or a direct conversation: what its session holds of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .chart import Chart, State
from .driver import Record, Slot

__all__ = ["Advance", "Frontier", "ThreadChart", "ThreadRecord"]


@dataclass(slots=True)
class ThreadRecord(Record):
    """What the chart decides about a thread."""

    state: str = "fresh"
    frontier_id: str | None = None
    """Message up to which the session holds the thread; None: not known, or nothing yet."""


@dataclass(frozen=True, slots=True)
class Advance:
    """Payload of `hand_over`: how far the session holds the thread afterwards."""

    frontier_id: str
    """The trigger if the block reached it, else the last line of the slice."""
    drained: bool
    """Whether the block reached the trigger: nothing older is still to come."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """Payload of `clear` and `undo`: where the frontier is put."""

    frontier_id: str | None


class ThreadChart(Chart[Slot[ThreadRecord]]):
    """Decide what the session of a thread still lacks of it."""

    MACHINE = "thread"
    MEANING: ClassVar[Mapping[str, str]] = {
        "fresh": "no session yet: the first turn brings the thread along",
        "blind": "a session exists, but how far it holds the thread is not known",
        "seeded": "the session holds everything up to the frontier, and nothing came since",
        "behind": "something was posted that the session does not hold",
    }

    fresh = State(initial=True)
    blind = State()
    seeded = State()
    behind = State()

    lose_frontier = fresh.to(blind)
    hand_over = (
        fresh.to(seeded, on="advance")
        | blind.to(seeded, cond="is_drained", on="advance")
        | blind.to(blind)
        | seeded.to(seeded, on="advance")
        | behind.to(seeded, cond="is_drained", on="advance")
        | behind.to(behind, on="advance")
    )
    fall_behind = seeded.to(behind) | behind.to(behind) | blind.to(blind) | fresh.to(fresh)
    undo = (
        seeded.to(fresh, cond="had_none", on="place")
        | seeded.to(behind, on="place")
        | behind.to(fresh, cond="had_none", on="place")
        | behind.to(behind, on="place")
        | blind.to(blind)
    )
    clear = (
        fresh.to(seeded, on="place")
        | blind.to(seeded, on="place")
        | seeded.to(seeded, on="place")
        | behind.to(seeded, on="place")
    )
    replace_session = (
        fresh.to(fresh)
        | blind.to(fresh, on="forget")
        | seeded.to(fresh, on="forget")
        | behind.to(fresh, on="forget")
    )

    def advance(self, ev: Advance) -> None:
        """Move the frontier to where the hand-over reached."""
        self.model.record.frontier_id = ev.frontier_id

    def place(self, ev: Frontier) -> None:
        """Put the frontier where a command or an undone hand-over says."""
        self.model.record.frontier_id = ev.frontier_id

    def forget(self) -> None:
        """The session that held something is gone."""
        self.model.record.frontier_id = None

    def is_drained(self, ev: Advance) -> bool:
        """Tell whether nothing older than the trigger is still to come."""
        return ev.drained

    def had_none(self, ev: Frontier) -> bool:
        """Tell whether no frontier was known before the undone hand-over."""
        return ev.frontier_id is None
