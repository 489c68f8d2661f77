"""What may become of a part of an answer, in any order of what server and network say."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from statemachine.exceptions import TransitionNotAllowed

from hermes_chatto.machines.delivery import (
    OUTCOME_UNKNOWN,
    DeliveryChart,
    PartRecord,
    Posted,
    Refusal,
)
from hermes_chatto.machines.driver import Driver

LEGAL = {
    name: {str(event) for moved in state.transitions for event in moved.events}
    for name, state in DeliveryChart.states_map.items()
}
EVENTS = sorted({event for legal in LEGAL.values() for event in legal})
DRIVER = Driver(DeliveryChart, PartRecord())
"""One for all tests: it holds nothing of the records it served."""

refusals = st.sampled_from(["rate_limited", "permission_denied", OUTCOME_UNKNOWN]).map(Refusal)
PAYLOADS: dict[str, st.SearchStrategy[object]] = {
    "confirm": st.integers(1, 9).map("m{}".format).map(Posted),
    "postpone": st.just(Refusal("rate_limited")),
    "doubt": st.just(Refusal("unavailable")),
    "refuse": refusals,
}


class DeliveryWalk(RuleBasedStateMachine):
    """Fire anything at one part and look at what holds all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.record = PartRecord()
        self.may_be_in_the_room = False
        """A call has gone out since somebody last knew that the part is not there."""

    @rule()
    def restart(self) -> None:
        """Only what the row holds is left; an unanswered call is in doubt."""
        self.record = PartRecord(**json.loads(json.dumps(asdict(self.record))))
        if self.record.state == "sending":
            self.record, _ = DRIVER.fire(self.record, "doubt", Refusal("process_ended"))

    @rule(event=st.sampled_from(EVENTS), data=st.data())
    def anything_comes(self, event: str, data: st.DataObject) -> None:
        before = replace(self.record)
        ev = data.draw(self.payload(event))
        if event not in LEGAL[before.state]:
            with pytest.raises(TransitionNotAllowed):
                DRIVER.fire(self.record, event, ev)
            assert self.record == before
            return

        after, _ = DRIVER.fire(self.record, event, ev)

        assert self.record == before
        self.check_step(before, after, event)
        self.record = after

    def payload(self, event: str) -> st.SearchStrategy[object]:
        if event == "refuse" and self.record.state == "pending":
            return st.just(Refusal("rate_limited"))
        return PAYLOADS.get(event, st.none())

    def check_step(self, before: PartRecord, after: PartRecord, event: str) -> None:
        assert after.attempt - before.attempt == (event == "post")
        assert after == before or before.state not in DeliveryChart.CLOSED
        if event == "post":
            assert not self.may_be_in_the_room
            self.may_be_in_the_room = True
        if event in {"postpone", "find_nothing"} or (
            event == "refuse" and before.state == "sending" and after.reason != OUTCOME_UNKNOWN
        ):
            self.may_be_in_the_room = False
        if before.state in {"refused", "superseded"} and after.state != before.state:
            assert event in {"retry", "supersede"}

    @invariant()
    def message_is_known_exactly_when_delivered(self) -> None:
        assert (self.record.message_id is not None) == (self.record.state == "delivered")

    @invariant()
    def nothing_is_delivered_or_in_doubt_that_was_not_posted(self) -> None:
        posted = self.record.state in {"sending", "delivered", "uncertain"}

        assert self.record.attempt > 0 or not posted

    @invariant()
    def what_was_given_up_or_is_in_doubt_says_why(self) -> None:
        record = self.record
        assert record.reason is not None or record.state not in {"refused", "uncertain"}
        assert record.reason is None or record.state not in {"sending", "delivered"}


TestDeliveryWalk = DeliveryWalk.TestCase
TestDeliveryWalk.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_retry_looks_before_it_posts_what_may_be_in_the_room() -> None:
    """The call that posts has no key against doing it twice; only the room can tell."""
    record, _ = DRIVER.fire(PartRecord("uncertain", attempt=1), "refuse", Refusal("not_found"))

    retried, _ = DRIVER.fire(record, "retry")

    assert record == PartRecord("refused", OUTCOME_UNKNOWN, attempt=1)
    assert retried.state == "uncertain"


def test_retry_posts_again_what_was_refused() -> None:
    """A refusal is an answer: nothing is in the room."""
    record = PartRecord("refused", "rate_limited", attempt=3)

    retried, _ = DRIVER.fire(record, "retry")

    assert retried == PartRecord("pending", None, attempt=3)


@pytest.mark.parametrize("state", ["pending", "sending", "delivered", "uncertain", "superseded"])
def test_retry_of_an_answer_leaves_its_other_parts_alone(state: str) -> None:
    """Only what is missing is sent."""
    record = PartRecord(state, attempt=1)

    retried, step = DRIVER.fire(record, "retry")

    assert retried == record
    assert step.changed == {}
