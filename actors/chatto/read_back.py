"""Finding out whether a post arrived whose answer did not."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ..sessions.ports import Post
from .resources import Proto, is_deleted, moment_of

__all__ = ["FIRST_PAGE", "LATER_PAGE", "PAGES", "Wanted"]

FIRST_PAGE: Final = 50  # rows: what was posted since the attempt is nearly always among them
LATER_PAGE: Final = 500  # rows: the most the server gives
PAGES: Final = 4  # reads of one search; nearly always it is one


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a post must look like to be the one."""

    author_id: str
    post: Post
    not_before: datetime
    """The earliest time the server can have given it."""
    exclude: Collection[str] = ()
    """IDs of own messages that are known to be something else."""

    def oldest_in(self, rows: Iterable[Proto]) -> str | None:
        """Return the ID of the oldest row that fits; None: none does.

        A later one with the same words may be that of somebody who tried later.

        Args:
            rows: RoomTimelineEvents, oldest first.
        """
        for row in rows:
            if row.WhichOneof("event") == "message_posted" and self._fits(row):
                return str(row.id)
        return None

    def may_precede(self, rows: Iterable[Proto]) -> bool:
        """Tell whether the post may stand before these rows, by their times.

        The root that leads the first page of a thread says nothing about that, and neither
        does an echo: it has the time of the message it repeats.
        """
        return all(
            moment_of(row.created_at) >= self.not_before
            for row in rows
            if row.id != self.post.thread_root_id
            and not row.message_posted.message.echo_of_event_id
        )

    def _fits(self, row: Proto) -> bool:
        message = row.message_posted.message
        return (
            message.actor_id == self.author_id
            and message.body == self.post.body
            and message.in_reply_to == (self.post.in_reply_to or "")
            and not message.echo_of_event_id
            and not is_deleted(message)
            and row.id not in self.exclude
            and row.id != self.post.thread_root_id
            and moment_of(message.created_at) >= self.not_before
        )
