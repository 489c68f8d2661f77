"""A stranger's direct message gets what the operator decided: silence, or the gateway's word."""

import pytest

from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.policy import Policy
from hermes_chatto.actors.sessions.ports import TurnOrder

WELCOMING = Policy(allowed_user_entries=("alice", "bob"), strangers_reach_gateway=True)
DECLINED = "I do not know you."


async def decline(order: TurnOrder) -> str:
    """Answer as the gateway does before it asks the agent."""
    return DECLINED if "rose" in order.text else "ok"


async def everything_decided(colleague: Colleague, room: str = "R1") -> None:
    """Wait until whatever was posted in a room before is decided about."""
    last = await colleague.says("alice", "@hermes is that all?", room=room)
    await colleague.until_state(last, "answered")


def strangers_rows(colleague: Colleague) -> list[tuple[object, ...]]:
    """Return what is kept of messages of somebody who may not talk to the agent."""
    carol = colleague.ids["carol"]
    return colleague.rows(
        "select state, cause, command, body from turns where author_id = ?", carol
    )


async def test_a_strangers_direct_message_is_the_gateways_to_answer(open_colleague: Open) -> None:
    """It declines or offers a code; the row says that it passed, without its words."""
    async with open_colleague(policy=WELCOMING, agent=decline) as colleague:
        room = await colleague.opens_dm("carol")
        await colleague.says("carol", "rose: let me in", room=room)
        await colleague.until(lambda: bool(colleague.answers()))

        (posted,) = colleague.answers()
        assert (posted.room_id, posted.body) == (room, DECLINED)
        assert [order.text for order in colleague.gateway.orders] == ["rose: let me in"]
        assert strangers_rows(colleague) == [("bypassed", "stranger", None, None)]


async def test_a_strangers_command_is_no_command(open_colleague: Open) -> None:
    """Nothing is ended by it, and no name of it is kept."""
    async with open_colleague(policy=WELCOMING, agent=decline) as colleague:
        room = await colleague.opens_dm("carol")
        await colleague.says("carol", "/stop rose", room=room)
        await colleague.until(lambda: bool(colleague.answers()))

        assert strangers_rows(colleague) == [("bypassed", "stranger", None, None)]


@pytest.mark.parametrize("others", [(), ("alice",)], ids=["channel", "group"])
async def test_a_stranger_among_others_gets_silence(
    others: tuple[str, ...], open_colleague: Open
) -> None:
    """A code posted where others read it is anybody's."""
    async with open_colleague(policy=WELCOMING) as colleague:
        room = await colleague.opens_dm("carol", *others) if others else "R1"
        await colleague.says("carol", "@hermes rose: let me in", room=room)
        await everything_decided(colleague, room)

        assert strangers_rows(colleague) == []


async def test_without_the_setting_a_stranger_gets_silence(open_colleague: Open) -> None:
    """No row, and no word to the gateway: it is passed over before anything of it is read."""
    async with open_colleague() as colleague:
        room = await colleague.opens_dm("carol")
        await colleague.says("carol", "rose: let me in", room=room)
        await everything_decided(colleague)

        assert strangers_rows(colleague) == []
        assert [order.author.login for order in colleague.gateway.orders] == ["alice"]
