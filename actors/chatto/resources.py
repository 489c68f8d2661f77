"""The server's resources as the sessions know them: pure translation."""

from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from ..sessions.facts import Account, Message, Person, Room, RoomKind

__all__ = ["account_of", "is_deleted", "message_of", "moment_of", "person_of", "room_of"]

Proto: TypeAlias = Any
"""A generated message. Not imported from `pb`: translating needs none of its classes."""

DIRECT: Final = 2
"""`ROOM_KIND_DM`. Any other kind counts as a channel, where the agent speaks when asked."""


def account_of(user: Proto) -> Account:
    """Return the agent's own account."""
    return Account(user.id, user.login, user.display_name)


def person_of(user: Proto) -> Person:
    """Return a person."""
    return Person(user.id, user.login, user.display_name)


def room_of(entry: Proto) -> Room:
    """Return a room from a RoomWithViewerState."""
    room = entry.room
    is_direct = room.kind == DIRECT
    return Room(
        room_id=room.id,
        name="" if is_direct else room.name,
        kind=RoomKind.DIRECT if is_direct else RoomKind.CHANNEL,
        is_member=entry.viewer_state.is_member,
        is_archived=room.archived,
    )


def message_of(message: Proto) -> Message:
    """Return a message; a body that is absent is an empty one."""
    return Message(
        message_id=message.id,
        room_id=message.room_id,
        author_id=message.actor_id,
        body=message.body,
        created_at=moment_of(message.created_at),
        updated_at=moment_of(message.updated_at) if message.HasField("updated_at") else None,
        in_reply_to=message.in_reply_to or None,
        thread_root_id=message.thread_root_event_id or None,
        echo_of_id=message.echo_of_event_id or None,
        attachment_ids=tuple(attachment.id for attachment in message.attachments),
    )


def is_deleted(message: Proto) -> bool:
    """Tell whether a message is a tombstone; a body may be absent for other reasons."""
    deleted: bool = message.HasField("deleted_at")
    return deleted


def moment_of(timestamp: Proto) -> datetime:
    """Return a Timestamp in UTC, cut to microseconds."""
    moment: datetime = timestamp.ToDatetime(tzinfo=UTC)
    return moment
