"""What a command says goes to whoever gave it, whatever it ended."""

import anyio

from hermes_chatto.actors.sandbox.stage import Open
from hermes_chatto.actors.sessions.ports import TurnOrder


async def test_a_command_that_ends_a_run_is_answered_although_the_run_is_not(
    open_colleague: Open,
) -> None:
    """Only what the stopped run still says is superseded; the reply to /stop is no part of it."""

    async def think(order: TurnOrder) -> str:
        del order
        await anyio.sleep_forever()
        raise AssertionError

    async with open_colleague(agent=think) as colleague:
        d1 = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "a long question", room=d1)
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("alice", "/stop", room=d1)
        await colleague.until_state(m1, "cancelled")
        await colleague.until(lambda: bool(colleague.answers()))

        (a2,) = colleague.answers()
        assert (a2.in_reply_to, a2.body) == (m2, "done: /stop")
