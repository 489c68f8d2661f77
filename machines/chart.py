"""The base class of all charts: nothing is swallowed, nothing half done."""

from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar

from statemachine import State, StateChart
from statemachine.transition_list import TransitionList

__all__ = ["Chart", "RecordT", "State", "stay"]

RecordT = TypeVar("RecordT")


class Chart(StateChart[RecordT], Generic[RecordT]):
    """A chart that never swallows an event, an error or half a transition.

    The library's defaults ignore unknown events, turn a failing guard into "no" and let a
    failing action complete its transition; all four switches below undo that. A self
    transition means "came, changed no state": it is written `state.to(state)`.

    Charts have no `final` states, because events that come late and change nothing are
    transitions, too (an edit of an answered message). `CLOSED` names the states after which
    nothing is left to do.
    """

    allow_event_without_transition = False
    catch_errors_as_events = False
    enable_self_transition_entries = False
    atomic_configuration_update = True

    MACHINE: ClassVar[str]
    """Name in the column `machine` of the table `transitions`."""
    MEANING: ClassVar[Mapping[str, str]]
    """What each state means, in the words of whoever reads the table."""
    CLOSED: ClassVar[frozenset[str]] = frozenset()
    """States in which the thing is over; drawn with an arrow to the end."""


def stay(*states: State) -> TransitionList:
    """Return transitions for what may come in these states and changes none of them."""
    loops = TransitionList()
    for state in states:
        loops |= state.to(state)
    return loops
