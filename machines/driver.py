"""Fire events on records: one chart object per class serves any number of records.

A chart object costs about 30 KB and a millisecond to build, a record some hundred bytes, so
records are kept and a chart is borrowed for the time of one event.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Generic, TypeVar

from .chart import Chart

__all__ = ["Driver", "Record", "ReentrantFireError", "Slot", "Step", "UnknownStateError"]


@dataclass(slots=True)
class Record:
    """What a chart decides and a row keeps; no methods, as charts call what looks like a hook."""

    state: str


RecT = TypeVar("RecT", bound=Record)


class ReentrantFireError(RuntimeError):
    """An action of a chart fired another event of the same chart class."""


class UnknownStateError(ValueError):
    """A record holds a state its chart does not have (written by newer or foreign code)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One transition, as the table `transitions` keeps it."""

    machine: str
    event: str
    source: str
    target: str
    changed: Mapping[str, object]
    """Fields of the record this step changed, with their new values; the state not."""


class Slot(Generic[RecT]):
    """The chart's model: stands for whichever record is loaded."""

    __slots__ = ("record",)

    def __init__(self, record: RecT) -> None:
        """Load a record."""
        self.record = record

    @property
    def state(self) -> str:
        """Where the loaded record stands; setting it is the library's business."""
        return self.record.state

    @state.setter
    def state(self, value: str) -> None:
        self.record.state = value


class Driver(Generic[RecT]):
    """One chart object and the records it is lent to, one at a time."""

    def __init__(self, chart: type[Chart[Slot[RecT]]], blank: RecT) -> None:
        """Build the chart object.

        Args:
            chart: the class to drive.
            blank: any record in the initial state; a copy of it stands in between events.
        """
        self._class = chart
        self._slot = Slot(replace(blank))
        self._chart = chart(self._slot)
        self._busy = False

    def fire(self, record: RecT, event: str, ev: object = None) -> tuple[RecT, Step]:
        """Decide one event and return the record afterwards and the step taken.

        The record given is never changed: after an error it still is what the row says.

        Args:
            record: what the row holds now.
            event: name of one of the chart's events.
            ev: what came with it; the chart's guards and actions read it. None where the
                event carries nothing.

        Raises:
            statemachine.exceptions.TransitionNotAllowed: the event cannot come in this state.
            UnknownStateError: the record's state is not one of the chart's.
            ReentrantFireError: called from an action of the same chart.
        """
        if self._busy:
            message = f"{self._class.__name__}: an action fired {event!r}"
            raise ReentrantFireError(message)
        if record.state not in self._class.states_map:
            message = f"{self._class.MACHINE} has no state {record.state!r}"
            raise UnknownStateError(message)
        after: RecT = replace(record)
        self._slot.record = after
        self._busy = True
        try:
            self._chart.send(event, ev=ev)
        finally:
            self._busy = False
        return after, Step(
            machine=self._class.MACHINE,
            event=event,
            source=record.state,
            target=after.state,
            changed=_changed(record, after),
        )


def _changed(before: RecT, after: RecT) -> dict[str, object]:
    """Return the fields that differ, the state aside."""
    names = (field.name for field in fields(before) if field.name != "state")
    return {
        name: getattr(after, name)
        for name in names
        if getattr(before, name) != getattr(after, name)
    }
