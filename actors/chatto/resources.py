"""The server's resources as the sessions know them: pure translation."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from ..sessions.facts import Account, Message, Page, Person, Room, RoomKind, TimelineRow

__all__ = [
    "Proto",
    "account_of",
    "is_deleted",
    "message_of",
    "moment_of",
    "page_of",
    "person_of",
    "room_of",
    "thread_page_of",
    "timeline_row_of",
]

Proto: TypeAlias = Any
"""A generated message. Not imported from `pb`: translating needs none of its classes."""

MAY_JOIN: Final = "room.join"
"""Source: Chatto 0.4.20, cli/internal/connectapi/room_directory.go."""

DIRECT: Final = 2
"""`ROOM_KIND_DM`. Any other kind counts as a channel, where the agent speaks when asked."""

ANSWERING: Final = ("message.post-in-thread", "message.post")
"""What an answer needs in a channel, where all are in threads, and in a direct conversation."""


def account_of(user: Proto) -> Account:
    """Return the agent's own account."""
    return Account(user.id, user.login, user.display_name)


def person_of(user: Proto) -> Person:
    """Return a person."""
    return Person(user.id, user.login, user.display_name, is_program=_is_program(user))


def _is_program(user: Proto) -> bool:
    """Tell what the server says; 0.4.20 has no word for it, later ones have one of two.

    Source: Chatto after 0.4.20, proto/chatto/api/v1/users.proto: is_bot, then bot.
    """
    fields = user.DESCRIPTOR.fields_by_name
    if "bot" in fields:
        return bool(user.HasField("bot"))
    return bool("is_bot" in fields and user.is_bot)


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
        takes_answers=_takes_answers(entry, ANSWERING[is_direct]),
        may_join=any(
            grant.granted and grant.permission == MAY_JOIN
            for grant in entry.viewer_state.permissions
        ),
        has_unread=entry.viewer_state.has_unread,
    )


def _takes_answers(entry: Proto, permission: str) -> bool:
    """Tell whether a permission is granted; a server that does not say may refuse later."""
    grants = {each.permission: each.granted for each in entry.viewer_state.permissions}
    return bool(grants.get(permission, True))


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
        file_names=tuple(attachment.filename for attachment in message.attachments),
    )


def page_of(page: Proto, anchor: int) -> Page:
    """Return a stretch of a timeline; `anchor` is the place of the row it was read around."""
    rows = tuple(timeline_row_of(row) for row in page.events)
    return Page(
        rows=rows,
        anchor=anchor,
        has_older=page.has_older,
        has_newer=page.has_newer,
        reply_count=None,
        people={user_id: person_of(user) for user_id, user in page.includes.users.items()},
    )


def thread_page_of(page: Proto, anchor: int) -> Page:
    """Return a stretch of a thread; its first row is the root, which counts the replies."""
    root = page.events[0].message_posted.message
    return replace(page_of(page, anchor), reply_count=root.thread.reply_count)


def timeline_row_of(row: Proto) -> TimelineRow:
    """Return a row of a timeline."""
    message = row.message_posted.message if row.WhichOneof("event") == "message_posted" else None
    is_message = message is not None and not is_deleted(message)
    return TimelineRow(row.id, message_of(message) if is_message else None)


def is_deleted(message: Proto) -> bool:
    """Tell whether a message is a tombstone; a body may be absent for other reasons."""
    deleted: bool = message.HasField("deleted_at")
    return deleted


def moment_of(timestamp: Proto) -> datetime:
    """Return a Timestamp in UTC, cut to microseconds."""
    moment: datetime = timestamp.ToDatetime(tzinfo=UTC)
    return moment
