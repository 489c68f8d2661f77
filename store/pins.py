"""The table `pins`: which account a login in a list of people means."""

from collections.abc import Collection
from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_all, insert

__all__ = ["PinRow", "drop", "of_setting", "pin"]


class PinRow(NamedTuple):
    """One login of one list."""

    scope: str
    setting: str
    """`allowed_users` or `bot_users`."""
    login: str
    """As the entry says, in lower case."""
    user_id: str
    """Who had that login when the entry was first looked up."""
    pinned_at: str


def of_setting(db: Database, scope: str, setting: str) -> list[PinRow]:
    """Return the pins of one list."""
    return fetch_all(db, PinRow, "pins", "scope = ? and setting = ?", (scope, setting))


def pin(db: Database, row: PinRow) -> None:
    """Keep whom a login means.

    Raises:
        sqlite3.IntegrityError: it means somebody already.
    """
    insert(db, "pins", row)


def drop(db: Database, scope: str, setting: str, logins: Collection[str]) -> None:
    """Forget logins that the list does not have any more."""
    db.conn.executemany(
        "delete from pins where scope = ? and setting = ? and login = ?",
        [(scope, setting, login) for login in logins],
    )
