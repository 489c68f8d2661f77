"""Where the agent answers, in how many parts, and what a failing post does."""

import anyio

from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Open, Posted
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.actors.sessions.services import Limits


async def test_a_room_message_is_answered_in_the_thread_it_opens(open_colleague: Open) -> None:
    """S36: thread_id is the message's own ID, and the first part points at the trigger."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes build?")
        await colleague.until_state(m1, "answered")

        (a1,) = colleague.answers()
        r1 = colleague.rooms["R1"]
        assert a1 == Posted(r1, m1, m1, "ok: @hermes build?", a1.message_id)


async def test_a_question_inside_a_thread_is_answered_there(open_colleague: Open) -> None:
    """The root is the thread's, never the trigger or the message it points at (handed S06)."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "who is right?")
        m2 = await colleague.says("bob", "I am", thread=m1)
        m3 = await colleague.says("alice", "@hermes is bob right?", thread=m1, reply_to=m2)
        await colleague.until_state(m3, "answered")

        (a3,) = colleague.answers()
        assert (a3.thread_root_id, a3.in_reply_to) == (m1, m3)
        assert colleague.rows("select thread_root_id from threads") == [(m1,)]


async def test_a_direct_conversation_is_answered_flat(open_colleague: Open) -> None:
    """Direct conversations have no threads, and need no mention."""
    async with open_colleague() as colleague:
        d1 = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "hello", room=d1)
        await colleague.until_state(m1, "answered")

        (a1,) = colleague.answers()
        assert a1 == Posted(d1, "", m1, "ok: hello", a1.message_id)


async def test_a_long_answer_comes_in_parts_of_one_thread(open_colleague: Open) -> None:
    """Parts count bytes, end at line ends, keep the order; only the first one points (S27)."""
    lines = [f"{number}: größer 🎩" for number in range(1_200)]

    async def report(order: TurnOrder) -> str:
        del order
        return "\n".join(lines)

    async with open_colleague(agent=report) as colleague:
        m1 = await colleague.says("alice", "@hermes dump")
        await colleague.until_state(m1, "answered")

        parts = colleague.answers()
        assert len(parts) == 3
        assert all(len(part.body.encode()) <= 9_900 for part in parts)
        assert [part.in_reply_to for part in parts] == [m1, "", ""]
        assert {part.thread_root_id for part in parts} == {m1}
        assert "\n".join(part.body for part in parts).split("\n") == lines
        found = colleague.rows("select message_id from outbox order by part")
        assert found == [(part.message_id,) for part in parts]


async def test_an_answer_without_a_visible_character_is_not_posted(open_colleague: Open) -> None:
    """The server would refuse it; nothing is posted and the turn is silent (handed S30)."""

    async def say_nothing(order: TurnOrder) -> str:
        del order
        return "\u200b \n\u00ad"

    async with open_colleague(agent=say_nothing) as colleague:
        m1 = await colleague.says("alice", "@hermes shh")
        await colleague.until_state(m1, "silent")

        assert colleague.answers() == []
        assert colleague.rows("select * from outbox") == []


async def test_half_a_character_is_posted_as_a_replacement(open_colleague: Open) -> None:
    """A surrogate pair becomes its character, a lone half U+FFFD (handed S29)."""

    async def hat(order: TurnOrder) -> str:
        del order
        return "\ud83c\udfa9 and \udfa9"

    async with open_colleague(agent=hat) as colleague:
        m1 = await colleague.says("alice", "@hermes hat")
        await colleague.until_state(m1, "answered")

        assert [answer.body for answer in colleague.answers()] == ["🎩 and \ufffd"]


async def test_a_refused_answer_fails_the_turn_with_the_reason(open_colleague: Open) -> None:
    """Refused for good: no flood of attempts, and the row says why (handed S32)."""
    async with open_colleague() as colleague:
        colleague.faults.before = [Code.PERMISSION_DENIED]
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "failed")

        assert colleague.answers() == []
        assert colleague.rows("select reason from turns") == [("permission_denied",)]
        assert colleague.rows("select state, attempt from outbox") == [("refused", 1)]


async def test_a_busy_server_is_waited_for_and_the_order_kept(open_colleague: Open) -> None:
    """Asked to come later, the agent does: no failure (handed S33)."""

    async def two_parts(order: TurnOrder) -> str:
        del order
        return "a" * 9_000 + "\n" + "b" * 9_000

    limits = Limits(first_wait_s=0.01)
    async with open_colleague(agent=two_parts, limits=limits) as colleague:
        colleague.faults.before = [Code.RESOURCE_EXHAUSTED, Code.RESOURCE_EXHAUSTED]
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until_state(m1, "answered")

        assert [answer.body[0] for answer in colleague.answers()] == ["a", "b"]
        waits = colleague.rows("select count(*) from transitions where event = 'postpone'")
        assert waits == [(2,)]


async def test_a_lost_answer_of_the_server_is_looked_for_not_repeated(
    open_colleague: Open,
) -> None:
    """The post was applied, its answer was not: the room is read back, one message stands."""
    async with open_colleague() as colleague:
        colleague.faults.after = [Code.INTERNAL]
        m1 = await colleague.says("alice", "@hermes once")
        await colleague.until_state(m1, "answered")

        (a1,) = colleague.answers()
        assert colleague.rows("select state, message_id from outbox") == [
            ("delivered", a1.message_id)
        ]


async def test_a_post_that_raced_is_posted_again_after_a_look(open_colleague: Open) -> None:
    """`internal` may mean "not posted": read back, then repeat."""
    async with open_colleague() as colleague:
        colleague.faults.before = [Code.INTERNAL]
        m1 = await colleague.says("alice", "@hermes again")
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 1
        steps = colleague.rows(
            "select event from transitions where machine = 'delivery' order by seq"
        )
        expected = ["add", "post", "doubt", "find_nothing", "post", "confirm"]
        assert [event for (event,) in steps] == expected


async def test_words_are_kept_only_while_something_needs_them(open_colleague: Open) -> None:
    """Once a turn is answered neither its words nor the answer's are in the file."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes my password is tulip")
        await colleague.until_state(m1, "answered")

        assert colleague.rows("select body from turns") == [(None,)]
        assert colleague.rows("select body from outbox") == [(None,)]
        transitions = colleague.rows("select * from transitions")
        assert not [row for row in transitions if "tulip" in repr(row)]


async def test_the_agents_own_messages_start_nothing(open_colleague: Open) -> None:
    """Own posts, here by another program under the account, are never a turn (handed S11)."""
    async with open_colleague() as colleague:
        await colleague.says("hermes", "scheduled note @hermes")
        m1 = await colleague.says("alice", "@hermes after that")
        await colleague.until_state(m1, "answered")
        await anyio.wait_all_tasks_blocked()

        assert colleague.rows("select message_id from turns") == [(m1,)]
