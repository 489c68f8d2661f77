"""What holds for every chart, generated from its class."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from statemachine.exceptions import TransitionNotAllowed

from hermes_chatto.machines.catalogue import CHARTS
from hermes_chatto.machines.chart import Chart
from hermes_chatto.machines.connection import Account, ConnectionRecord, Loss, Subscription
from hermes_chatto.machines.delivery import PartRecord, Posted, Refusal
from hermes_chatto.machines.driver import Driver, Record, Slot
from hermes_chatto.machines.membership import Change, MembershipRecord
from hermes_chatto.machines.prompt import Opened, PromptRecord, Settled, Withdrawal
from hermes_chatto.machines.room_session import RoomSessionRecord, Skip
from hermes_chatto.machines.thread import Advance, Frontier, ThreadRecord, Undo
from hermes_chatto.machines.turn import Cancel, Cause, Ending, Fold, Reason, TurnRecord

AnyChart = type[Chart[Any]]

RECORDS: dict[str, Record] = {
    "turn": TurnRecord(
        reason="r", cause="mention", attempt=3, carrier_id="m0", ends_as="cancelled", ended_by="u1"
    ),
    "thread": ThreadRecord(frontier_id="m1"),
    "room_session": RoomSessionRecord(reason="r"),
    "delivery": PartRecord(reason="r", attempt=2, message_id="m2"),
    "connection": ConnectionRecord(
        reason="r", attempt=4, gap=7, account_id="u0", server_version="0.4.20"
    ),
    "membership": MembershipRecord(reason="r"),
    "prompt": PromptRecord(reason="r", message_id="m3", settled_by="u2"),
}
"""One record per machine in which no field is empty, in the initial state."""

PAYLOADS: dict[str, dict[str, object]] = {
    "turn": {
        "admit": Cause("mention"),
        "bypass": Cause("direct"),
        "hold": Cause("direct"),
        "refuse": Reason("not_addressed"),
        "expire": Reason("too_old"),
        "interrupt": Reason("process_ended"),
        "fail": Reason("not_taken"),
        "fold": Fold("m9"),
        "cancel": Cancel(by="u9", command="new"),
        "stop": Ending(ends_as="cancelled", by="u9", command="stop"),
    },
    "thread": {
        "hand_over": Advance("m9", drained=True),
        "undo": Undo("behind", "m8"),
        "clear": Frontier("m9"),
    },
    "room_session": {"skip": Skip("session_exists")},
    "delivery": {
        "confirm": Posted("m9"),
        "postpone": Refusal("rate_limited"),
        "doubt": Refusal("unavailable"),
        "refuse": Refusal("permission_denied"),
    },
    "connection": {
        "identify": Account("u9"),
        "subscribe": Subscription("0.4.21"),
        "lose": Loss("stream_closed"),
        "refuse": Loss("unauthenticated"),
        "stop": Loss("gateway_stops"),
    },
    "membership": {event: Change("found") for event in ("enter", "leave", "bar")},
    "prompt": {
        "show": Opened("m9"),
        "approve": Settled("u9"),
        "deny": Settled("u9"),
        "answer": Settled("u9"),
        "withdraw": Withdrawal("turn_retracted"),
    },
}
"""What comes with an event; events that are not named carry nothing."""

EVERY_STATE = [
    pytest.param(chart, state, id=f"{chart.MACHINE}-{state}")
    for chart in CHARTS
    for state in chart.states_map
]
every_chart = pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: str(chart.MACHINE))
every_state = pytest.mark.parametrize(("chart", "state"), EVERY_STATE)


def in_state(chart: AnyChart, state: str) -> Record:
    """Return a full record of that machine in that state."""
    return replace(RECORDS[chart.MACHINE], state=state)


def events(chart: AnyChart) -> list[str]:
    """Return the names of all events, in the order of the class."""
    found = (
        str(event)
        for state in chart.states_map.values()
        for transition in state.transitions
        for event in transition.events
    )
    return list(dict.fromkeys(found))


def targets(chart: AnyChart, state: str, event: str) -> set[str]:
    """Return where the event may lead from the state; empty when it may not come."""
    return {
        target.id
        for transition in chart.states_map[state].transitions
        if event in map(str, transition.events)
        for target in transition.targets
    }


@every_chart
def test_chart_can_be_built(chart: AnyChart) -> None:
    """Building it finds every guard and action by its name; a name that is not there raises."""
    record = replace(RECORDS[chart.MACHINE])

    built = chart(Slot(record))

    assert [state.id for state in built.configuration] == [record.state]


@every_chart
def test_records_start_in_the_initial_state(chart: AnyChart) -> None:
    """The default of the record and the chart's first state are one thing, said twice."""
    default = type(RECORDS[chart.MACHINE]).__dataclass_fields__["state"].default

    assert [state.id for state in chart.states_map.values() if state.initial] == [default]


@every_chart
def test_every_state_says_what_it_means(chart: AnyChart) -> None:
    """The table of an operator has no word without a meaning, and the page no state twice."""
    assert list(chart.MEANING) == list(chart.states_map)
    assert chart.states_map.keys() >= chart.CLOSED
    assert all(chart.MEANING.values())


@every_chart
def test_states_are_stored_under_their_own_name(chart: AnyChart) -> None:
    """What the row says is what the class, the diagram and the documents say."""
    assert {value: state.id for value, state in chart.states_map.items()} == {
        name: name for name in chart.states_map
    }


@every_chart
def test_chart_does_only_what_its_page_shows(chart: AnyChart) -> None:
    """Guards and `on` actions are exported; nothing else runs, neither inline nor by a name."""
    inline = [
        spec
        for state in chart.states_map.values()
        for transition in state.transitions
        for group in (transition.validators, transition.before, transition.after)
        for spec in group
        if not spec.is_convention
    ]
    hooks = ("on_", "before_", "after_", "prepare_", "guard_")

    assert inline == []
    assert [name for name in vars(chart) if name.startswith(hooks)] == []


@every_chart
def test_chart_is_flat(chart: AnyChart) -> None:
    """One state at a time: a row holds one word."""
    states = chart.states_map.values()

    assert not any(state.states for state in states)
    assert {len(transition.targets) for state in states for transition in state.transitions} == {1}


@every_chart
def test_no_transition_stands_behind_one_that_always_applies(chart: AnyChart) -> None:
    """Alternatives are tried in order: behind one without a guard nothing is reached."""
    unreachable = []
    for state in chart.states_map.values():
        settled: set[str] = set()
        for transition in state.transitions:
            for event in map(str, transition.events):
                unreachable += [(state.id, event)] if event in settled else []
                settled |= set() if list(transition.cond) else {event}

    assert unreachable == []


@every_state
def test_state_restores_from_its_record_without_running_an_action(
    chart: AnyChart, state: str
) -> None:
    """A row read after a restart stands for itself: nothing runs until something comes."""
    stored = json.dumps(asdict(in_state(chart, state)))
    record = type(RECORDS[chart.MACHINE])(**json.loads(stored))

    built = chart(Slot(record))

    assert [active.id for active in built.configuration] == [state]
    assert json.dumps(asdict(record)) == stored


@every_state
def test_event_has_a_transition_or_raises_and_moves_nothing(chart: AnyChart, state: str) -> None:
    """Whether something can happen is answered by reading the class."""
    driver: Driver[Any] = Driver(chart, RECORDS[chart.MACHINE])
    for event in events(chart):
        record = in_state(chart, state)
        allowed = targets(chart, state, event)
        ev = PAYLOADS[chart.MACHINE].get(event)

        if allowed:
            after, step = driver.fire(record, event, ev)
            assert after.state in allowed
            assert (step.source, step.target) == (state, after.state)
        else:
            with pytest.raises(TransitionNotAllowed):
                driver.fire(record, event, ev)

        assert record == in_state(chart, state)


@every_chart
def test_payloads_of_this_file_belong_to_events(chart: AnyChart) -> None:
    """A renamed event cannot leave a stale line behind in the table above."""
    assert PAYLOADS[chart.MACHINE].keys() <= set(events(chart))
