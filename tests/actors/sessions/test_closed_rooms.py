"""Where the agent may not post it says nothing, and the row says why."""

from hermes_chatto.actors.sandbox.server.membership import Membership
from hermes_chatto.actors.sandbox.server.permissions import Permission
from hermes_chatto.actors.sandbox.stage import Colleague, Open

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
