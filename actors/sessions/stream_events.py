"""What the realtime stream says, in our words: IDs and names, never message text."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TypeAlias

from .facts import Level, Person

__all__ = [
    "LevelChanged",
    "Membership",
    "Mentioned",
    "MessageEdited",
    "MessagePosted",
    "MessageRetracted",
    "PersonChanged",
    "PersonDeleted",
    "Reached",
    "RoomChanged",
    "StreamEvent",
    "StreamOpened",
    "Target",
    "TargetKind",
]


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """From here on everything is delivered; what was before is not, unless it is resumed."""

    server_version: str
    is_resumed: bool = False
    """Whether it goes on after the cursor that was asked for, so that nothing was missed."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Where the stream goes on later, once everything before this was applied."""

    cursor: str | None
    """Opaque; None: this place cannot be gone on from, an earlier one still can."""


class TargetKind(Enum):
    """Whom a mention is of."""

    PERSON = "person"
    ROLE = "role"
    HERE = "here"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Target:
    """A mention as the server resolved it when the message was posted."""

    kind: TargetKind
    name: str
    """User ID, or name of the role; empty where everybody is called."""
    includes_account: bool
    """Whether the agent's account is among them."""


@dataclass(frozen=True, slots=True)
class MessagePosted:
    """A message, or an echo, was posted; its words must be read."""

    room_id: str
    message_id: str
    thread_root_id: str | None
    author_id: str
    posted_at: datetime
    targets: tuple[Target, ...] | None = None
    """Whom it mentions; None: the server does not say, its text has to."""
    is_replayed: bool = False
    """Whether it was posted before the stream was open."""


@dataclass(frozen=True, slots=True)
class Mentioned:
    """The server's verdict: this message mentions the account by name, role or broadcast."""

    room_id: str
    message_id: str
    author_id: str


@dataclass(frozen=True, slots=True)
class MessageEdited:
    """A message was touched: words, files, preview or echo; `editor_id` may be a moderator."""

    room_id: str
    message_id: str
    editor_id: str
    edited_at: datetime
    """The server's time of the event, no earlier than that of the edit itself.
    Source: Chatto 0.4.20, cli/internal/core/messages.go stamps the body, then makes the event."""


@dataclass(frozen=True, slots=True)
class MessageRetracted:
    """A message was deleted, by its author or a moderator."""

    room_id: str
    message_id: str


class Membership(Enum):
    """What happened to somebody's place in a room."""

    JOINED = "joined"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class RoomChanged:
    """A room must be looked at again before it is trusted: membership, name, archive."""

    room_id: str
    user_id: str | None = None
    """Who joined or left; None: the room itself changed."""
    membership: Membership | None = None


@dataclass(frozen=True, slots=True)
class LevelChanged:
    """The account is told more or less of a room from now on, by its own settings."""

    room_id: str | None
    """None: of all rooms without a level of their own."""
    level: Level | None
    """None: it has none of its own any more."""


@dataclass(frozen=True, slots=True)
class PersonChanged:
    """Somebody's login or display name is now this."""

    person: Person


@dataclass(frozen=True, slots=True)
class PersonDeleted:
    """An account was deleted; all its messages are gone with it, without events of their own."""

    user_id: str


StreamEvent: TypeAlias = (
    StreamOpened
    | MessagePosted
    | Mentioned
    | MessageEdited
    | MessageRetracted
    | RoomChanged
    | LevelChanged
    | PersonChanged
    | PersonDeleted
    | Reached
)
