"""The table of edits, deletions and everything else leaves no pair of state and event open."""

import pytest
from statemachine.exceptions import TransitionNotAllowed

from hermes_chatto.machines.driver import Driver
from hermes_chatto.machines.turn import TurnChart, TurnRecord
from hermes_chatto.machines.turn_edits import (
    AFTER_DELETION,
    AFTER_EDIT,
    ELSEWHERE,
    TURN_EDITS,
    cells,
    events,
)

STATES = tuple(TurnChart.states_map)
ANYWHERE = {"retract", "repeat", "ignore_edit"}
"""Events that people, or the server, cause whatever the state."""
MISSING = sorted(pair for pair, arrows in cells().items() if not arrows)


def test_every_pair_is_a_transition_or_an_error_with_a_reason() -> None:
    """Nothing is undefined, and no reason outlives what it explains."""
    assert {event for _, event in MISSING} == set(ELSEWHERE)
    declared = {
        str(event)
        for state in TurnChart.states_map.values()
        for transition in state.transitions
        for event in transition.events
    }
    assert set(events()) == declared


@pytest.mark.parametrize("event", sorted(ANYWHERE))
def test_what_may_come_at_any_time_is_defined_in_every_state(event: str) -> None:
    """People delete and the server repeats without asking how the turn stands."""
    assert [state for state in STATES if not cells()[state, event]] == []


def test_an_edit_is_defined_wherever_the_turn_was_let_in() -> None:
    """A refused message is judged by admission again, which the chart takes as such."""
    undefined = [state for state in STATES if not cells()[state, "edit"]]

    assert undefined == ["refused"]
    assert cells()["refused", "admit"]
    assert cells()["refused", "refuse"]


@pytest.mark.parametrize(("state", "event"), MISSING)
def test_a_pair_without_a_transition_moves_nothing(state: str, event: str) -> None:
    """What the table calls an error is one, and is no silent loss."""
    record = TurnRecord(state=state)

    with pytest.raises(TransitionNotAllowed):
        Driver(TurnChart, TurnRecord()).fire(record, event, None)

    assert record == TurnRecord(state=state)


def test_words_belong_to_states_and_contradict_no_transition() -> None:
    """Where the table says that it is past, or ignored, the chart stays where it is."""
    for event, after in (("edit", AFTER_EDIT), ("retract", AFTER_DELETION)):
        assert after.keys() <= set(STATES)
        for state in STATES:
            is_ignored = after.get(state, "ignored").startswith("ignored")
            moves = {arrow.target for arrow in cells()[state, event]} - {state}
            assert not (is_ignored and moves), (state, event)


def test_table_has_a_row_for_every_state_and_event() -> None:
    """The page is complete by itself."""
    for name in (*STATES, *(each for each in events() if each not in {"edit", "retract"})):
        assert f"\n| `{name}` |" in TURN_EDITS.text
