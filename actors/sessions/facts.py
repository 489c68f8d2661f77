"""What is known of the server: rooms, people, messages and where a conversation is held."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

__all__ = [
    "Account",
    "EntryKind",
    "InboxEntry",
    "InboxPage",
    "Level",
    "Message",
    "NotificationLevels",
    "Page",
    "Person",
    "Place",
    "Room",
    "RoomKind",
    "TimelineRow",
]


class RoomKind(Enum):
    """Chatto's two kinds of rooms; the values stand in the store."""

    CHANNEL = "channel"
    DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class Account:
    """The agent's own account."""

    user_id: str
    login: str
    display_name: str


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody on the server."""

    user_id: str
    login: str
    display_name: str
    is_program: bool = False
    """Whether the server says that it is a program; 0.4.20 never does."""


@dataclass(frozen=True, slots=True)
class Room:
    """A room as the agent's account sees it."""

    room_id: str
    name: str
    """Empty for a direct conversation."""
    kind: RoomKind
    is_member: bool
    is_archived: bool
    takes_answers: bool = True
    """Whether the account may post where it answers: in threads, or in the conversation."""
    may_join: bool = False
    """Whether the account may go in; not while it is in."""
    has_unread: bool = False
    """Whether others posted in it, outside of threads, since the account last read it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation is held."""

    room_id: str
    kind: RoomKind
    thread_root_id: str | None
    """Root of the thread; None in a direct conversation."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as read from the server."""

    message_id: str
    room_id: str
    author_id: str
    body: str
    """Empty when it has only files."""
    created_at: datetime
    updated_at: datetime | None
    """None: never edited."""
    in_reply_to: str | None
    thread_root_id: str | None
    """None: a room message (it may root a thread itself)."""
    echo_of_id: str | None
    """The thread reply this row repeats in the room; None: no echo."""
    attachment_ids: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()
    """Names of the attachments, as their senders gave them."""


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One row of a room's or a thread's timeline."""

    row_id: str
    message: Message | None
    """None: a message that was deleted, or a row that is no message (somebody joined)."""


@dataclass(frozen=True, slots=True)
class Page:
    """A stretch of a timeline, oldest first, around one of its rows."""

    rows: tuple[TimelineRow, ...]
    """In a thread the root is the first row, whatever stretch follows it."""
    anchor: int
    """Where the row that was asked for stands."""
    has_older: bool
    """Whether rows come before the stretch (in a thread: before its first reply)."""
    has_newer: bool
    reply_count: int | None
    """Replies of the thread that are not deleted; None in a room."""
    people: Mapping[str, Person]
    """Who the rows are by, as far as the server names them."""


class EntryKind(Enum):
    """Why the server put a message into the account's inbox."""

    MENTION = "mention"
    """It mentions the account, by name, role or broadcast."""
    REPLY = "reply"
    """It points at a message of the account, or was posted in a thread the account follows."""
    DIRECT = "direct"
    ROOM_MESSAGE = "room_message"
    """The account is told of everything in that room."""


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """One entry of the list the server keeps for the account: a message it should look at."""

    entry_id: str
    kind: EntryKind
    room_id: str
    message_id: str
    """May be an echo's own ID."""
    thread_root_id: str | None
    author_id: str | None
    """None: the account of its author is gone."""
    made_at: datetime
    """The server's time of the entry, some milliseconds after the message's."""


@dataclass(frozen=True, slots=True)
class InboxPage:
    """A stretch of that list, newest first."""

    entries: tuple[InboxEntry, ...]
    """Those of a kind we know."""
    entry_ids: tuple[str, ...]
    """All of them, of whatever kind."""
    has_more: bool


class Level(Enum):
    """How much of a room the account is told by notifications; the values stand in the store."""

    NORMAL = "normal"
    MUTED = "muted"
    """Nothing said there is ever in the inbox."""
    ALL_MESSAGES = "all_messages"
    """Everything said there is."""


@dataclass(frozen=True, slots=True)
class NotificationLevels:
    """How much of which rooms the account is told, by its own settings."""

    own: Mapping[str, Level]
    """Levels that rooms have for themselves, by room ID."""
    everywhere: Level = Level.NORMAL
    """That of all other rooms, direct conversations too."""

    def of(self, room_id: str) -> Level:
        """Return the level that holds in a room.

        Source: Chatto 0.4.20, cli/internal/core/notification_level.go.
        """
        return self.own.get(room_id, self.everywhere)

    def after(self, room_id: str | None, level: Level | None) -> "NotificationLevels":
        """Return what holds after a change.

        Args:
            room_id: whose level it is; None: that of all rooms without one of their own.
            level: the new one; None: it has none any more.
        """
        if room_id is None:
            return replace(self, everywhere=level or Level.NORMAL)
        own = {id_: its for id_, its in self.own.items() if id_ != room_id}
        return replace(self, own=own if level is None else {**own, room_id: level})
