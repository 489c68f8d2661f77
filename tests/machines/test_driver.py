"""The driver lends one chart object to any number of records."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from statemachine.exceptions import TransitionNotAllowed

from hermes_chatto.machines.chart import Chart, State
from hermes_chatto.machines.driver import (
    Driver,
    Record,
    ReentrantFireError,
    Slot,
    Step,
    UnknownStateError,
)


@dataclass(slots=True)
class Light(Record):
    """A record with fields to change."""

    state: str = "red"
    turns: int = 0
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """Payload that is called by an action."""

    action: Callable[[], object]


class LightChart(Chart[Slot[Light]]):
    """A chart whose actions can be made to fail."""

    MACHINE = "light"

    red = State(initial=True)
    green = State()

    turn = red.to(green, on="count") | green.to(red, on="count")
    call = red.to(green, on=["count", "run"])
    ask = red.to(green, cond="agrees")
    look = red.to(red) | green.to(green)

    def count(self) -> None:
        """One more change."""
        self.model.record.turns += 1

    def run(self, ev: Call) -> None:
        """Do what came with the event."""
        ev.action()

    def agrees(self, ev: Call) -> bool:
        """Ask what came with the event."""
        return bool(ev.action())


@pytest.fixture
def driver() -> Driver[Light]:
    """Return a driver of lights."""
    return Driver(LightChart, Light())


def fail() -> None:
    """Raise what nobody expects."""
    raise ZeroDivisionError


def test_step_tells_where_from_where_to_and_what_changed(driver: Driver[Light]) -> None:
    """The step is the row of the journal: fields that kept their value are not in it."""
    record = Light(turns=4, note="kept")

    after, step = driver.fire(record, "turn")

    assert after == Light("green", turns=5, note="kept")
    assert step == Step("light", "turn", source="red", target="green", changed={"turns": 5})


def test_event_that_changes_nothing_is_a_step_without_changes(driver: Driver[Light]) -> None:
    """It came, so the journal says so."""
    after, step = driver.fire(Light("green"), "look")

    assert after == Light("green")
    assert step == Step("light", "look", source="green", target="green", changed={})


def test_record_given_is_never_changed(driver: Driver[Light]) -> None:
    """Until the store has taken the result, the old record is what the row says."""
    record = Light()

    after, _ = driver.fire(record, "turn")

    assert record == Light()
    assert after is not record


def test_records_take_turns_on_one_chart(driver: Driver[Light]) -> None:
    """No record leaves anything behind for the next one."""
    first, second = Light(note="first"), Light("green", turns=7, note="second")

    first, _ = driver.fire(first, "turn")
    second, _ = driver.fire(second, "turn")
    first, _ = driver.fire(first, "turn")

    assert first == Light("red", turns=2, note="first")
    assert second == Light("red", turns=8, note="second")


def test_blank_record_is_not_touched() -> None:
    """The record the driver was built with stays the caller's."""
    blank = Light()

    Driver(LightChart, blank).fire(Light(), "turn")

    assert blank == Light()


def test_event_that_cannot_come_raises_and_moves_nothing(driver: Driver[Light]) -> None:
    """A refusal is loud."""
    record = Light("green")

    with pytest.raises(TransitionNotAllowed):
        driver.fire(record, "call", Call(fail))

    assert record == Light("green")


def test_misspelt_event_raises_and_moves_nothing(driver: Driver[Light]) -> None:
    """An event no chart knows is not ignored."""
    record = Light()

    with pytest.raises(TransitionNotAllowed):
        driver.fire(record, "trun")

    assert record == Light()


@pytest.mark.parametrize("event", ["call", "ask"])
def test_error_in_a_guard_or_action_comes_out_and_moves_nothing(
    driver: Driver[Light], event: str
) -> None:
    """Half a transition is none, even if its first action had already worked."""
    record = Light()

    with pytest.raises(ZeroDivisionError):
        driver.fire(record, event, Call(fail))

    assert record == Light()


def test_guard_that_says_no_leaves_the_event_not_allowed(driver: Driver[Light]) -> None:
    """No alternative applies: the event cannot come."""
    with pytest.raises(TransitionNotAllowed):
        driver.fire(Light(), "ask", Call(lambda: False))


def test_missing_payload_comes_out_and_moves_nothing(driver: Driver[Light]) -> None:
    """An action that reads what did not come fails like any other."""
    record = Light()

    with pytest.raises(AttributeError):
        driver.fire(record, "call")

    assert record == Light()


def test_driver_works_on_after_an_error(driver: Driver[Light]) -> None:
    """What failed neither blocks the driver nor is done later."""
    with pytest.raises(ZeroDivisionError):
        driver.fire(Light(), "call", Call(fail))

    after, _ = driver.fire(Light(), "turn")

    assert after == Light("green", turns=1)


def test_action_that_fires_another_event_is_an_error(driver: Driver[Light]) -> None:
    """The chart object is lent out once at a time; nesting would mix two records."""
    record, other = Light(), Light()

    with pytest.raises(ReentrantFireError, match="LightChart: an action fired 'turn'"):
        driver.fire(record, "call", Call(lambda: driver.fire(other, "turn")))

    assert (record, other) == (Light(), Light())


def test_unknown_state_is_named(driver: Driver[Light]) -> None:
    """A row written by newer code is not guessed at."""
    with pytest.raises(UnknownStateError, match="light has no state 'amber'"):
        driver.fire(Light("amber"), "turn")
