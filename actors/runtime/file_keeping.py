"""What a store thread needs of whoever opens its file."""

import sqlite3
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from .group_commit import Connected, DatabaseT

__all__ = ["JustOpen", "Keeper"]


OpenedT_co = TypeVar("OpenedT_co", bound=Connected, covariant=True)


class Keeper(Protocol[OpenedT_co]):
    """Opens a file and looks after it; every call comes from the store's thread."""

    def open(self) -> OpenedT_co:
        """Open it."""
        ...

    def look(self) -> OpenedT_co:
        """Return the database to go on with; asked before every transaction.

        Raises:
            StoreError: it cannot be put right as things are.
            sqlite3.Error: likewise.
        """
        ...

    def mend(self, error: sqlite3.Error) -> OpenedT_co:
        """Return a database to go on with in place of a damaged one.

        Raises:
            StoreError: it cannot be mended as things are.
            sqlite3.Error: likewise.
        """
        ...

    def close(self) -> None:
        """Close it, if it is open."""
        ...


class JustOpen(Generic[DatabaseT]):
    """Opens a file and does not look after it."""

    def __init__(self, opener: Callable[[], DatabaseT]) -> None:
        """Open nothing yet."""
        self._opener = opener
        self._database: DatabaseT | None = None

    def open(self) -> DatabaseT:
        """Open it."""
        self._database = self._opener()
        return self._database

    def look(self) -> DatabaseT:
        """Return what was opened."""
        return self._database if self._database is not None else self.open()

    def mend(self, error: sqlite3.Error) -> DatabaseT:
        """Leave it as it is. Raises: sqlite3.Error."""
        raise error

    def close(self) -> None:
        """Close it, if it is open."""
        if self._database is not None:
            self._database.conn.close()
