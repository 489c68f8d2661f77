"""The table `connection`: one row per profile."""

from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_one, upsert

__all__ = ["ConnectionRow", "find", "save"]


class ConnectionRow(NamedTuple):
    """The connection of one profile."""

    scope: str
    server_url: str
    state: str
    reason: str | None
    attempt: int
    gap: int
    account_id: str | None
    server_version: str | None
    updated_at: str


def save(db: Database, row: ConnectionRow) -> None:
    """Give the row of the connection these values."""
    upsert(db, "connection", row, ("scope",))


def find(db: Database, scope: str) -> ConnectionRow | None:
    """Return the connection of a profile, or None before its first start."""
    return fetch_one(db, ConnectionRow, "connection", "scope = ?", (scope,))
