"""What scenarios with a gap in the stream have in common."""

from hermes_chatto.actors.sandbox.stage import Colleague, Script
from hermes_chatto.actors.sessions.services import Limits

QUICK = Limits(reconnect_first_s=0.05, reconnect_longest_s=0.2, connect_wait_s=5)
SCRIPT = Script(limits=QUICK)
READ = "MessageService/BatchGetMessages"
ROOMS = "RoomDirectoryService/ListRooms"
INBOX = "NotificationService/ListNotifications"
PAGE = "RoomService/GetRoomEvents"
FOLLOW = "ThreadService/FollowThread"


def lives(colleague: Colleague) -> int:
    """Return how often the connection has become live."""
    sql = "select count(*) from transitions where machine = 'connection' and event = 'go_live'"
    return int(str(colleague.rows(sql)[0][0]))


async def cut(colleague: Colleague) -> int:
    """End the agent's stream, and wait until the server has forgotten it.

    Returns:
        How often the connection had been live, for `live_again`.
    """
    before = lives(colleague)
    colleague.cuts_stream()
    feed, agent_id = colleague.sandbox.world.feed, colleague.ids["hermes"]
    await colleague.until(lambda: not feed.of_user(agent_id))
    return before


async def live_again(colleague: Colleague, before: int) -> None:
    """Wait until the stream is open again, and what it missed is decided."""
    await colleague.until(lambda: lives(colleague) > before)


def ends(colleague: Colleague, message_id: str) -> tuple[object, ...] | None:
    """Return state and reason of a turn; None: it has no row."""
    found = colleague.rows("select state, reason from turns where message_id = ?", message_id)
    return found[0] if found else None


def asked(colleague: Colleague) -> list[str]:
    """Return what the agent was asked since the newest start, in order."""
    return [order.text for order in colleague.gateway.orders]


def reasons(colleague: Colleague) -> list[str]:
    """Return what came of the catch-ups that are worth a step."""
    found = colleague.rows("select reason from transitions where event = 'catch_up' order by seq")
    return [str(reason) for (reason,) in found]
