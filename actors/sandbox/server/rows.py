"""Rows: what happened in a room and is visible there, in the order of the server's stream.

One sequence numbers the rows of all rooms and threads; it alone gives their order.
Source: Chatto 0.4.20, cli/internal/core/event_facts.go,
cli/internal/core/room_timeline_projection.go.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from .clock import Clock
from .ids import IdKind, IdSource
from .rooms import Room


class RowKind(StrEnum):
    """What a row tells, named as on the wire (timeline rows and realtime events alike)."""

    MESSAGE_POSTED = "message_posted"
    ROOM_CREATED = "room_created"
    ROOM_UPDATED = "room_updated"
    ROOM_ARCHIVED = "room_archived"
    ROOM_UNARCHIVED = "room_unarchived"
    USER_JOINED_ROOM = "user_joined_room"
    USER_LEFT_ROOM = "user_left_room"


@dataclass(slots=True, eq=False, kw_only=True)
class Row:
    """One fact in a room."""

    sequence: int
    id: str
    kind: RowKind
    room: Room
    actor_id: str
    """Who did it; for joins and leaves whom it is about, even if a manager did it."""
    created_ns: int

    @property
    def moment(self) -> tuple[int, int]:
        """Where the row stands for read markers: by time, then by sequence.

        Not by sequence alone: an echo carries the time of the reply it repeats.
        """
        return self.created_ns, self.sequence


@dataclass(slots=True, eq=False, kw_only=True)
class Message(Row):
    """A message of a room or a reply in a thread."""

    body: str
    in_reply_to: str = ""
    """The message it points at; empty for none."""
    thread_root_id: str = ""
    """The thread it is a reply in; empty for a message of the room."""
    asset_ids: list[str] = field(default_factory=list)
    mentioned_ids: frozenset[str] = frozenset()
    """Accounts it meant when it was posted; edits do not change them."""
    updated_ns: int | None = None
    deleted_ns: int | None = None
    """When it was deleted; its row stays as a tombstone."""
    echoes: list["Echo"] = field(default_factory=list)
    """Its echoes in the room, hidden ones too; at most the last one is visible."""

    @property
    def is_deleted(self) -> bool:
        """Whether only a tombstone is left."""
        return self.deleted_ns is not None

    @property
    def visible_echo(self) -> "Echo | None":
        """Return the echo people see, None if there is none."""
        return self.echoes[-1] if self.echoes and not self.echoes[-1].is_hidden else None


@dataclass(slots=True, eq=False, kw_only=True)
class Echo(Row):
    """A thread reply shown in the room as well, under an ID of its own.

    It has no content: body, files, edits, reactions and deletion are those of its original.
    """

    original: Message
    is_hidden: bool = False


Post = Message | Echo
"""A row that shows a message."""


class Log:
    """All rows by ID, and the counter that orders them."""

    def __init__(self, clock: Clock, ids: IdSource) -> None:
        """Start an empty log."""
        self._clock = clock
        self._ids = ids
        self._rows: dict[str, Row] = {}
        self._sequence = 0

    def next_sequence(self) -> int:
        """Count one more event of the stream."""
        self._sequence += 1
        return self._sequence

    def record(self, room: Room, kind: RowKind, actor_id: str) -> Row:
        """Append a row that is no message."""
        row = Row(
            sequence=self.next_sequence(),
            id=self._ids.new(IdKind.EVENT),
            kind=kind,
            room=room,
            actor_id=actor_id,
            created_ns=self._clock.now_ns(),
        )
        room.rows.append(row)
        self._rows[row.id] = row
        return row

    def keep(self, post: Post) -> None:
        """Make a message or echo findable; it is the caller who puts it into a timeline."""
        self._rows[post.id] = post

    def any(self, row_id: str) -> Row | None:
        """Look a row up in all rooms, hidden echoes included."""
        return self._rows.get(row_id)

    def find(self, room: Room, row_id: str) -> Row | None:
        """Look a visible row of this room up; None also for one of another room."""
        row = self._rows.get(row_id)
        if row is None or row.room is not room or (isinstance(row, Echo) and row.is_hidden):
            return None
        return row

    def messages_by(self, author_id: str) -> list[Message]:
        """Return everything an account wrote; reads all rows, so only for rare occasions."""
        return [
            row
            for row in self._rows.values()
            if isinstance(row, Message) and row.actor_id == author_id
        ]
