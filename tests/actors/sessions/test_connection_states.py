"""Whatever is between us and the server, the row says how it stands."""

from dataclasses import replace
from datetime import datetime, timedelta

import anyio

from hermes_chatto.actors.chatto.client import ChattoServer
from hermes_chatto.actors.chatto.credential import Password
from hermes_chatto.actors.chatto.limits import Limits as EdgeLimits
from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.odd_servers import OddServer, Silence
from hermes_chatto.actors.sandbox.server.membership import Membership
from hermes_chatto.actors.sandbox.server.rooms import Ban
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.ports import ChatServer
from hermes_chatto.tests.actors.sessions.gaps import QUICK, SCRIPT, cut, ends, live_again, lives

HERMES = Password("hermes", "hermes-pass-1")


def state(colleague: Colleague) -> tuple[object, ...]:
    """Return how the connection is, and why."""
    return colleague.rows("select state, reason from connection")[0]


async def test_a_name_that_does_not_resolve_is_waited_for(open_colleague: Open) -> None:
    """The network of a laptop comes back."""

    def elsewhere(server: ChatServer) -> ChatServer:
        del server
        return ChattoServer("http://chat.invalid", HERMES)

    script = Script(limits=QUICK, around=elsewhere)
    async with open_colleague(script=script) as colleague:
        await colleague.until(lambda: state(colleague) == ("backing_off", "unreachable"))
        await colleague.stops()
        await colleague.starts(SCRIPT)

        assert state(colleague) == ("live", None)


async def test_a_proxy_that_swallows_everything_is_waited_for(open_colleague: Open) -> None:
    """It takes the connection and never says a word."""
    async with OddServer(Silence()) as url:

        def swallowed(server: ChatServer) -> ChatServer:
            del server
            return ChattoServer(url, HERMES, EdgeLimits(read_timeout_s=0.1))

        script = Script(limits=QUICK, around=swallowed)
        async with open_colleague(script=script) as colleague:
            await colleague.until(lambda: state(colleague) == ("backing_off", "unreachable"))


class JumpingClock(SystemClock):
    """A host's clock that is set while the profile runs."""

    def __init__(self) -> None:
        """Start right."""
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        """Return the time as it is set."""
        return super().now() + self.ahead


async def test_a_clock_that_jumps_changes_nothing(open_colleague: Open) -> None:
    """Neither the stream nor what is answered rests on the host's time of day."""
    clock = JumpingClock()
    async with open_colleague(script=Script(limits=QUICK, clock=clock)) as colleague:
        for hours in (5, -5):
            clock.ahead = timedelta(hours=hours)
            m1 = await colleague.says("alice", "@hermes still there?")
            await colleague.until_state(m1, "answered")
            await cut(colleague)
            m2 = colleague.posts("alice", "@hermes and now?")
            await colleague.until_state(m2, "answered")
            await colleague.until(lambda: state(colleague) == ("live", None))


async def test_a_stream_that_is_lost_while_catching_up_is_opened_again(
    open_colleague: Open,
) -> None:
    """What was not read is read then."""
    async with open_colleague(script=SCRIPT) as colleague:
        colleague.faults.delays["NotificationService/ListNotifications"] = 0.3
        before = await cut(colleague)
        m1 = colleague.posts("alice", "@hermes one")
        await colleague.until(lambda: state(colleague)[0] == "catching_up")
        await cut(colleague)
        await live_again(colleague, before)
        await colleague.until_state(m1, "answered")

        assert lives(colleague) == before + 1
        assert len(colleague.answers()) == 1


async def test_a_room_is_heard_again_after_a_ban_was_lifted(open_colleague: Open) -> None:
    """The stream stays deaf to it, and nobody says so: a notification makes us look."""
    async with open_colleague(is_started=False) as colleague:
        sandbox = colleague.sandbox
        world, agent_id = sandbox.world, colleague.ids["hermes"]
        hall = sandbox.add_room("hall", universal=True)
        colleague.rooms["hall"] = hall.id
        await colleague.starts(SCRIPT)
        agent = world.accounts.require(agent_id)
        ban = Ban(moderator_id=colleague.ids["alice"], reason="", created_ns=0, expires_ns=None)
        Membership(world).ban(agent, hall, ban)
        m0 = await colleague.says("alice", "@hermes banned?", room="hall")
        await anyio.wait_all_tasks_blocked()
        Membership(world).unban(agent_id, hall)
        before = lives(colleague)
        m1 = await colleague.says("alice", "@hermes back?", room="hall")
        await live_again(colleague, before)
        await colleague.until_state(m1, "answered")
        m2 = await colleague.says("alice", "@hermes really?", room="hall")
        await colleague.until_state(m2, "answered")

        lost = "select reason from transitions where event = 'lose'"
        assert colleague.rows(lost) == [("deaf_to_room",)]
        assert ends(colleague, m0) in {None, ("answered", None)}


async def test_losses_in_a_row_are_no_storm(open_colleague: Open) -> None:
    """Each waits longer, by chance up to a half less."""
    limits = replace(QUICK, reconnect_first_s=0.05, reconnect_longest_s=10)
    async with open_colleague(script=Script(limits=limits)) as colleague:
        for _ in range(4):
            before = await cut(colleague)
            await live_again(colleague, before)

        at = "select julianday(at) * 86400 from transitions where event = '{}' order by seq"
        lost = [float(str(t)) for (t,) in colleague.rows(at.format("lose"))]
        tried = [float(str(t)) for (t,) in colleague.rows(at.format("retry"))]
        waits = [retry - loss for loss, retry in zip(lost, tried, strict=True)]
        for number, wait_s in enumerate(waits):
            assert wait_s >= 0.9 * 0.05 * 2**number / 2
