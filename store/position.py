"""The table `position`: up to when a profile has read and decided everything."""

from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_all, upsert

__all__ = ["PositionRow", "load_all", "save"]


class PositionRow(NamedTuple):
    """The position of one profile."""

    scope: str
    account_id: str
    """User ID of the account whose position it is."""
    at: str | None
    """Every post of before was read and decided, by the server's clock; None: not known."""
    begun_at: str | None
    """From then on the rows know what was decided, by the server's clock; None: not known."""
    resume_cursor: str | None
    """Where the stream goes on, on a server that has such cursors; None: it has none."""
    updated_at: str


def save(db: Database, row: PositionRow) -> None:
    """Give the position of a profile these values."""
    upsert(db, "position", row, ("scope",))


def load_all(db: Database) -> list[PositionRow]:
    """Return every position in the file, those of other profiles, too."""
    return fetch_all(db, PositionRow, "position", "true", ())
