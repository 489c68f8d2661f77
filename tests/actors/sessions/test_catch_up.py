"""What was asked while nobody listened is answered once, oldest first, or ends with a name."""

from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest

from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import EditedUnseen, Revisions
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.actors.sessions.services import Limits

QUICK = Limits(reconnect_first_s=0.05, reconnect_longest_s=0.2, connect_wait_s=2)
SCRIPT = Script(limits=QUICK)


def lives(colleague: Colleague) -> int:
    """Return how often the connection has become live."""
    sql = "select count(*) from transitions where machine = 'connection' and event = 'go_live'"
    return int(str(colleague.rows(sql)[0][0]))


async def live_again(colleague: Colleague) -> None:
    """Wait until a stream that was cut is open again, and what it missed is decided."""
    before = lives(colleague)
    await colleague.until(lambda: lives(colleague) > before)


async def cut(colleague: Colleague) -> None:
    """End the agent's stream, and wait until the server has forgotten it."""
    colleague.cuts_stream()
    feed, agent_id = colleague.sandbox.world.feed, colleague.ids["hermes"]
    await colleague.until(lambda: not feed.of_user(agent_id))


def ends(colleague: Colleague, message_id: str) -> tuple[object, ...] | None:
    """Return state and reason of a turn; None: it has no row."""
    found = colleague.rows("select state, reason from turns where message_id = ?", message_id)
    return found[0] if found else None


def asked(colleague: Colleague) -> list[str]:
    """Return what the agent was asked, in order."""
    return [order.text for order in colleague.gateway.orders]


async def test_a_mention_in_a_gap_is_answered_once(open_colleague: Open) -> None:
    """The stream replays nothing; the inbox names it."""
    async with open_colleague(script=SCRIPT) as colleague:
        await cut(colleague)
        m1 = colleague.posts("alice", "@hermes are you there?")
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 1
        assert colleague.rows("select cause from turns") == [("mention",)]


async def test_each_kind_of_message_in_a_gap_is_found(open_colleague: Open) -> None:
    """A mention, a reply, a direct message, a follow-up in a thread with a session."""
    async with open_colleague(script=SCRIPT) as colleague:
        dm = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        (answer,) = colleague.answers()
        await cut(colleague)
        m2 = colleague.posts("bob", "@hermes two", thread=m1)
        m3 = colleague.posts("alice", "and three?", thread=m1)
        m4 = colleague.posts("bob", "why?", thread=m1, reply_to=answer.message_id)
        m5 = colleague.posts("alice", "five", room=dm)
        m6 = colleague.posts("alice", "@hermes six", room="R2")
        for message_id in (m2, m3, m4, m5, m6):
            await colleague.until_state(message_id, "answered")

        causes = dict(colleague.rows("select message_id, cause from turns"))
        assert causes == {
            m1: "mention",
            m2: "mention",
            m3: "follow_up",
            m4: "reply",
            m5: "direct",
            m6: "mention",
        }
        in_thread = [order.message_id for order in colleague.gateway.orders]
        assert [i for i in in_thread if i in {m2, m3, m4}] == [m2, m3, m4]
        assert len(colleague.answers()) == 6


async def test_what_was_asked_while_the_profile_was_down_is_answered(
    open_colleague: Open,
) -> None:
    """Stopped in order or killed, it makes no difference."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await colleague.stops()
        m2 = colleague.posts("alice", "@hermes two")
        await colleague.starts()
        await colleague.until_state(m2, "answered")
        await colleague.dies()
        m3 = colleague.posts("alice", "@hermes three")
        await colleague.starts()
        await colleague.until_state(m3, "answered")

        assert len(colleague.answers()) == 3


async def test_a_command_in_a_gap_is_refused(open_colleague: Open) -> None:
    """Nobody knows what it would do now."""
    async with open_colleague(script=SCRIPT) as colleague:
        await cut(colleague)
        m1 = colleague.posts("alice", "@hermes /restart")
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "command")
        assert colleague.gateway.commands == []


async def test_a_stranger_in_a_gap_costs_nothing(open_colleague: Open) -> None:
    """Neither a read nor a row."""
    async with open_colleague(script=SCRIPT) as colleague:
        await cut(colleague)
        reads = colleague.sandbox.calls["MessageService/BatchGetMessages"]
        m1 = colleague.posts("carol", "@hermes hi")
        await live_again(colleague)

        assert ends(colleague, m1) is None
        assert colleague.sandbox.calls["MessageService/BatchGetMessages"] == reads


async def test_a_message_deleted_in_the_gap_leaves_its_row(open_colleague: Open) -> None:
    """Its entry outlives it; nothing is left to answer."""
    async with open_colleague(script=SCRIPT) as colleague:
        await cut(colleague)
        m1 = colleague.posts("alice", "@hermes never mind")
        colleague.retracts(m1)
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "unreadable")


async def test_a_message_edited_in_the_gap_is_refused(open_colleague: Open) -> None:
    """A read does not say by whom it was edited."""
    async with open_colleague(script=SCRIPT) as colleague:
        await cut(colleague)
        m1 = colleague.posts("alice", "@hermes delete a")
        await colleague.edits("alice", m1, "@hermes delete b")
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "edited_unseen")


async def test_a_message_edited_in_the_gap_is_answered_where_that_is_wanted(
    open_colleague: Open,
) -> None:
    """`CHATTO_EDITED_UNSEEN=answer`."""
    policy = replace(POLICY, revisions=Revisions(unseen=EditedUnseen.ANSWER))
    async with open_colleague(script=Script(limits=QUICK, policy=policy)) as colleague:
        await cut(colleague)
        m1 = colleague.posts("alice", "@hermes delete a")
        await colleague.edits("alice", m1, "@hermes delete b")
        await colleague.until_state(m1, "answered")

        assert asked(colleague) == ["@hermes delete b"]
