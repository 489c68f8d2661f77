"""Places at the gateway are few, given in order, and never lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_chatto.actors.sessions.slots import Slots


def test_whoever_finds_no_place_is_called_in_order() -> None:
    """One after the other, as places become free."""
    called = list[str]()
    slots = Slots(2, called.append)
    assert [slots.take(key) for key in "abcd"] == [True, True, False, False]

    slots.settle("a", is_busy=False)
    assert called == ["c"]
    slots.settle("b", is_busy=False)

    assert called == ["c", "d"]
    assert slots.take("c")
    assert not slots.take("e")


def test_a_lane_that_has_a_place_keeps_it() -> None:
    """Asking twice takes one."""
    slots = Slots(1, pytest.fail)

    assert slots.take("a")
    assert slots.take("a")


def test_a_place_nobody_needs_any_more_goes_to_the_next() -> None:
    """Its question was taken back while it waited."""
    called = list[str]()
    slots = Slots(1, called.append)
    for key in "abc":
        slots.take(key)
    slots.settle("a", is_busy=False)
    slots.settle("b", is_busy=False)

    assert called == ["b", "c"]


def test_runs_the_gateway_began_count() -> None:
    """It resumes what it likes; nothing of ours goes out meanwhile."""
    called = list[str]()
    slots = Slots(1, called.append)
    slots.settle("resumed", is_busy=True)
    slots.settle("another", is_busy=True)

    assert not slots.take("a")
    slots.settle("resumed", is_busy=False)
    assert called == []
    slots.settle("another", is_busy=False)
    assert called == ["a"]


@given(st.integers(1, 3), st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans())))
def test_nobody_waits_beside_a_free_place(limit: int, steps: list[tuple[str, bool]]) -> None:
    """Whatever the order of questions and ends."""
    held, wants = set[str](), set[str]()
    slots = Slots(limit, held.add)
    for key, asks in steps:
        if asks:
            wants.add(key)
            if slots.take(key):
                held.add(key)
        else:
            wants.discard(key)
            held.discard(key)
            slots.settle(key, is_busy=False)

        assert len(held) <= limit
        assert len(held) == limit or wants <= held
