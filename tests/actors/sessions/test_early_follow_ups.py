"""What follows a question is told by the time it was posted, not by when it is read.

A follow-up may be typed before the question it follows has reached the agent; and what was said
before a question is no follow-up of it, however late it is looked at.
"""

from dataclasses import replace

import pytest

from hermes_chatto.actors.sandbox.stage import POLICY, Open
from hermes_chatto.actors.sessions.policy import FollowUps


async def test_a_follow_up_to_a_question_that_waits_is_one(open_colleague: Open) -> None:
    """While the gateway starts up nothing is handed over, and people write on."""
    async with open_colleague() as colleague:
        colleague.gateway.shut_gate()
        m1 = await colleague.says("alice", "@hermes build?")
        await colleague.until_state(m1, "queued")
        m2 = await colleague.says("alice", "the nightly one", thread=m1)
        await colleague.until_state(m2, "queued")
        colleague.gateway.open_gate()
        await colleague.until_state(m2, "answered")

        assert [answer.in_reply_to for answer in colleague.answers()] == [m1, m2]


async def test_a_follow_up_read_together_with_its_question_is_one(open_colleague: Open) -> None:
    """Messages that gathered during a read are judged in order, each knowing those before it."""
    async with open_colleague() as colleague:
        m0 = await colleague.says("bob", "morning")
        m1 = await colleague.says("alice", "@hermes build?")
        m2 = await colleague.says("alice", "the nightly one", thread=m1)
        m3 = await colleague.says("bob", "which one?", thread=m1)
        await colleague.until_state(m2, "answered")

        assert colleague.state_of(m0) is None
        assert colleague.state_of(m3) is None


@pytest.mark.parametrize("follow_ups", [FollowUps.ASKER, FollowUps.ANYONE])
@pytest.mark.parametrize("is_orderly", [True, False])
async def test_a_restart_makes_no_question_of_what_was_said_before_one(
    open_colleague: Open, *, is_orderly: bool, follow_ups: FollowUps
) -> None:
    """The catch-up reads it once more, since it looks back a little further than the gap."""
    async with open_colleague(policy=replace(POLICY, follow_ups=follow_ups)) as colleague:
        m0 = await colleague.says("alice", "root")
        x1 = await colleague.says("bob", "never mind", thread=m0)
        colleague.clock.ahead_s += 0.01  # times are kept in milliseconds
        m1 = await colleague.says("bob", "@hermes one", thread=m0)
        await colleague.until_state(m1, "answered")
        await (colleague.stops() if is_orderly else colleague.dies())
        x2 = colleague.posts("bob", "and the other one?", thread=m0)
        await colleague.starts()
        await colleague.until_state(x2, "answered")

        assert colleague.state_of(x1) is None


async def test_an_edit_makes_no_follow_up_of_what_was_said_before_the_question(
    open_colleague: Open,
) -> None:
    """Without a mention it is what it was: words among people."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        x1 = await colleague.says("bob", "never mnid", thread=m1)
        colleague.clock.ahead_s += 0.01  # times are kept in milliseconds
        m2 = await colleague.says("bob", "@hermes two", thread=m1)
        await colleague.until_state(m2, "answered")
        await colleague.edits("bob", x1, "never mind")
        m3 = await colleague.says("bob", "and three?", thread=m1)
        await colleague.until_state(m3, "answered")

        assert colleague.state_of(x1) is None
