"""What was asked while nobody listened is answered once, oldest first, or ends with a name."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.server.editing import Editing
from hermes_chatto.actors.sandbox.server.inbox import Level
from hermes_chatto.actors.sandbox.server.leaving import Leaving
from hermes_chatto.actors.sandbox.server.membership import Membership
from hermes_chatto.actors.sandbox.server.posting import Posting
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import POLICY, Open, Script
from hermes_chatto.actors.sessions.policy import EditedUnseen, Revisions, Signs
from hermes_chatto.tests.actors.sessions.gaps import (
    INBOX,
    QUICK,
    READ,
    SCRIPT,
    asked,
    cut,
    ends,
    live_again,
    lives,
    reasons,
)

ALL_MESSAGES = Level.ALL_MESSAGES


class WrongClock(SystemClock):
    """A host's clock that is set wrong."""

    def __init__(self, ahead_s: float) -> None:
        """Be wrong by so much."""
        self._ahead = timedelta(seconds=ahead_s)

    def now(self) -> datetime:
        """Return the wrong time."""
        return super().now() + self._ahead


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

        causes = colleague.rows("select message_id, cause from turns")
        assert {str(message_id): cause for message_id, cause in causes} == {
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
        before = await cut(colleague)
        reads = colleague.sandbox.calls[READ]
        m1 = colleague.posts("carol", "@hermes hi")
        await live_again(colleague, before)

        assert ends(colleague, m1) is None
        assert colleague.sandbox.calls[READ] == reads


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


async def test_a_direct_message_without_an_entry_is_found(open_colleague: Open) -> None:
    """Its author's connection broke before the server had made one."""
    async with open_colleague(script=SCRIPT) as colleague:
        dm = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "one", room=dm)
        await colleague.until_state(m1, "answered")
        await cut(colleague)
        m2 = colleague.posts("alice", "two", room=dm)
        colleague.sandbox.world.inbox.dismiss_where(colleague.ids["hermes"], lambda _: True)
        await colleague.until_state(m2, "answered")

        assert len(colleague.answers()) == 2


async def test_a_room_that_needs_no_mention_is_read_from_where_it_stopped(
    open_colleague: Open,
) -> None:
    """The inbox does not know what is said there."""
    policy = replace(POLICY, free_rooms=("R1",))
    async with open_colleague(script=Script(limits=QUICK, policy=policy)) as colleague:
        m1 = await colleague.says("alice", "one")
        await colleague.until_state(m1, "answered")
        await cut(colleague)
        m2 = colleague.posts("alice", "two")
        m3 = colleague.posts("bob", "three")
        m4 = colleague.posts("bob", "not here", room="R2")
        await colleague.until_state(m2, "answered")
        await colleague.until_state(m3, "answered")

        assert asked(colleague) == ["one", "two", "three"]
        assert ends(colleague, m4) is None


async def test_an_echo_is_keyed_by_what_it_repeats(open_colleague: Open) -> None:
    """Where only the echo has an entry the reply is found by it, once."""
    async with open_colleague(script=SCRIPT) as colleague:
        world, agent_id = colleague.sandbox.world, colleague.ids["hermes"]
        world.inbox.set_level(agent_id, world.rooms.require(colleague.rooms["R1"]), ALL_MESSAGES)
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await cut(colleague)
        m2 = colleague.posts("alice", "and two?", thread=m1, echo=True)
        world.inbox.dismiss_where(agent_id, lambda entry: entry.post.id == m2)
        await colleague.until_state(m2, "answered")

        rows = colleague.rows("select message_id from turns order by lane_order")
        assert rows == [(m1,), (m2,)]


async def test_an_author_whose_account_is_gone_is_not_answered(open_colleague: Open) -> None:
    """The entry outlives the account."""
    async with open_colleague(script=SCRIPT) as colleague:
        await cut(colleague)
        m1 = colleague.posts("alice", "@hermes bye")
        world = colleague.sandbox.world
        alice = world.accounts.require(colleague.ids["alice"])
        Leaving(world, Membership(world), Editing(world, Posting(world))).delete(alice, alice)
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "author_gone")


async def test_an_entry_that_somebody_takes_away_ends_nothing(open_colleague: Open) -> None:
    """Whoever is logged in as the account may look at the bell."""
    async with open_colleague(script=Script(limits=QUICK, is_gate_open=False)) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "queued")
        before = await cut(colleague)
        colleague.sandbox.world.inbox.dismiss_where(colleague.ids["hermes"], lambda _: True)
        await live_again(colleague, before)
        colleague.gateway.open_gate()
        await colleague.until_state(m1, "answered")


async def test_what_is_posted_while_a_gap_is_caught_up_comes_after_it(
    open_colleague: Open,
) -> None:
    """In its conversation, and once, whatever both the inbox and the stream bring."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        colleague.faults.delays[INBOX] = 0.3
        calls = colleague.sandbox.calls[INBOX]
        await cut(colleague)
        m2 = colleague.posts("alice", "@hermes two", thread=m1)
        await colleague.until(lambda: colleague.sandbox.calls[INBOX] > calls)
        m3 = colleague.posts("alice", "@hermes three", thread=m1)
        m4 = colleague.posts("bob", "@hermes four", thread=m1)
        for message_id in (m2, m3, m4):
            await colleague.until_state(message_id, "answered")

        texts = [f"@hermes {word}" for word in ("one", "two", "three", "four")]
        assert asked(colleague) == texts
        assert len(colleague.answers()) == 4


async def test_a_live_command_is_run_although_the_inbox_names_it(open_colleague: Open) -> None:
    """Only what nobody heard is too late."""
    async with open_colleague(script=SCRIPT) as colleague:
        colleague.faults.delays[INBOX] = 0.3
        calls = colleague.sandbox.calls[INBOX]
        await cut(colleague)
        await colleague.until(lambda: colleague.sandbox.calls[INBOX] > calls)
        m1 = colleague.posts("alice", "@hermes /status")
        await colleague.until(lambda: bool(colleague.gateway.commands))

        assert colleague.state_of(m1) == "bypassed"
        assert [order.text for order in colleague.gateway.commands] == ["/status"]


async def test_nobody_waits_for_ever_for_what_was_missed(open_colleague: Open) -> None:
    """An inbox that takes too long holds up what is asked now for a while only."""
    limits = replace(QUICK, hold_longest_s=0.1)
    async with open_colleague(script=Script(limits=limits)) as colleague:
        colleague.faults.delays[INBOX] = 2.0
        calls = colleague.sandbox.calls[INBOX]
        before = await cut(colleague)
        await colleague.until(lambda: colleague.sandbox.calls[INBOX] > calls)
        m1 = colleague.posts("alice", "@hermes now")
        await colleague.until_state(m1, "answered")

        assert lives(colleague) == before


async def test_lists_that_cannot_be_read_are_read_again(open_colleague: Open) -> None:
    """A server that says "later" loses nothing."""
    async with open_colleague(script=SCRIPT) as colleague:
        colleague.faults.refused[INBOX] = Code.UNAVAILABLE
        await cut(colleague)
        m1 = colleague.posts("alice", "@hermes one")
        await colleague.until(lambda: colleague.sandbox.calls[INBOX] > 3)
        colleague.faults.refused.clear()
        await colleague.until_state(m1, "answered")


async def test_a_gap_that_was_not_caught_up_is_caught_up_with_the_next(
    open_colleague: Open,
) -> None:
    """Neither live messages nor a restart move the position past it."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        colleague.faults.delays[INBOX] = 1.0
        calls = colleague.sandbox.calls[INBOX]
        await cut(colleague)
        m2 = colleague.posts("alice", "@hermes two")
        await colleague.until(lambda: colleague.sandbox.calls[INBOX] > calls)
        m3 = await colleague.says("bob", "@hermes three")
        await colleague.stops()
        del colleague.faults.delays[INBOX]
        await colleague.starts()
        await colleague.until_state(m2, "answered")
        await colleague.until_state(m3, "answered")

        assert len(colleague.answers()) == 3


# --- a lost state file ----------------------------------------------------------------------


async def test_a_lost_state_file_is_healed_from_the_inbox(open_colleague: Open) -> None:
    """What has an answer is left; what has none still gets it, once."""
    async with open_colleague(script=SCRIPT) as colleague:
        dm = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "@hermes one")
        m2 = await colleague.says("alice", "two", room=dm)
        for message_id in (m1, m2):
            await colleague.until_state(message_id, "answered")
        await colleague.stops()
        m3 = colleague.posts("bob", "@hermes three", thread=m1)
        m4 = colleague.posts("alice", "four", room=dm)
        m5 = colleague.posts("alice", "@hermes five")
        colleague.state_path.unlink()
        await colleague.starts()
        for message_id in (m3, m4, m5):
            await colleague.until_state(message_id, "answered")

        assert sorted(asked(colleague)) == ["@hermes five", "@hermes three", "four"]
        assert ends(colleague, m1) is None
        assert ends(colleague, m2) is None
        assert len(colleague.answers()) == 5


async def test_what_was_answered_before_the_loss_stays_answered(open_colleague: Open) -> None:
    """Also for the catch-ups and starts that look at the same minutes again."""
    async with open_colleague(script=SCRIPT) as colleague:
        dm = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "@hermes one")
        m2 = await colleague.says("alice", "two", room=dm)
        for message_id in (m1, m2):
            await colleague.until_state(message_id, "answered")
        await colleague.stops()
        colleague.state_path.unlink()
        await colleague.starts()
        await live_again(colleague, await cut(colleague))
        await colleague.stops()
        await colleague.starts()
        m3 = await colleague.says("alice", "@hermes three")
        m4 = await colleague.says("alice", "four", room=dm)
        for message_id in (m3, m4):
            await colleague.until_state(message_id, "answered")

        assert sorted(answer.body for answer in colleague.answers()) == [
            *("ok: @hermes one", "ok: @hermes three", "ok: four", "ok: two"),
        ]


async def test_an_old_copy_of_the_state_file_answers_nothing_again(open_colleague: Open) -> None:
    """What it does not know the gateway's transcripts do; what has no answer still gets it."""
    async with open_colleague(script=SCRIPT) as colleague:
        dm = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await colleague.stops()
        copy = colleague.state_path.read_bytes()
        colleague.clock.ahead_s = 60
        await colleague.starts()
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        m3 = await colleague.says("bob", "@hermes three")
        m4 = await colleague.says("alice", "four", room=dm)
        for message_id in (m2, m3, m4):
            await colleague.until_state(message_id, "answered")
        await colleague.stops()
        m5 = colleague.posts("alice", "@hermes five", thread=m1)
        m6 = colleague.posts("bob", "@hermes six")
        colleague.state_path.write_bytes(copy)
        await colleague.starts()
        for message_id in (m5, m6):
            await colleague.until_state(message_id, "answered")

        assert sorted(asked(colleague)) == ["@hermes five", "@hermes six"]
        assert [ends(colleague, message_id) for message_id in (m2, m3, m4)] == [None] * 3
        assert len(colleague.answers()) == 6


async def test_a_first_start_leaves_old_questions_alone(open_colleague: Open) -> None:
    """Neither a row nor a sign for what was asked before anybody knew of the agent."""
    async with open_colleague(is_started=False) as colleague:
        m1 = colleague.posts("alice", "@hermes long ago")
        colleague.clock.ahead_s = 901
        m2 = colleague.posts("alice", "@hermes just now")
        await colleague.starts(SCRIPT)
        await colleague.until_state(m2, "answered")

        assert ends(colleague, m1) is None
        assert asked(colleague) == ["@hermes just now"]


# --- age ------------------------------------------------------------------------------------


async def test_what_is_older_than_the_window_expires_with_a_sign(open_colleague: Open) -> None:
    """Handed S05: nothing old is answered, and whoever asked can see that."""
    policy = replace(POLICY, signs=Signs())
    async with open_colleague(script=Script(limits=QUICK, policy=policy)) as colleague:
        m0 = await colleague.says("alice", "@hermes hello")
        await colleague.until_state(m0, "answered")
        await colleague.stops()
        m1 = colleague.posts("alice", "@hermes /restart")
        m2 = colleague.posts("alice", "@hermes deploy", thread=m1)
        colleague.clock.ahead_s = 4 * 3600
        await colleague.starts()
        await colleague.until_state(m2, "expired")
        m3 = await colleague.says("alice", "@hermes what did I miss?", thread=m1)
        await colleague.until_state(m3, "answered")
        await colleague.until(lambda: colleague.reactions(m1) == ["x"])
        await colleague.until(lambda: colleague.reactions(m2) == ["x"])

        assert ends(colleague, m1) == ("expired", "too_old")
        assert ends(colleague, m2) == ("expired", "too_old")
        assert colleague.gateway.commands == []
        (order,) = colleague.gateway.orders
        assert order.text == "@hermes what did I miss?"
        assert "@hermes /restart" in (order.context or "")
        assert "@hermes deploy" in (order.context or "")
        assert reasons(colleague) == ["position_too_old"]


@pytest.mark.parametrize(("ahead_s", "state"), [(890, "answered"), (910, "expired")])
@pytest.mark.parametrize("wrong_by_s", [-3600, 3600])
async def test_age_is_measured_by_the_servers_clock(
    open_colleague: Open, ahead_s: float, state: str, wrong_by_s: float
) -> None:
    """An hour of the host's clock, in either direction, changes nothing."""
    script = Script(limits=QUICK, clock=WrongClock(wrong_by_s))
    async with open_colleague(script=script) as colleague:
        m0 = await colleague.says("alice", "@hermes hello")
        await colleague.until_state(m0, "answered")
        await colleague.stops()
        m1 = colleague.posts("alice", "@hermes one")
        colleague.clock.ahead_s = ahead_s
        await colleague.starts()
        await colleague.until_state(m1, state)
