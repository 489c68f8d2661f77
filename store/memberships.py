"""The table `memberships`: how the account stands in each room it was ever in."""

from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_all, fetch_one, upsert

__all__ = ["MembershipRow", "find", "of_scope", "save"]


class MembershipRow(NamedTuple):
    """The account in one room."""

    scope: str
    room_id: str
    room_name: str
    """As it was called when this was last written; rooms are told apart by their ID."""
    state: str
    reason: str | None
    updated_at: str


def save(db: Database, row: MembershipRow) -> None:
    """Give the row of a room these values."""
    upsert(db, "memberships", row, ("scope", "room_id"))


def find(db: Database, scope: str, room_id: str) -> MembershipRow | None:
    """Return how the account stands in a room; None: it never was in it."""
    where = "scope = ? and room_id = ?"
    return fetch_one(db, MembershipRow, "memberships", where, (scope, room_id))


def of_scope(db: Database, scope: str) -> list[MembershipRow]:
    """Return all rows of a profile."""
    return fetch_all(db, MembershipRow, "memberships", "scope = ?", (scope,))
