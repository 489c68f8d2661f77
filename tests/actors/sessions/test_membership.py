"""Being added to a room, removed or banned is a step in the table, with how it came about."""

from hermes_chatto.actors.sandbox.server.membership import Membership
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.server.rooms import Ban
from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.services import Limits

STEPS = """
    select from_state || ' -> ' || to_state, reason from transitions
    where machine = 'membership' and key = ? and from_state <> to_state order by seq
"""


def steps(colleague: Colleague, room_id: str) -> list[tuple[object, ...]]:
    """Return how the account has come and gone."""
    return colleague.rows(STEPS, room_id)


def doors(colleague: Colleague) -> Membership:
    """Return what moves people in the server's world."""
    return Membership(colleague.sandbox.world)


def ban(colleague: Colleague, room_name: str) -> None:
    """Throw the agent out of a room for good."""
    world = colleague.sandbox.world
    by_bob = Ban(moderator_id=colleague.ids["bob"], reason="", created_ns=0, expires_ns=None)
    room = world.rooms.require(colleague.rooms[room_name])
    doors(colleague).ban(world.accounts.require(colleague.ids["hermes"]), room, by_bob)


async def test_coming_and_going_is_recorded(open_colleague: Open) -> None:
    """By whom the account was moved the server does not say; that it may not return, it does."""
    async with open_colleague() as colleague:
        world, ops = colleague.sandbox.world, colleague.sandbox.add_room("ops")
        hermes = world.accounts.require(colleague.ids["hermes"])
        doors(colleague).join(hermes, ops)
        await colleague.until(lambda: len(steps(colleague, ops.id)) == 1)
        doors(colleague).leave(hermes, ops)
        await colleague.until(lambda: len(steps(colleague, ops.id)) == 2)
        ban(colleague, "R2")
        r2 = colleague.rooms["R2"]
        await colleague.until(lambda: len(steps(colleague, r2)) == 2)

        assert steps(colleague, ops.id) == [
            ("outside -> inside", "joined"),
            ("inside -> outside", "left"),
        ]
        assert steps(colleague, r2) == [
            ("outside -> inside", "found"),
            ("inside -> shut_out", "left"),
        ]
        sql = "select room_name, state from memberships where room_name <> 'announcements'"
        assert sorted(colleague.rows(sql), key=str) == [
            ("R1", "inside"),
            ("R2", "shut_out"),
            ("ops", "outside"),
        ]


async def test_a_command_is_named_as_the_cause(open_colleague: Open) -> None:
    """Whether the server's own word of it comes first or last; and not of what comes later."""
    async with open_colleague() as colleague:
        world, d1 = colleague.sandbox.world, await colleague.opens_dm("alice")
        ops = colleague.sandbox.add_room("ops")
        hermes = world.accounts.require(colleague.ids["hermes"])
        m1 = await colleague.says("alice", "/join ops", room=d1)
        await colleague.until_state(m1, "bypassed")
        await colleague.until(lambda: len(steps(colleague, ops.id)) == 1)
        m2 = await colleague.says("alice", "/leave ops", room=d1)
        await colleague.until_state(m2, "bypassed")
        await colleague.until(lambda: len(steps(colleague, ops.id)) == 2)
        doors(colleague).join(hermes, ops)
        await colleague.until(lambda: len(steps(colleague, ops.id)) == 3)

        asked_by = f"asked_by:{colleague.ids['alice']}"
        assert [reason for _, reason in steps(colleague, ops.id)] == [asked_by] * 2 + ["joined"]


async def test_what_happened_meanwhile_is_found(open_colleague: Open) -> None:
    """A start compares; what is as it was leaves no new row."""
    async with open_colleague() as colleague:
        await colleague.until(lambda: len(steps(colleague, colleague.rooms["R1"])) == 1)
        await colleague.stops()
        ban(colleague, "R2")
        await colleague.starts()
        r2 = colleague.rooms["R2"]
        await colleague.until(lambda: len(steps(colleague, r2)) == 2)

        assert steps(colleague, r2)[-1] == ("inside -> shut_out", "found")
        assert len(steps(colleague, colleague.rooms["R1"])) == 1


async def test_a_look_that_fails_is_made_at_the_next_connection(open_colleague: Open) -> None:
    """Nothing is lost but the name of what brought the account in."""
    looked = "RoomDirectoryService/GetRoom"
    async with open_colleague(limits=Limits(reconnect_first_s=0.1)) as colleague:
        world, ops = colleague.sandbox.world, colleague.sandbox.add_room("ops")
        colleague.faults.refused[looked] = Code.UNAVAILABLE
        before = colleague.sandbox.calls[looked]
        doors(colleague).join(world.accounts.require(colleague.ids["hermes"]), ops)
        await colleague.until(lambda: colleague.sandbox.calls[looked] > before)
        assert steps(colleague, ops.id) == []

        colleague.faults.refused.clear()
        colleague.cuts_stream()
        await colleague.until(lambda: bool(steps(colleague, ops.id)))

        assert steps(colleague, ops.id) == [("outside -> inside", "found")]
