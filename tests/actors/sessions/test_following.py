"""The account follows the threads it has sessions in; rooms it is told nothing of are named."""

import anyio
import pytest

from hermes_chatto.actors.sandbox.server.inbox import Level
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.server.switches import Refuse
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.tests.actors.sessions.gaps import FOLLOW, QUICK, SCRIPT, cut


def left_to_follow(colleague: Colleague) -> int:
    """Return how many threads are still to be followed."""
    found = colleague.rows("select count(*) from threads where to_follow_since is not null")
    return int(str(found[0][0]))


async def test_a_thread_is_followed_once_when_its_session_opens(open_colleague: Open) -> None:
    """Neither again with the next question nor at the next start."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "answered")
        await colleague.until(lambda: left_to_follow(colleague) == 0)
        await colleague.stops()
        await colleague.starts()

        thread = colleague.sandbox.world.threads.get(m1)
        assert thread is not None
        assert thread.is_followed_by(colleague.ids["hermes"])
        assert colleague.sandbox.calls[FOLLOW] == 1


async def test_a_direct_conversation_needs_no_following(open_colleague: Open) -> None:
    """Everything said there stands in the inbox."""
    async with open_colleague(script=SCRIPT) as colleague:
        dm = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "hi", room=dm)
        await colleague.until_state(m1, "answered")

        assert colleague.sandbox.calls[FOLLOW] == 0


async def test_a_call_that_fails_is_a_line_and_is_made_at_the_next_start(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """It holds up no answer."""
    caplog.set_level("INFO")
    async with open_colleague(script=SCRIPT) as colleague:
        colleague.faults.refused[FOLLOW] = Code.UNAVAILABLE
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await colleague.until(lambda: "is followed with the next connection" in caplog.text)
        assert left_to_follow(colleague) == 1
        await colleague.stops()
        colleague.faults.refused.clear()
        await colleague.starts()
        await colleague.until(lambda: left_to_follow(colleague) == 0)

        assert colleague.sandbox.calls[FOLLOW] == 2


async def test_a_call_that_fails_is_made_again_with_the_next_connection(
    open_colleague: Open,
) -> None:
    """A process may live for weeks, and what broke the call breaks the stream, mostly."""
    async with open_colleague(script=SCRIPT) as colleague:
        colleague.faults.put(Refuse(FOLLOW, Code.UNAVAILABLE))
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await colleague.until(lambda: colleague.sandbox.calls[FOLLOW] == 1)
        await cut(colleague)
        await colleague.until(lambda: left_to_follow(colleague) == 0)

        thread = colleague.sandbox.world.threads.get(m1)
        assert thread is not None
        assert thread.is_followed_by(colleague.ids["hermes"])


async def test_a_follow_up_in_a_thread_the_server_forgot_is_found(open_colleague: Open) -> None:
    """The server's own following is best effort."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await colleague.until(lambda: left_to_follow(colleague) == 0)
        await cut(colleague)
        m2 = colleague.posts("alice", "and two?", thread=m1)
        await colleague.until_state(m2, "answered")


async def test_a_follow_up_in_a_thread_that_could_not_be_followed_is_found(
    open_colleague: Open,
) -> None:
    """What breaks the call breaks the stream; the server follows when the answer is posted."""
    go_on = anyio.Event()

    async def slow(order: TurnOrder) -> str:
        await go_on.wait()
        return order.text

    async with open_colleague(script=Script(limits=QUICK, agent=slow)) as colleague:
        colleague.faults.refused[FOLLOW] = Code.UNAVAILABLE
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "processing")
        await cut(colleague)
        m2 = colleague.posts("alice", "and two?", thread=m1)
        m3 = colleague.posts("bob", "not for you", thread=m1)
        await colleague.until_state(m2, "queued")
        go_on.set()
        await colleague.until_state(m2, "answered")

        assert colleague.state_of(m3) is None
        assert [post.in_reply_to for post in colleague.answers()] == [m1, m2]


async def test_a_muted_room_is_named(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log and in a row, once per start."""
    async with open_colleague(is_started=False) as colleague:
        world, agent_id = colleague.sandbox.world, colleague.ids["hermes"]
        r1 = colleague.rooms["R1"]
        world.inbox.set_level(agent_id, world.rooms.require(r1), Level.MUTED)
        await colleague.starts(SCRIPT)
        await colleague.until(lambda: "is muted" in caplog.text)
        await colleague.until(lambda: bool(colleague.rows("select 1 from levels")))

        assert f"room R1 ({r1}) is muted" in caplog.text
        assert colleague.rows("select room_id, level from levels") == [(r1, "muted")]


async def test_a_server_that_is_muted_as_a_whole_is_named(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Direct messages leave no entry then, either."""
    async with open_colleague(is_started=False) as colleague:
        colleague.sandbox.world.inbox.set_level(colleague.ids["hermes"], None, Level.MUTED)
        await colleague.starts(SCRIPT)
        await colleague.until(lambda: bool(colleague.rows("select 1 from levels")))

        assert "muted for the whole server" in caplog.text
        assert colleague.rows("select room_id, level from levels") == [("", "muted")]
