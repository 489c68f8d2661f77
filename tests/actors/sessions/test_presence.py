"""The account is shown online while it is connected."""

from dataclasses import replace

from hermes_chatto.actors.sandbox.server.presence import Status
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open
from hermes_chatto.actors.sessions.services import Limits
from hermes_chatto.tests.actors.sessions.gaps import QUICK, cut, live_again

CALL = "MyAccountService/UpdatePresence"
OFTEN = Limits(presence_every_s=0.02)


def status(colleague: Colleague) -> Status:
    """Return what people see of the agent's account."""
    return colleague.sandbox.world.presence.of(colleague.ids["hermes"])


def steps_of_others(colleague: Colleague) -> int:
    """Count the steps of all machines but the connection's."""
    return len(colleague.rows("select 1 from transitions where machine <> 'connection'"))


async def test_the_account_is_online_and_said_to_be_again_and_again(open_colleague: Open) -> None:
    """The server forgets it within a minute; a call that fails changes nothing."""
    async with open_colleague(limits=OFTEN) as colleague:
        await colleague.until(lambda: status(colleague) is Status.ONLINE)
        colleague.faults.refused = {CALL: Code.UNAVAILABLE}
        before = colleague.sandbox.calls[CALL]
        await colleague.until(lambda: colleague.sandbox.calls[CALL] > before + 1)
        colleague.faults.refused = {}
        m1 = await colleague.says("alice", "@hermes hello")
        await colleague.until_state(m1, "answered")


async def test_it_is_shown_again_with_each_connection_and_not_after_the_stop(
    open_colleague: Open,
) -> None:
    """Handed S36: no row grows with it, either."""
    rarely = replace(QUICK, presence_every_s=3_600.0)
    async with open_colleague(limits=rarely) as colleague:
        await colleague.until(lambda: colleague.sandbox.calls[CALL] == 1)
        steps = steps_of_others(colleague)
        before = await cut(colleague)
        await live_again(colleague, before)
        await colleague.until(lambda: colleague.sandbox.calls[CALL] == 2)
        await colleague.stops()

        assert colleague.sandbox.calls[CALL] == 2
        assert steps_of_others(colleague) == steps


async def test_everybody_who_is_here_includes_it_then(open_colleague: Open) -> None:
    """Where the operator lets `@here` count."""
    policy = replace(POLICY, broadcast_mentions=True)
    async with open_colleague(policy=policy, limits=OFTEN) as colleague:
        await colleague.until(lambda: status(colleague) is Status.ONLINE)
        m1 = await colleague.says("alice", "@here hello")
        await colleague.until_state(m1, "answered")

        assert colleague.rows("select cause from turns") == [("broadcast",)]


async def test_switched_off_nobody_is_told(open_colleague: Open) -> None:
    """No call at all."""
    async with open_colleague(limits=Limits(presence_every_s=0.0)) as colleague:
        m1 = await colleague.says("alice", "@hermes hello")
        await colleague.until_state(m1, "answered")

        assert status(colleague) is Status.OFFLINE
        assert colleague.sandbox.calls[CALL] == 0
