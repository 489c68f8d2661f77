"""Read markers: how far each account has read in each room.

Source: Chatto 0.4.20, cli/internal/core/room_unread.go.
"""

from .feed import Feed
from .frames import Event
from .inbox import Inbox, Level
from .rooms import Room
from .rows import Echo, Message, Post

NOTHING = (0, 0)  # the moment before everything


class ReadMarkers:
    """The markers of all accounts; they only move forward."""

    def __init__(self, feed: Feed, inbox: Inbox) -> None:
        """Start without any."""
        self._feed = feed
        self._inbox = inbox
        self._moments: dict[tuple[str, str], tuple[int, int]] = {}

    def start(self, user_id: str, room: Room) -> None:
        """Take all that stands in a room as read by whoever comes in now."""
        last = last_post(room)
        self._moments[user_id, room.id] = last.moment if last else NOTHING

    def of(self, user_id: str, room: Room) -> tuple[int, int]:
        """Return the moment up to which an account has read."""
        return self._moments.get((user_id, room.id), NOTHING)

    def advance(self, user_id: str, room: Room, post: Post) -> bool:
        """Move a marker to a post; tell whether it moved."""
        if post.moment <= self.of(user_id, room):
            return False
        self._moments[user_id, room.id] = post.moment
        return True

    def has_unread(self, user_id: str, room: Room) -> bool:
        """Tell whether something was posted in the room that the account has not read.

        The first look at a room without a marker sets it: nothing is unread then. A muted
        room never has anything unread.
        """
        if self._inbox.effective_level(user_id, room) is Level.MUTED:
            return False
        last = last_post(room)
        if last is None:
            return False
        if (user_id, room.id) not in self._moments:
            self._moments[user_id, room.id] = last.moment
        return self.of(user_id, room) < last.moment

    def announce(self, user_id: str, room: Room) -> None:
        """Tell an account's streams that it has read a room."""
        event = Event("room_marked_as_read", user_id, {"room_id": room.id})
        self._feed.tell_user(user_id, event)


def last_post(room: Room) -> Post | None:
    """Return the newest message or echo of the room's timeline, tombstones included."""
    return next((row for row in reversed(room.rows) if isinstance(row, Message | Echo)), None)
