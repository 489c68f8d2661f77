"""The connection, in any order of what server, network and operator do."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from statemachine.exceptions import TransitionNotAllowed

from hermes_chatto.machines.connection import (
    Account,
    ConnectionChart,
    ConnectionRecord,
    Loss,
    Subscription,
)
from hermes_chatto.machines.driver import Driver

LEGAL = {
    name: sorted({str(event) for moved in state.transitions for event in moved.events})
    for name, state in ConnectionChart.states_map.items()
}
EVENTS = sorted({event for legal in LEGAL.values() for event in legal})
DRIVER = Driver(ConnectionChart, ConnectionRecord())
"""One for all tests: it holds nothing of the records it served."""

losses = st.sampled_from(["stream_closed", "no_heartbeat", "unauthenticated"]).map(Loss)
PAYLOADS: dict[str, st.SearchStrategy[object]] = {
    "identify": st.sampled_from(["u1", "u2"]).map(Account),
    "subscribe": st.sampled_from(["0.4.20", "0.5.0"]).map(Subscription),
    "lose": losses,
    "refuse": losses,
    "stop": losses,
}


class ConnectionWalk(RuleBasedStateMachine):
    """Fire anything at one connection and look at what holds all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.record = ConnectionRecord()
        self.subscribed_in: int | None = None
        """Number of the gap before the newest handshake; None before the first."""

    @rule()
    def process_dies(self) -> None:
        """Only what the row holds is left; the next process starts whatever it says."""
        gap = self.record.gap
        self.record = ConnectionRecord(**json.loads(json.dumps(asdict(self.record))))

        self.record, _ = DRIVER.fire(self.record, "start")

        assert (self.record.state, self.record.gap) == ("connecting", gap + 1)

    @rule(data=st.data())
    def something_legal_comes(self, data: st.DataObject) -> None:
        event = data.draw(st.sampled_from(LEGAL[self.record.state]))
        before = replace(self.record)

        after, _ = DRIVER.fire(self.record, event, data.draw(self.payload(event)))

        assert self.record == before
        self.check_step(before, after, event)
        self.record = after

    @rule(event=st.sampled_from(EVENTS), data=st.data())
    def anything_comes(self, event: str, data: st.DataObject) -> None:
        if event in LEGAL[self.record.state]:
            return
        before = replace(self.record)

        with pytest.raises(TransitionNotAllowed):
            DRIVER.fire(self.record, event, data.draw(self.payload(event)))

        assert self.record == before

    @staticmethod
    def payload(event: str) -> st.SearchStrategy[object]:
        return PAYLOADS.get(event, st.none())

    def check_step(self, before: ConnectionRecord, after: ConnectionRecord, event: str) -> None:
        assert after.gap - before.gap == (event in {"start", "lose"})
        if event == "subscribe":
            self.subscribed_in = after.gap
        if before.state in ConnectionChart.CLOSED:
            assert after == before or event == "start"
        if event == "lose":
            assert after.attempt == before.attempt + 1
        elif event in {"start", "settle"}:
            assert after.attempt == 0
        else:
            assert after.attempt == before.attempt
        if event != "identify":
            assert after.account_id == before.account_id

    @invariant()
    def stream_that_is_open_was_subscribed_since_the_last_gap(self) -> None:
        if self.record.state in {"catching_up", "live"}:
            assert self.subscribed_in == self.record.gap
            assert self.record.server_version is not None

    @invariant()
    def reason_tells_what_is_wrong(self) -> None:
        state, reason = self.record.state, self.record.reason
        assert reason is None or state not in {"offline", "catching_up", "live"}
        assert reason is not None or state not in {"backing_off", "refused", "stopped"}


TestConnectionWalk = ConnectionWalk.TestCase
TestConnectionWalk.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_connection_gives_up_only_where_a_new_start_can_help() -> None:
    """A stop after a refusal leaves the refusal and its reason to be read."""
    record = ConnectionRecord("refused", "unauthenticated", attempt=2, gap=3)

    stopped, _ = DRIVER.fire(record, "stop", Loss("gateway_stops"))
    started, _ = DRIVER.fire(stopped, "start")

    assert stopped == record
    assert started == ConnectionRecord("connecting", None, attempt=0, gap=4)


def test_losses_add_up_until_the_stream_was_stable() -> None:
    """Being live for a moment does not shorten the next wait; a stable time does."""
    record = ConnectionRecord("backing_off", "no_heartbeat", attempt=3, gap=3)

    for event, ev in (("retry", None), ("subscribe", Subscription("0.4.20")), ("go_live", None)):
        record, _ = DRIVER.fire(record, event, ev)
    lost_at_once, _ = DRIVER.fire(record, "lose", Loss("stream_closed"))
    settled, _ = DRIVER.fire(record, "settle")
    lost_later, _ = DRIVER.fire(settled, "lose", Loss("stream_closed"))

    assert (lost_at_once.attempt, lost_later.attempt) == (4, 1)
