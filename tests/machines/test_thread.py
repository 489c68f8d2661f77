"""What the session of a thread holds, in any order of what happens to it."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from statemachine.exceptions import TransitionNotAllowed

from hermes_chatto.machines.driver import Driver
from hermes_chatto.machines.thread import Advance, Frontier, ThreadChart, ThreadRecord, Undo

DRIVER = Driver(ThreadChart, ThreadRecord())
"""One for all tests: it holds nothing of the records it served."""

message_ids = st.integers(min_value=1, max_value=99).map("m{:02}".format)


class ThreadWalk(RuleBasedStateMachine):
    """Let turns, posts, losses and restarts come in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.record = ThreadRecord()
        self.before_last_hand_over: ThreadRecord | None = None
        """What the row of the last turn keeps; None when its hand-over cannot be undone."""

    def fire(self, event: str, ev: object = None) -> ThreadRecord:
        before = replace(self.record)
        try:
            self.record, _ = DRIVER.fire(self.record, event, ev)
        finally:
            assert before in (self.record, before)
        if event not in {"hand_over", "clear", "undo", "replace_session"}:
            assert self.record.frontier_id == before.frontier_id
        if self.record.state == "seeded" and before.state != "seeded":
            assert event in {"hand_over", "clear"}
        return before

    @rule()
    def restart(self) -> None:
        """Only what the row holds is left."""
        self.record = ThreadRecord(**json.loads(json.dumps(asdict(self.record))))

    @rule(message_id=message_ids)
    def hand_over_all(self, message_id: str) -> None:
        self.before_last_hand_over = self.fire("hand_over", Advance(message_id, drained=True))

        assert self.record == ThreadRecord("seeded", message_id)

    @precondition(lambda self: self.record.state in {"behind", "blind"})
    @rule(message_id=message_ids)
    def hand_over_a_slice(self, message_id: str) -> None:
        before = self.before_last_hand_over = self.fire(
            "hand_over", Advance(message_id, drained=False)
        )

        reached = message_id if before.state == "behind" else None
        assert self.record == ThreadRecord(before.state, reached)

    @precondition(lambda self: self.record.state in {"fresh", "seeded"})
    @rule(message_id=message_ids)
    def refuse_a_slice(self, message_id: str) -> None:
        before = replace(self.record)

        with pytest.raises(TransitionNotAllowed):
            self.fire("hand_over", Advance(message_id, drained=False))

        assert self.record == before

    @rule()
    def somebody_posts(self) -> None:
        before = self.fire("fall_behind")

        assert self.record.state == ("behind" if before.state == "seeded" else before.state)

    @precondition(lambda self: self.before_last_hand_over is not None)
    @rule()
    def undo_the_hand_over(self) -> None:
        kept = self.before_last_hand_over
        assert kept is not None
        self.fire("undo", Undo(kept.state, kept.frontier_id))
        self.before_last_hand_over = None

        assert self.record.frontier_id == kept.frontier_id
        assert self.record.state == ("behind" if kept.state == "seeded" else kept.state)

    @rule(message_id=message_ids)
    def clear(self, message_id: str) -> None:
        self.fire("clear", Frontier(message_id))
        self.before_last_hand_over = None

        assert self.record == ThreadRecord("seeded", message_id)

    @rule()
    def lose_the_session(self) -> None:
        self.fire("replace_session")
        self.before_last_hand_over = None

        assert self.record == ThreadRecord("fresh", None)

    @precondition(lambda self: self.record.state == "fresh")
    @rule()
    def find_a_session_without_frontier(self) -> None:
        self.fire("lose_frontier")
        self.before_last_hand_over = None

        assert self.record == ThreadRecord("blind", None)

    @precondition(lambda self: self.record.state != "fresh")
    @rule()
    def keep_the_frontier(self) -> None:
        before = replace(self.record)

        with pytest.raises(TransitionNotAllowed):
            self.fire("lose_frontier")

        assert self.record == before

    @invariant()
    def frontier_is_known_where_something_is_held(self) -> None:
        known = self.record.state in {"seeded", "behind"}

        assert (self.record.frontier_id is not None) == known


TestThreadWalk = ThreadWalk.TestCase
TestThreadWalk.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ThreadRecord("fresh", None), ThreadRecord("fresh", None)),
        (ThreadRecord("blind", None), ThreadRecord("blind", None)),
        (ThreadRecord("seeded", "m1"), ThreadRecord("behind", "m1")),
        (ThreadRecord("behind", "m1"), ThreadRecord("behind", "m1")),
    ],
    ids=lambda record: str(record.state),
)
@pytest.mark.parametrize("posts", [False, True], ids=["quiet", "busy"])
def test_undone_hand_over_leaves_nothing_out(
    before: ThreadRecord, after: ThreadRecord, *, posts: bool
) -> None:
    """The lines it brought are out of the transcript, so the next one brings them again."""
    record, _ = DRIVER.fire(before, "hand_over", Advance("m5", drained=True))
    if posts:
        record, _ = DRIVER.fire(record, "fall_behind")

    record, _ = DRIVER.fire(record, "undo", Undo(before.state, before.frontier_id))

    assert record == after


def test_undo_after_the_session_was_lost_changes_nothing() -> None:
    """There is no transcript any more from which anything could be missing."""
    record, step = DRIVER.fire(ThreadRecord("fresh", None), "undo", Undo("seeded", "m1"))

    assert record == ThreadRecord("fresh", None)
    assert step.changed == {}
