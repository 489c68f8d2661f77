"""What is known of the server: rooms, people, messages and where a conversation is held."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

__all__ = [
    "Account",
    "Message",
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
