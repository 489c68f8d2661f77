"""The table `threads`: what each session holds of its thread or direct conversation."""

from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_all, fetch_one, upsert

__all__ = ["ThreadRow", "find", "follow_later", "followed", "load_all", "save", "to_follow"]


class ThreadRow(NamedTuple):
    """One thread, or one direct conversation, that has a session."""

    scope: str
    session_key: str
    room_id: str
    room_kind: str
    """`channel` or `direct`."""
    thread_root_id: str | None
    """None in a direct conversation."""
    state: str
    frontier_id: str | None
    """Message up to which the session holds it; None: not known, or nothing yet."""
    frontier_at: str | None
    """The server's time of that message; of `blind_until_id` while a blind pass is under way."""
    ahead_ids: str
    """Messages behind the frontier that were handed over ahead of it, as a JSON list."""
    owed_ids: str
    """Questions before the frontier that were told to nobody because they waited, a JSON list."""
    blind_until_id: str | None
    """How far the blind pass got; None: not begun, or over."""
    session_token: str
    """Names the conversation; also kept with the session, to tell when that is replaced."""
    token_kept_at: str | None
    """When it was stored with the session; None: not yet."""
    gap: int
    """The newest gap in the stream this row has taken account of."""
    created_at: str
    updated_at: str


def save(db: Database, row: ThreadRow) -> None:
    """Give the row of a thread these values."""
    upsert(db, "threads", row, ("scope", "session_key"))


def find(db: Database, scope: str, session_key: str) -> ThreadRow | None:
    """Return the thread of a session key, or None."""
    where = "scope = ? and session_key = ?"
    return fetch_one(db, ThreadRow, "threads", where, (scope, session_key))


def load_all(db: Database, scope: str) -> list[ThreadRow]:
    """Return all threads."""
    return fetch_all(db, ThreadRow, "threads", "scope = ?", (scope,))


def follow_later(db: Database, scope: str, session_key: str, at: str) -> None:
    """Note that the account is to follow a thread, until it does."""
    sql = "update threads set to_follow_since = ? where scope = ? and session_key = ?"
    db.conn.execute(sql, (at, scope, session_key))


def followed(db: Database, scope: str, session_key: str) -> None:
    """Note that the account follows a thread."""
    sql = "update threads set to_follow_since = null where scope = ? and session_key = ?"
    db.conn.execute(sql, (scope, session_key))


def to_follow(db: Database, scope: str) -> list[ThreadRow]:
    """Return the threads that the account is still to follow."""
    where = "scope = ? and to_follow_since is not null"
    return fetch_all(db, ThreadRow, "threads", where, (scope,))
