"""What may become of a turn, in any order of what happens to it."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from statemachine.exceptions import TransitionNotAllowed

from hermes_chatto.machines.driver import Driver
from hermes_chatto.machines.turn import (
    Cancel,
    Cause,
    Ending,
    Fold,
    Reason,
    TurnChart,
    TurnRecord,
)

STATES = TurnChart.states_map
LEGAL = {
    name: sorted({str(event) for moved in state.transitions for event in moved.events})
    for name, state in STATES.items()
}
MOVING = {
    name: sorted({str(e) for m in state.transitions for e in m.events if m.target is not state})
    for name, state in STATES.items()
}
EVENTS = sorted({event for legal in LEGAL.values() for event in legal})
WITH_REASON = {"refused", "failed", "expired", "interrupted"}
AT_GATEWAY = {
    *("handed", "processing", "delivering", "answered", "silent", "folded"),
    *("correcting", "stopping", "interrupted"),
}

DRIVER = Driver(TurnChart, TurnRecord())
"""One for all tests: it holds nothing of the records it served."""

names = st.sampled_from(["a", "b", "c"])
PAYLOADS: dict[str, st.SearchStrategy[object]] = {
    "admit": st.builds(Cause, cause=names),
    "bypass": st.builds(Cause, cause=names),
    "refuse": st.builds(Reason, reason=names),
    "expire": st.builds(Reason, reason=names),
    "interrupt": st.builds(Reason, reason=names),
    "fail": st.builds(Reason, reason=names),
    "fold": st.builds(Fold, carrier_id=names),
    "cancel": st.builds(Cancel, by=names, command=names),
    "stop": st.builds(Ending, ends_as=st.just("cancelled"), by=names, command=names),
}


PAYLOAD: dict[str, object] = {
    "admit": Cause("mention"),
    "interrupt": Reason("process_ended"),
    "fail": Reason("run_does_not_end"),
    "fold": Fold("m9"),
    "cancel": Cancel("ada", "new"),
    "stop": Ending("cancelled", "ada", "stop"),
    "expire": Reason("too_old"),
    "refuse": Reason("not_addressed"),
}


def live(*events: str) -> TurnRecord:
    """Return the record of a turn to which these events came, in this order."""
    record = TurnRecord()
    for event in events:
        record, _ = DRIVER.fire(record, event, PAYLOAD.get(event))
    return record


IN_LANE = ("admit", "enqueue")
RUNNING = (*IN_LANE, "hand_over", "start")

STORIES: list[tuple[tuple[str, ...], str]] = [
    ((*RUNNING, "deliver", "answer"), "answered"),
    ((*RUNNING, "fall_silent"), "silent"),
    ((*IN_LANE, "hand_over", "fail"), "failed"),
    ((*IN_LANE, "hand_over", "fold", "answer"), "answered"),
    ((*IN_LANE, "hand_over", "fold", "fall_silent"), "silent"),
    ((*IN_LANE, "hand_over", "fold", "fail"), "failed"),
    ((*IN_LANE, "hand_over", "fold", "cancel"), "cancelled"),
    (("refuse", "admit", "enqueue"), "queued"),
    (("refuse", "refuse"), "refused"),
    ((*IN_LANE, "edit", "retract"), "retracted"),
    ((*RUNNING, "edit", "edit", "hand_over", "start"), "processing"),
    ((*RUNNING, "edit", "fail"), "failed"),
    ((*RUNNING, "edit", "retract", "end_run"), "retracted"),
    ((*RUNNING, "stop", "end_run"), "cancelled"),
    ((*RUNNING, "stop", "retract", "end_run"), "retracted"),
    ((*RUNNING, "retract", "stop", "end_run"), "retracted"),
    ((*RUNNING, "deliver", "stop", "answer"), "answered"),
    ((*RUNNING, "deliver", "edit", "retract", "answer"), "answered"),
    ((*RUNNING, "interrupt", "start", "deliver", "answer"), "answered"),
    ((*RUNNING, "interrupt", "deliver", "answer"), "answered"),
    ((*RUNNING, "interrupt", "fail"), "failed"),
    ((*RUNNING, "interrupt", "interrupt"), "interrupted"),
    ((*RUNNING, "interrupt", "edit", "hand_over"), "handed"),
    ((*RUNNING, "interrupt", "retract", "end_run"), "retracted"),
    ((*RUNNING, "interrupt", "edit", "start", "put_back"), "queued"),
    ((*RUNNING, "edit", "interrupt"), "correcting"),
    ((*RUNNING, "stop", "interrupt", "start", "end_run"), "cancelled"),
    ((*RUNNING, "fail", "retry"), "queued"),
    (("expire", "cancel"), "cancelled"),
]
"""What may happen to a turn, and the state it leads to: paths people and operators meet."""
BEGINNINGS = sorted(
    {events[:length] for events, _ in STORIES for length in range(len(events) + 1)}
)


class TurnWalk(RuleBasedStateMachine):
    """Fire anything at one turn and look at what holds all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.record = TurnRecord()

    @initialize(events=st.sampled_from(BEGINNINGS))
    def begin_somewhere(self, events: tuple[str, ...]) -> None:
        """Start in the middle: few walks from the first state come far."""
        self.record = live(*events)

    @rule()
    def restart(self) -> None:
        """Only what the row holds is left."""
        self.record = TurnRecord(**json.loads(json.dumps(asdict(self.record))))

    @rule(data=st.data())
    def something_legal_comes(self, data: st.DataObject) -> None:
        self.fire(data.draw(st.sampled_from(LEGAL[self.record.state])), data)

    @precondition(lambda self: bool(MOVING[self.record.state]))
    @rule(data=st.data())
    def something_comes_that_may_move_it(self, data: st.DataObject) -> None:
        self.fire(data.draw(st.sampled_from(MOVING[self.record.state])), data)

    def fire(self, event: str, data: st.DataObject) -> None:
        before = replace(self.record)

        after, step = DRIVER.fire(self.record, event, data.draw(self.payload(event)))

        assert self.record == before
        old, new = asdict(before), asdict(after)
        assert step.changed == {
            name: new[name] for name in new if name != "state" and new[name] != old[name]
        }
        self.check_step(before, after, event)
        self.record = after

    @rule(data=st.data(), event=st.sampled_from(EVENTS))
    def anything_comes(self, data: st.DataObject, event: str) -> None:
        if event in LEGAL[self.record.state]:
            return
        before = replace(self.record)

        with pytest.raises(TransitionNotAllowed):
            DRIVER.fire(self.record, event, data.draw(self.payload(event)))

        assert self.record == before

    @staticmethod
    def payload(event: str) -> st.SearchStrategy[object]:
        return PAYLOADS.get(event, st.none())

    @staticmethod
    def check_step(before: TurnRecord, after: TurnRecord, event: str) -> None:
        assert after.attempt - before.attempt == (event == "hand_over")
        assert after == before or before.state not in TurnChart.CLOSED
        assert after.state != "received" or before.state == "received"
        if event == "hand_over":
            assert before.state in {"queued", "correcting"}
        if after.state == "answered":
            assert before.state in {"delivering", "folded", "failed", "answered"}
        if before.state == "delivering":
            assert after.state in {"delivering", "answered", "failed"}

    @invariant()
    def reason_belongs_to_the_state(self) -> None:
        assert (self.record.reason is not None) == (self.record.state in WITH_REASON)

    @invariant()
    def what_reached_the_gateway_was_counted(self) -> None:
        assert self.record.attempt > 0 or self.record.state not in AT_GATEWAY
        assert self.record.attempt == 0 or self.record.state not in {"received", "bypassed"}

    @invariant()
    def endings_are_explained(self) -> None:
        record = self.record
        if record.state == "stopping":
            assert record.ends_as in {"retracted", "cancelled"}
        if record.state == "cancelled":
            assert record.ended_by is not None
            assert record.ended_with is not None
        if record.state == "folded":
            assert record.carrier_id is not None
        if record.state in {"queued", "handed", "processing", "interrupted", "correcting"}:
            assert (record.ends_as, record.ended_by, record.ended_with) == (None, None, None)


TestTurnWalk = TurnWalk.TestCase
TestTurnWalk.settings = settings(max_examples=100, stateful_step_count=15, deadline=None)


@pytest.mark.parametrize(
    ("events", "state"),
    STORIES,
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else value,
)
def test_turn_ends_where_its_story_leads(events: tuple[str, ...], state: str) -> None:
    """The paths people and operators will meet."""
    assert live(*events).state == state


def test_correction_counts_as_another_attempt() -> None:
    """The gateway sees the corrected text as a new hand-over of the same message."""
    record = live(*RUNNING, "edit", "hand_over")

    assert (record.state, record.attempt) == ("handed", 2)


def test_retry_forgets_how_the_turn_ended() -> None:
    """A second life starts without the first one's canceller, carrier or reason."""
    record = live(*RUNNING, "stop", "fail", "retry")

    assert record == TurnRecord("queued", cause="mention", attempt=1)


def test_cancelled_turn_says_by_whom_and_with_what() -> None:
    """An operator reads it off the row."""
    record = live(*RUNNING, "interrupt", "stop", "end_run")

    assert (record.reason, record.ended_by, record.ended_with) == (None, "ada", "stop")
