"""Realtime events as the sessions know them: pure translation of protocol 1."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from ..sessions.facts import Level, Person
from ..sessions.stream_events import (
    LevelChanged,
    Membership,
    Mentioned,
    MessageEdited,
    MessagePosted,
    MessageRetracted,
    PersonChanged,
    PersonDeleted,
    RoomChanged,
    StreamEvent,
)

__all__ = ["event_of", "level_of"]

Proto: TypeAlias = Any
"""A generated message. Not imported from `pb`: translating needs none of its classes."""


LEVELS: Final[Mapping[int, Level]] = {2: Level.MUTED, 3: Level.NORMAL, 4: Level.ALL_MESSAGES}
"""Source: Chatto 0.4.20, proto/chatto/api/v1/notification_preferences.proto."""


def level_of(number: int) -> Level | None:
    """Translate a level; None: the room has none of its own."""
    return LEVELS.get(number)


def event_of(envelope: Proto) -> StreamEvent | None:
    """Translate a RealtimeEventEnvelope; None: nobody needs it.

    What the account did itself is translated like anything else. Most of what comes is
    presence, typing and read markers; that costs one look into a table.
    """
    kind = envelope.WhichOneof("event")
    translate = TRANSLATIONS.get(kind)
    return None if translate is None else translate(envelope, getattr(envelope, kind))


def _posted(envelope: Proto, body: Proto) -> StreamEvent:
    return MessagePosted(
        room_id=body.room_id,
        message_id=body.message_event_id,
        thread_root_id=body.thread_root_event_id or None,
        author_id=envelope.actor_id,
        posted_at=_moment(envelope.created_at),
    )


def _edited(envelope: Proto, body: Proto) -> StreamEvent:
    return MessageEdited(
        room_id=body.room_id,
        message_id=body.message_event_id,
        editor_id=envelope.actor_id,
        edited_at=_moment(envelope.created_at),
    )


def _retracted(_: Proto, body: Proto) -> StreamEvent:
    return MessageRetracted(body.room_id, body.message_event_id)


def _notified(envelope: Proto, body: Proto) -> StreamEvent | None:
    """Tell a mention from a reply, which points at a message, and from a direct message.

    A room set to notify of everything looks the same; the sessions know the room's level.
    Source: Chatto 0.4.20, cli/internal/core/mentions.go.
    """
    if not body.room_id or not body.event_id or body.HasField("in_reply_to_id"):
        return None
    return Mentioned(body.room_id, body.event_id, envelope.actor_id)


def _room_changed(_: Proto, body: Proto) -> StreamEvent:
    return RoomChanged(body.room_id)


def _joined(envelope: Proto, body: Proto) -> StreamEvent:
    return RoomChanged(body.room_id, envelope.actor_id, Membership.JOINED)


def _left(envelope: Proto, body: Proto) -> StreamEvent:
    return RoomChanged(body.room_id, envelope.actor_id, Membership.LEFT)


def _level_changed(_: Proto, body: Proto) -> StreamEvent:
    return LevelChanged(body.room_id or None, level_of(body.level))


def _profile_changed(_: Proto, body: Proto) -> StreamEvent:
    return PersonChanged(Person(body.user_id, body.login, body.display_name))


def _person_deleted(_: Proto, body: Proto) -> StreamEvent:
    return PersonDeleted(body.user_id)


def _moment(timestamp: Proto) -> datetime:
    moment: datetime = timestamp.ToDatetime(tzinfo=UTC)
    return moment


TRANSLATIONS: Final[Mapping[str | None, Callable[[Proto, Proto], StreamEvent | None]]] = {
    "message_posted": _posted,
    "message_edited": _edited,
    "message_retracted": _retracted,
    "notification_created": _notified,
    "notification_level_changed": _level_changed,
    "room_updated": _room_changed,
    "room_deleted": _room_changed,
    "room_archived": _room_changed,
    "room_unarchived": _room_changed,
    "room_universal_changed": _room_changed,
    "user_joined_room": _joined,
    "user_left_room": _left,
    "user_profile_updated": _profile_changed,
    "server_member_deleted": _person_deleted,
}
"""By kind. Source: Chatto 0.4.20, proto/chatto/realtime/v1/realtime.proto."""
