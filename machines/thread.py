"""A thread, or a direct conversation: what its session holds of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .chart import Chart, State
from .driver import Record, Slot

__all__ = ["Advance", "Frontier", "ThreadChart", "ThreadRecord", "Undo"]


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
    """Payload of `clear`: where the frontier is put."""

    frontier_id: str


@dataclass(frozen=True, slots=True)
class Undo:
    """Payload of `undo`: where the thread stood before the hand-over that is undone."""

    state: str
    """Its state then: without a frontier, only this tells fresh from blind."""
    frontier_id: str | None
    """Its frontier then; None when it was fresh or blind."""


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
        # What the first block leaves out never comes later: a fresh thread is drained at once.
        fresh.to(seeded, cond="is_drained", on="advance")
        | blind.to(seeded, cond="is_drained", on="advance")
        | blind.to(blind)
        | seeded.to(seeded, cond="is_drained", on="advance")
        | behind.to(seeded, cond="is_drained", on="advance")
        | behind.to(behind, on="advance")
    )
    fall_behind = seeded.to(behind) | behind.to(behind) | blind.to(blind) | fresh.to(fresh)
    undo = (
        seeded.to(fresh, cond="was_fresh", on="forget")
        | seeded.to(blind, cond="was_blind", on="forget")
        | seeded.to(behind, on="put_back")
        | behind.to(fresh, cond="was_fresh", on="forget")
        | behind.to(blind, cond="was_blind", on="forget")
        | behind.to(behind, on="put_back")
        | blind.to(blind)
        # The session was lost while the hand-over was under way.
        | fresh.to(fresh)
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
        """Put the frontier at the command that cleared the session."""
        self.model.record.frontier_id = ev.frontier_id

    def put_back(self, ev: Undo) -> None:
        """Put the frontier where it was before the hand-over."""
        self.model.record.frontier_id = ev.frontier_id

    def forget(self) -> None:
        """What the session holds, if anything, is not known by a frontier."""
        self.model.record.frontier_id = None

    def is_drained(self, ev: Advance) -> bool:
        """Tell whether nothing older than the trigger is still to come."""
        return ev.drained

    def was_fresh(self, ev: Undo) -> bool:
        """Tell whether the undone hand-over was the first of its session."""
        return ev.state == "fresh"

    def was_blind(self, ev: Undo) -> bool:
        """Tell whether the session held an unknown part before the undone hand-over."""
        return ev.state == "blind"
