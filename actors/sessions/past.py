"""What the sessions need of a server to find out what was said while nobody listened."""

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from typing import Protocol

from .facts import InboxPage, Message, NotificationLevels, Place
from .stream_events import StreamEvent

__all__ = ["PastReader", "RealtimeSource"]


class RealtimeSource(Protocol):
    """Where events come from: the server, or something that plays one."""

    def stream(self, resume_after: str | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Open the realtime stream; the first item is `StreamOpened`. Never ends quietly.

        Args:
            resume_after: cursor of a stream before; None: from now on. A source that cannot go
                on there, or has no cursors, begins now and says so.

        Raises:
            StreamLostError: it could not be opened, or ended.
            UnusableConnectionError: no retry helps.
        """
        ...


class PastReader(Protocol):
    """The part of the port `ChatServer` that a catch-up rests on. Errors are those of `errors`."""

    async def newest_messages(
        self, place: Place, *, since: datetime, most: int
    ) -> Sequence[Message]:
        """Read what was posted at a place since a moment, oldest first, without deleted ones.

        Args:
            place: the thread; without a root the room itself, or the direct conversation.
            since: by the server's clock; some older ones may come along.
            most: about so many of the newest; where more were posted the older ones are left
                out.

        Raises:
            ChatError: `RequestRefusedError` when the account is not in the room.
        """
        ...

    async def inbox_page(self, offset: int) -> InboxPage:
        """Read a hundred entries of the account's inbox, newest first; changes nothing there.

        One call at a time: the server builds the whole list for each.
        Source: Chatto 0.4.20, cli/internal/core/notifications.go.

        Args:
            offset: how many of the newest entries are left out. Entries made meanwhile shift
                the others.

        Raises:
            ChatError: see its tree.
        """
        ...

    def notification_levels(self) -> NotificationLevels:
        """Return of which rooms the account wants to be told how much.

        As of the last time it was identified; nothing special before.
        """
        ...

    async def follow_thread(self, room_id: str, thread_root_id: str) -> None:
        """Let the account follow a thread, so that replies there come into its inbox.

        It may follow it already. Raises: ChatError.
        """
        ...

    def server_time(self) -> datetime | None:
        """Return the time by the server's clock, up to a second early; None before an answer.

        It is that of the newest answer, carried on by a clock that never jumps.
        """
        ...
