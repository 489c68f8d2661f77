"""Commands the plugin answers itself: for whoever asks, about nobody else, also during a run."""

from dataclasses import replace

import anyio
import pytest

from hermes_chatto.actors.sandbox.server.inbox import Level
from hermes_chatto.actors.sandbox.server.membership import Membership
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.server.rooms import Ban
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open
from hermes_chatto.actors.sessions.people_texts import STATES
from hermes_chatto.actors.sessions.policy import Bots, FollowUps, RoomRules
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.machines.turn import TurnChart


async def think(order: TurnOrder) -> str:
    """Never come to an end."""
    del order
    await anyio.sleep_forever()
    raise AssertionError


async def reply(colleague: Colleague, login: str, command: str, **where: str) -> str:
    """Let a person give a command; return what it says, once it has said it."""
    message_id = await colleague.says(login, command, **where)

    def said() -> list[str]:
        return [each.body for each in colleague.answers() if each.in_reply_to == message_id]

    await colleague.until(lambda: bool(said()))
    assert colleague.state_of(message_id) == "bypassed"
    (body,) = said()
    return body


async def test_why_tells_of_the_last_message_here(open_colleague: Open) -> None:
    """While it runs, and past it; in the words of the tables."""
    async with open_colleague(agent=think) as colleague:
        m1 = await colleague.says("alice", "@hermes a long question")
        await colleague.until_state(m1, "processing")

        body = await reply(colleague, "alice", "/why", thread=m1)
        gateway_saw = [order.text for order in colleague.gateway.commands]

    assert body.startswith("Your last message here that was meant for me, of 20")
    assert body.endswith(" UTC: I am at it.")
    assert gateway_saw == []


async def test_why_names_the_reason(open_colleague: Open) -> None:
    """As a sentence, not as a word of the columns."""

    async def fail(order: TurnOrder) -> str:
        raise RuntimeError(order.text)

    async with open_colleague(agent=fail) as colleague:
        m1 = await colleague.says("alice", "@hermes question")
        await colleague.until_state(m1, "failed")

        body = await reply(colleague, "alice", "@hermes /why")

    assert body.endswith(": it could not be answered: the agent's run failed.")


def test_every_state_has_words_for_people() -> None:
    """Nobody is told a word of the columns."""
    assert set(STATES) == set(TurnChart.MEANING)


async def test_why_tells_nobody_about_others(open_colleague: Open) -> None:
    """And says honestly that what was not meant for the agent is not kept."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("bob", "@hermes mine")
        await colleague.until_state(m1, "answered")
        await colleague.says("alice", "not for you")

        nothing = await reply(colleague, "alice", "@hermes /why")
        elsewhere = await reply(colleague, "bob", "@hermes /why", room="R2")
        here = await reply(colleague, "bob", "@hermes /why")

    assert nothing.startswith("I know of no message of yours here")
    assert elsewhere == nothing
    assert "it was answered. If you wrote more since, it was not meant for me" in here


async def test_whoami_says_what_holds_here(open_colleague: Open) -> None:
    """Who somebody is to the agent, and what the operator decided for this room."""
    ops = RoomRules(
        toolsets=("web", "chatto"), prompt="Be brief.", thread_lines=5, allow_bots=Bots.MENTIONS
    )
    policy = replace(POLICY, rooms=(("r2", ops),), free_rooms=("R2",), follow_ups=FollowUps.OFF)
    async with open_colleague(policy=policy) as colleague:
        plain = await reply(colleague, "alice", "@hermes /whoami")
        special = await reply(colleague, "bob", "/whoami", room="R2")
        d1 = await colleague.opens_dm("alice")
        alone = await reply(colleague, "alice", "/whoami", room=d1)

    alice = f"You are @alice ({colleague.ids['alice']})."
    assert plain.splitlines() == [
        f"{alice} You may talk to me: you are on the operator's list.",
        "Here:",
        "- a message has to mention me, or reply to me",
        "- in my threads every message has to mention me, too",
        "- other programs do not count",
        "- before a question I am told 20 lines of its thread, or 20 of the room",
    ]
    assert special.splitlines()[2:] == [
        "- no mention is needed",
        "- in my threads every message has to mention me, too",
        "- other programs that I am told to listen to have to mention me",
        "- before a question I am told 5 lines of its thread, or 20 of the room",
        "- I have these toolsets alone: web, chatto",
        "- I have instructions of my own for this place",
    ]
    assert alone.splitlines()[2:] == [
        "- every message is meant for me, if there are only the two of us"
    ]


async def test_whoami_says_where_the_account_hears_nothing_of_what_it_missed(
    open_colleague: Open,
) -> None:
    """A catch-up is blind in a room that the account has muted."""
    async with open_colleague(is_started=False) as colleague:
        muted = colleague.sandbox.room("R1")
        colleague.sandbox.world.inbox.set_level(colleague.agent_id, muted, Level.MUTED)
        await colleague.starts()
        there = await reply(colleague, "alice", "@hermes /whoami")
        elsewhere = await reply(colleague, "alice", "@hermes /whoami", room="R2")

    assert "- my account has this place muted: " in there
    assert "muted" not in elsewhere


async def test_a_level_of_its_own_wins_over_the_one_of_all_rooms(open_colleague: Open) -> None:
    """A normal room hears everything under a muted server, and a change counts at once."""
    async with open_colleague(is_started=False) as colleague:
        inbox, agent_id = colleague.sandbox.world.inbox, colleague.agent_id
        inbox.set_level(agent_id, None, Level.MUTED)
        inbox.set_level(agent_id, colleague.sandbox.room("R1"), Level.NORMAL)
        await colleague.starts()
        normal = await reply(colleague, "alice", "@hermes /whoami")
        muted = await reply(colleague, "alice", "@hermes /whoami", room="R2")
        await colleague.until(lambda: bool(colleague.rows("select 1 from levels")))
        before = colleague.rows("select room_id, level from levels order by room_id")
        inbox.set_level(agent_id, colleague.sandbox.room("R1"), Level.DEFAULT)
        as_all = await reply(colleague, "alice", "@hermes /whoami")

    assert "muted" not in normal
    assert "muted" in muted
    assert "muted" in as_all
    assert before == [("", "muted"), (colleague.rooms["R1"], "normal")]


async def test_strangers_get_no_answer(open_colleague: Open) -> None:
    """A command is a message like any other."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("carol", "@hermes /why")
        m2 = await colleague.says("alice", "@hermes hello")
        await colleague.until_state(m2, "answered")

        assert colleague.state_of(m1) is None
        assert [each.in_reply_to for each in colleague.answers()] == [m2]


async def test_the_agent_goes_where_it_is_sent_in_private(open_colleague: Open) -> None:
    """By name or ID, in and out; saying it twice does nothing."""
    async with open_colleague() as colleague:
        world, d1 = colleague.sandbox.world, await colleague.opens_dm("alice")
        room = colleague.sandbox.add_room("ops")
        hermes = world.accounts.require(colleague.ids["hermes"])

        assert await reply(colleague, "alice", "/join #Ops", room=d1) == "I am in ops now."
        assert world.permissions.is_member(hermes, room)
        assert await reply(colleague, "alice", "/join ops", room=d1) == "I am in ops already."
        assert await reply(colleague, "alice", f"/leave {room.id}", room=d1) == "I have left ops."
        assert not world.permissions.is_member(hermes, room)
        assert await reply(colleague, "alice", "/leave ops", room=d1) == "I am not in ops."
        assert await reply(colleague, "alice", "/leave nix", room=d1) == (
            "I see no room called nix that you are in, too."
        )
        assert await reply(colleague, "alice", "/join", room=d1) == (
            "Which room? Write /join ROOM, with its name or its ID."
        )
        assert await reply(colleague, "alice", "/join nix", room=d1) == (
            "I see no room called nix."
        )
        in_room = await reply(colleague, "alice", "@hermes /join ops")
        assert in_room.startswith("Please say that to me in a direct message")


async def test_only_whoever_is_in_a_room_sends_the_agent_out_of_it(open_colleague: Open) -> None:
    """Or sent it in; anybody else hears what they would of a room that does not exist."""
    async with open_colleague() as colleague:
        world = colleague.sandbox.world
        hermes, alice = (world.accounts.require(colleague.ids[who]) for who in ("hermes", "alice"))
        bobs, alices = await colleague.opens_dm("bob"), await colleague.opens_dm("alice")
        ops = colleague.sandbox.add_room("ops")
        Membership(world).join(alice, ops)
        sql = "select state, reason from memberships where room_id = ?"
        asked_by = f"asked_by:{colleague.ids['bob']}"
        await reply(colleague, "bob", "/join ops", room=bobs)
        await colleague.until(lambda: colleague.rows(sql, ops.id) == [("inside", asked_by)])
        await reply(colleague, "bob", "/leave ops", room=bobs)
        assert not world.permissions.is_member(hermes, ops)
        await colleague.until(lambda: colleague.rows(sql, ops.id) == [("outside", asked_by)])
        Membership(world).join(hermes, ops)
        await colleague.until(lambda: colleague.rows(sql, ops.id) == [("inside", "joined")])

        assert await reply(colleague, "bob", "/leave ops", room=bobs) == (
            "I see no room called ops that you are in, too."
        )
        assert world.permissions.is_member(hermes, ops)
        assert await reply(colleague, "alice", "/leave ops", room=alices) == "I have left ops."


async def test_a_ban_is_said(open_colleague: Open) -> None:
    """The server's no, in its words."""
    async with open_colleague() as colleague:
        world, d1 = colleague.sandbox.world, await colleague.opens_dm("alice")
        hermes = world.accounts.require(colleague.ids["hermes"])
        room = world.rooms.require(colleague.rooms["R2"])
        ban = Ban(moderator_id=colleague.ids["bob"], reason="", created_ns=0, expires_ns=None)
        Membership(world).ban(hermes, room, ban)

        assert await reply(colleague, "alice", "/join R2", room=d1) == (
            "The server does not let me (R2): permission denied."
        )


@pytest.mark.parametrize("command", ["/join ops", "/leave R2"])
async def test_an_edit_sends_nobody_anywhere(open_colleague: Open, command: str) -> None:
    """Commands are what is freshly posted, alone."""
    async with open_colleague() as colleague:
        world, d1 = colleague.sandbox.world, await colleague.opens_dm("alice")
        hermes = world.accounts.require(colleague.ids["hermes"])
        ops = colleague.sandbox.add_room("ops")
        m1 = await colleague.says("alice", "hello", room=d1)
        await colleague.until_state(m1, "answered")
        await colleague.edits("alice", m1, command)
        m2 = await colleague.says("alice", "hello again", room=d1)
        await colleague.until_state(m2, "answered")

        assert len(colleague.answers()) == 2
        assert not world.permissions.is_member(hermes, ops)
        assert world.permissions.is_member(hermes, world.rooms.require(colleague.rooms["R2"]))


async def test_an_approval_by_somebody_else_is_refused_in_a_sentence(open_colleague: Open) -> None:
    """It reaches neither the gateway nor the run, and whoever gave it learns whose it is."""
    async with open_colleague(agent=think) as colleague:
        m1 = await colleague.says("alice", "@hermes delete it")
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("bob", "@hermes /approve", thread=m1)
        await colleague.until_state(m2, "refused")
        await colleague.until(lambda: bool(colleague.answers()))

        (said,) = colleague.answers()
        assert (said.in_reply_to, said.thread_root_id) == (m2, m1)
        assert (
            said.body
            == "Only Alice, whose question waits for it, can approve, deny or choose here."
        )
        assert colleague.gateway.commands == []
        assert colleague.state_of(m1) == "processing"


async def test_a_server_that_does_not_answer_is_said(open_colleague: Open) -> None:
    """And where nobody may go, the server's own words."""
    async with open_colleague() as colleague:
        colleague.sandbox.add_room("ops")
        d1 = await colleague.opens_dm("alice")
        colleague.faults.refused = {"RoomService/JoinRoom": Code.UNAVAILABLE}
        down = await reply(colleague, "alice", "/join ops", room=d1)
        colleague.faults.refused = {}
        stays = await reply(colleague, "alice", "/leave announcements", room=d1)

        assert down == "The server did not answer; please try again later."
        assert stays.startswith("The server does not let me (announcements): cannot leave")
