"""The table `room_sessions`: sessions that a fresh room message opened. No cursor of a room."""

from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_one, upsert

__all__ = ["RoomSessionRow", "find", "save"]


class RoomSessionRow(NamedTuple):
    """One session that a room message opened."""

    scope: str
    message_id: str
    room_id: str
    session_key: str
    state: str
    reason: str | None
    created_at: str
    updated_at: str


def save(db: Database, row: RoomSessionRow) -> None:
    """Give the row of a room session these values."""
    upsert(db, "room_sessions", row, ("scope", "message_id"))


def find(db: Database, scope: str, message_id: str) -> RoomSessionRow | None:
    """Return the room session a message opened, or None."""
    where = "scope = ? and message_id = ?"
    return fetch_one(db, RoomSessionRow, "room_sessions", where, (scope, message_id))
