"""What became of somebody's newest message at a place, in the words an operator reads."""

from typing import NamedTuple

from sqlite_utils import Database

__all__ = ["Asked", "LastMessage", "last_of_author"]


class LastMessage(NamedTuple):
    """A line of the view `turn_overview`, as far as it is told to whoever wrote the message."""

    message_id: str
    posted_at: str
    state: str
    reason: str | None
    reason_meaning: str | None


class Asked(NamedTuple):
    """Whose newest message is looked for, and where."""

    author_id: str
    """Nobody else's is looked at."""
    room_id: str
    thread_root_id: str | None
    """None: anywhere in the room."""
    message_id: str
    """The message that asks; it is not meant."""


def last_of_author(db: Database, scope: str, asked: Asked) -> LastMessage | None:
    """Return an author's newest message at a place that was meant for the agent; None: none was.

    What only went past the lane (commands) does not count.
    """
    author_id, room_id, root_id, but = asked
    columns = ", ".join(f"o.{name}" for name in LastMessage._fields)
    found = db.conn.execute(
        f"select {columns} from turn_overview as o "  # noqa: S608 - names of our own
        "join turns as t on t.message_id = o.message_id and t.scope = ? "
        "where t.author_id = ? and t.room_id = ? and t.message_id <> ? "
        "and (? is null or t.thread_root_id = ?) and t.state <> 'bypassed' "
        "order by t.lane_order desc limit 1",
        (scope, author_id, room_id, but, root_id, root_id),
    ).fetchone()
    return LastMessage._make(found) if found else None
