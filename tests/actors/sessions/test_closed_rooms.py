"""Where the agent may not post it says nothing, and the row says why."""

import logging
from dataclasses import replace

import anyio
import pytest

from hermes_chatto.actors.sandbox.server.membership import Membership
from hermes_chatto.actors.sandbox.server.permissions import Permission
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import Signs
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.tests.actors.sessions.gaps import QUICK, cut, live_again

ROOM = "RoomDirectoryService/GetRoom"
READ_ONLY, ARCHIVED = ("refused", "room_read_only"), ("refused", "room_archived")


def decides(colleague: Colleague, permission: Permission, *, allowed: bool | None) -> None:
    """Let a manager decide what people may do in R1; nothing tells the account of it."""
    world = colleague.sandbox.world
    room = colleague.rooms["R1"]
    world.permissions.decide("everyone", permission, room, allowed=allowed)


async def outcome(colleague: Colleague, words: str, room: str = "R1") -> tuple[object, object]:
    """Let the owner, who may post anywhere, ask; return what became of it and why."""
    id_ = await colleague.says("alice", words, room=room)
    sql = "select state, reason from turns where message_id = ? and closed_at is not null"
    await colleague.until(lambda: bool(colleague.rows(sql, id_)))
    ((state, reason),) = colleague.rows(sql, id_)
    return state, reason


def makes_owner(colleague: Colleague, login: str) -> None:
    """Let somebody do everything."""
    colleague.sandbox.world.accounts.require(colleague.ids[login]).roles.add("owner")


async def test_a_room_that_is_read_only_from_the_start_gets_no_run(open_colleague: Open) -> None:
    """Nothing is asked of the agent there, and nobody is shown typing."""
    async with open_colleague(is_started=False) as colleague:
        makes_owner(colleague, "alice")
        decides(colleague, Permission.POST_IN_THREAD, allowed=False)
        await colleague.starts()

        assert await outcome(colleague, "@hermes hi") == READ_ONLY
        assert await outcome(colleague, "@hermes /status") == READ_ONLY
        assert await outcome(colleague, "@hermes hi", room="R2") == ("answered", None)
        assert [order.place.room_id for order in colleague.gateway.orders] == [
            colleague.rooms["R2"]
        ]


async def test_a_room_for_announcements_is_answered_in_its_threads(open_colleague: Open) -> None:
    """There members may not post in the room, and every answer is in a thread."""
    async with open_colleague(is_started=False) as colleague:
        makes_owner(colleague, "alice")
        decides(colleague, Permission.POST, allowed=False)
        await colleague.starts()

        assert await outcome(colleague, "@hermes hi") == ("answered", None)


async def test_rights_that_change_are_noticed_without_a_restart(open_colleague: Open) -> None:
    """No event tells: one taken away shows at the next answer, one given at the next question."""
    async with open_colleague() as colleague:
        makes_owner(colleague, "alice")
        assert await outcome(colleague, "@hermes one") == ("answered", None)

        decides(colleague, Permission.POST_IN_THREAD, allowed=False)
        assert await outcome(colleague, "@hermes two") == ("failed", "permission_denied")
        assert await outcome(colleague, "@hermes three") == READ_ONLY
        assert len(colleague.gateway.orders) == 2

        decides(colleague, Permission.POST_IN_THREAD, allowed=None)
        assert await outcome(colleague, "@hermes four") == ("answered", None)
        assert await outcome(colleague, "@hermes five") == ("answered", None)


async def test_a_room_that_takes_answers_is_not_looked_at_again(open_colleague: Open) -> None:
    """Only what keeps the agent quiet costs a look."""
    async with open_colleague() as colleague:
        before = colleague.sandbox.calls[ROOM]
        for number in range(3):
            assert await outcome(colleague, f"@hermes {number}") == ("answered", None)

        assert colleague.sandbox.calls[ROOM] == before


async def test_what_was_asked_in_a_room_that_is_archived_now_is_refused(
    open_colleague: Open,
) -> None:
    """Taken down before, decided afterwards; once the room is open again it is answered again."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await colleague.dies()
        colleague.write("update turns set state = 'received', closed_at = null")
        world = colleague.sandbox.world
        room = world.rooms.require(colleague.rooms["R1"])
        Membership(world).set_archived("system", room, is_archived=True)
        await colleague.starts()
        await colleague.until_state(m1, "refused")

        assert colleague.rows("select outcome, reason from admissions") == [ARCHIVED]
        Membership(world).set_archived("system", room, is_archived=False)
        assert await outcome(colleague, "@hermes two") == ("answered", None)


class Slow:
    """An agent that answers when it is told to."""

    def __init__(self) -> None:
        """Wait with the first answer."""
        self.go_on = anyio.Event()

    async def __call__(self, order: TurnOrder) -> str:
        """Answer, and wait with the next one."""
        await self.go_on.wait()
        self.go_on = anyio.Event()
        return f"ok: {order.text}"


def archives(colleague: Colleague, *, is_archived: bool) -> None:
    """Let a manager archive R1, or open it again."""
    world = colleague.sandbox.world
    room = world.rooms.require(colleague.rooms["R1"])
    Membership(world).set_archived("system", room, is_archived=is_archived)


async def test_signs_come_again_in_a_room_that_was_archived_for_a_while(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Also that of the question whose answer it refused: the old one goes, the due one comes."""
    caplog.set_level(logging.INFO)
    agent = Slow()
    script = Script(policy=replace(POLICY, signs=Signs()), agent=agent)
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until(lambda: colleague.reactions(m1) == ["eyes"])
        archives(colleague, is_archived=True)
        agent.go_on.set()
        await colleague.until_state(m1, "failed")
        await colleague.until(lambda: "takes no reactions" in caplog.text)
        archives(colleague, is_archived=False)
        m2 = await colleague.says("alice", "@hermes two")

        await colleague.until(lambda: colleague.reactions(m2) == ["eyes"])
        await colleague.until(lambda: colleague.reactions(m1) == ["x"])
        agent.go_on.set()
        await colleague.until_state(m2, "answered")


async def test_signs_come_again_with_the_next_connection(open_colleague: Open) -> None:
    """Nothing tells that a right was given; to ask with every question would cost a refusal."""
    agent = Slow()
    script = Script(limits=QUICK, policy=replace(POLICY, signs=Signs()), agent=agent)
    async with open_colleague(script=script) as colleague:
        decides(colleague, Permission.REACT, allowed=False)
        agent.go_on.set()
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        decides(colleague, Permission.REACT, allowed=None)
        await live_again(colleague, await cut(colleague))
        m2 = await colleague.says("alice", "@hermes two")

        await colleague.until(lambda: colleague.reactions(m2) == ["eyes"])
        agent.go_on.set()
        await colleague.until_state(m2, "answered")


async def test_row_names_no_sign_that_the_room_did_not_take(open_colleague: Open) -> None:
    """The next start would look for it in vain, and not put on the one that is due."""
    agent = Slow()
    script = Script(policy=replace(POLICY, signs=Signs(seen=None)), agent=agent)
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "processing")
        archives(colleague, is_archived=True)
        agent.go_on.set()
        await colleague.until_state(m1, "failed")
        await colleague.until(lambda: "MessageService/AddReaction" in colleague.sandbox.calls)
        await colleague.stops()

        assert colleague.rows("select sign from turns") == [(None,)]
        archives(colleague, is_archived=False)
        await colleague.starts()
        await colleague.until(lambda: colleague.reactions(m1) == ["x"])
        assert colleague.rows("select sign from turns") == [("x",)]
