"""The account's own inbox: what the server keeps for it to look at, and how much it keeps.

Only ever read: a dismissed entry slows every later list for good, and the bell belongs to
whoever looks after the account.
Source: Chatto 0.4.20, cli/internal/core/notifications.go.
"""

from collections.abc import Mapping
from typing import Final

from ..sessions.facts import EntryKind, InboxEntry, InboxPage, Level, NotificationLevels
from .frames import level_of
from .resources import Proto, moment_of
from .session import Session

__all__ = ["Inbox", "levels_of"]

PAGE: Final = 100  # entries; the server gives no more at once

KINDS: Final[Mapping[str, EntryKind]] = {
    "mention": EntryKind.MENTION,
    "reply": EntryKind.REPLY,
    "direct_message": EntryKind.DIRECT,
    "room_message": EntryKind.ROOM_MESSAGE,
}
"""By the name of the entry's kind on the wire."""


class Inbox:
    """The inbox of a session's account. Every call raises ChatError."""

    def __init__(self, session: Session) -> None:
        """Read with a session's account."""
        self._session = session

    async def page(self, offset: int) -> InboxPage:
        """Read a hundred entries, newest first, without the `offset` newest."""
        wire = await self._session.wire()
        page = {"limit": PAGE, "offset": offset}
        request = wire.pb.notifications.ListNotificationsRequest(page=page)
        answer = await self._session.read(wire.services.notifications.list_notifications, request)
        return InboxPage(
            entries=tuple(
                _entry_of(item)
                for item in answer.notifications
                if item.WhichOneof("kind") in KINDS
            ),
            entry_ids=tuple(item.id for item in answer.notifications),
            has_more=answer.page.has_more,
        )

    async def follow(self, room_id: str, thread_root_id: str) -> None:
        """Let the account follow a thread; it may do so already."""
        wire = await self._session.wire()
        request = wire.pb.threads.FollowThreadRequest(
            room_id=room_id, thread_root_event_id=thread_root_id
        )
        await self._session.read(wire.services.threads.follow_thread, request)


def levels_of(viewer: Proto) -> NotificationLevels:
    """Return the account's notification levels from a GetViewerResponse."""
    own = {
        each.room_id: level
        for each in viewer.room_notification_preferences
        if (level := level_of(each.preference.level)) is not None
    }
    everywhere = level_of(viewer.server_notification_preference.effective_level)
    return NotificationLevels(own, everywhere or Level.NORMAL)


def _entry_of(item: Proto) -> InboxEntry:
    kind = item.WhichOneof("kind")
    about = getattr(item, kind)
    has_thread = kind in {"mention", "reply"}
    return InboxEntry(
        entry_id=item.id,
        kind=KINDS[kind],
        room_id=about.room.id,
        message_id=about.event_id,
        thread_root_id=(about.thread_root_event_id or None) if has_thread else None,
        author_id=item.actor.id if item.HasField("actor") else None,
        made_at=moment_of(item.created_at),
    )
