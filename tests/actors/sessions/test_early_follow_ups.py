"""A follow-up may be typed before the question it follows has reached the agent."""

from hermes_chatto.actors.sandbox.stage import Open


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
