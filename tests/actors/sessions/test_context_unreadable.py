"""What becomes of a question whose thread or room cannot be read, or has lost a row."""

import pytest

from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.server.switches import Refuse
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import ContextLimits
from hermes_chatto.actors.sessions.services import Limits

from .test_context import asks, lines_of

AROUND_IN_THREAD = "ThreadService/GetThreadEventsAround"
AROUND_IN_ROOM = "RoomService/GetRoomEventsAround"
FIRST_IN_ROOM = "RoomService/GetRoomEvents"
IMPATIENT = Script(limits=Limits(outage_wait_s=0.0))
QUICK = Script(limits=Limits(first_wait_s=0.01))


def reason_of(colleague: Colleague, message_id: str) -> object:
    """Return why a turn is where it is."""
    ((reason,),) = colleague.rows("select reason from turns where message_id = ?", message_id)
    return reason


async def test_a_thread_that_cannot_be_read_fails_the_question_and_loses_nothing(
    open_colleague: Open,
) -> None:
    """To answer as if nothing had been said would be worse; the next question brings it."""
    async with open_colleague(script=IMPATIENT) as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        await colleague.says("bob", "news", thread=m1)
        colleague.faults.refused[AROUND_IN_THREAD] = Code.UNAVAILABLE
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "failed")
        del colleague.faults.refused[AROUND_IN_THREAD]
        _, third = await asks(colleague, "alice", "@hermes three", thread=m1)

        assert reason_of(colleague, m2) == "context_unreadable"
        assert "- Bob: news" in lines_of(third)


async def test_a_room_that_cannot_be_read_fails_the_question_that_opens_a_session(
    open_colleague: Open,
) -> None:
    """The machine of the room session says that it was not told."""
    async with open_colleague(script=IMPATIENT) as colleague:
        colleague.faults.refused[AROUND_IN_ROOM] = Code.UNAVAILABLE
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "failed")

        assert reason_of(colleague, m1) == "context_unreadable"
        steps = "select to_state, reason from transitions where machine = 'room_session'"
        assert colleague.rows(steps)[-1] == ("skipped", "context_unreadable")


@pytest.mark.parametrize("code", [Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED])
async def test_a_question_waits_for_a_server_that_does_not_answer(
    code: Code, open_colleague: Open
) -> None:
    """A restart of the server, or of a proxy, takes a second; nobody has to ask again for it."""
    async with open_colleague(script=QUICK) as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        await colleague.says("bob", "news", thread=m1)
        colleague.faults.put(Refuse(AROUND_IN_THREAD, code, times=3))
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        m3 = await colleague.says("bob", "@hermes three", thread=m1)
        await colleague.until_state(m3, "answered")

        told = [order.context for order in colleague.gateway.orders]
        assert [order.message_id for order in colleague.gateway.orders] == [m1, m2, m3]
        assert "- Bob: news" in lines_of(told[1])
        assert told[2] is None


async def test_a_question_that_waits_for_the_server_can_be_taken_back(
    open_colleague: Open,
) -> None:
    """It has not been handed over, so nothing has to be stopped."""
    async with open_colleague() as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        await colleague.says("bob", "news", thread=m1)
        colleague.faults.refused[AROUND_IN_THREAD] = Code.UNAVAILABLE
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "queued")
        await colleague.deletes("alice", m2)
        await colleague.until_state(m2, "retracted")

        assert [order.message_id for order in colleague.gateway.orders] == [m1]


@pytest.mark.parametrize("count", [3, 230])
async def test_a_frontier_that_is_gone_from_its_thread_hides_nothing(
    count: int, open_colleague: Open
) -> None:
    """What was posted since is told, however much that is, and once."""
    async with open_colleague(context=ContextLimits(thread_lines=100)) as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        said = [f"- Bob: news {number}" for number in range(count)]
        for line in said:
            colleague.clock.ahead_s += 0.01
            await colleague.says("bob", line.removeprefix("- Bob: "), thread=m1)
        colleague.faults.refused[AROUND_IN_THREAD] = Code.NOT_FOUND
        told: list[str] = []
        for number in range(4):
            _, context = await asks(colleague, "alice", f"@hermes {number}", thread=m1)
            told += [line for line in lines_of(context) if line.startswith("- ")]

        assert sorted(told) == sorted(said)


async def test_a_message_that_is_gone_from_its_room_is_no_reason_to_be_silent(
    open_colleague: Open,
) -> None:
    """What the room said before it is not known then."""
    async with open_colleague() as colleague:
        await colleague.says("bob", "news")
        colleague.faults.refused[AROUND_IN_ROOM] = Code.NOT_FOUND
        _, context = await asks(colleague, "alice", "@hermes two")

        assert context is None


async def test_a_session_without_a_row_whose_thread_is_gone_fails(open_colleague: Open) -> None:
    """There is no beginning to read from."""
    async with open_colleague() as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        await colleague.stops()
        colleague.write("delete from threads")
        await colleague.starts()
        colleague.faults.refused[AROUND_IN_THREAD] = Code.NOT_FOUND
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "failed")

        assert reason_of(colleague, m2) == "context_unreadable"


async def test_a_direct_conversation_without_a_row_is_read_from_its_beginning(
    open_colleague: Open,
) -> None:
    """All that its transcript lacks, oldest first."""
    async with open_colleague() as colleague:
        room = await colleague.opens_dm("alice")
        await colleague.says("hermes", "a report", room=room)
        await asks(colleague, "alice", "one", room=room)
        await colleague.stops()
        colleague.write("delete from threads")
        await colleague.starts()
        before = colleague.sandbox.calls[FIRST_IN_ROOM]
        _, context = await asks(colleague, "alice", "two", room=room)

        assert "- Hermes (this bot): a report" in lines_of(context)
        assert colleague.sandbox.calls[FIRST_IN_ROOM] == before + 1


async def test_a_target_that_is_not_read_in_time_costs_the_pointer_only(
    open_colleague: Open,
) -> None:
    """The question is answered all the same."""
    limits = ContextLimits(pointer_wait_s=0.0)
    async with open_colleague(context=limits) as colleague:
        m1 = await colleague.says("bob", "which one?")
        m2 = await colleague.says("alice", "@hermes what does he mean?", reply_to=m1)
        await colleague.until_state(m2, "answered")

        assert colleague.gateway.orders[-1].reply_to_id is None
