"""What a store thread needs of whoever opens its file."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from .group_commit import Connected, DatabaseT, Outcome
from .store_errors import is_damaged, is_full

__all__ = ["JustOpen", "Keeper", "run_group"]

Work: TypeAlias = Callable[[DatabaseT], Any]
Step: TypeAlias = Callable[[DatabaseT, Sequence[Work[DatabaseT]]], list[Outcome]]


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

    def leave(self) -> None:
        """Note how the file is left; called after every transaction, whatever came of it."""
        ...

    def mend(self, error: sqlite3.Error) -> OpenedT_co:
        """Return a database to go on with in place of a damaged one.

        Raises:
            StoreError: it cannot be mended as things are.
            sqlite3.Error: likewise.
        """
        ...

    @property
    def is_short(self) -> bool:
        """Whether there is room for nothing but what is under way."""
        ...

    def make_room(self) -> bool:
        """Give up what was kept for a full disk; False: there is nothing left to give up."""
        ...

    def close(self) -> None:
        """Close it, if it is open."""
        ...


def run_group(
    keeper: Keeper[DatabaseT],
    step: Step[DatabaseT],
    choose: Callable[[bool], Sequence[Work[DatabaseT]]],
) -> list[Outcome]:
    """Run a group of work; once more when the file was mended or room was made for it.

    Args:
        keeper: looks after the file.
        step: runs the group.
        choose: returns the group; told whether there is room only for what is under way.

    Raises:
        StoreError: the file cannot be put right as things are. Nothing was changed.
        sqlite3.Error, TransactionLostError, StoreMisusedError: as the step.
    """

    def run(database: DatabaseT, *, is_short: bool) -> list[Outcome]:
        try:
            return step(database, choose(is_short))
        finally:
            keeper.leave()

    try:
        return run(keeper.look(), is_short=keeper.is_short)
    except sqlite3.Error as error:
        if is_damaged(error):
            return run(keeper.mend(error), is_short=keeper.is_short)
        if is_full(error) and keeper.make_room():
            return run(keeper.look(), is_short=True)
        raise


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

    def leave(self) -> None:
        """Note nothing."""

    def mend(self, error: sqlite3.Error) -> DatabaseT:
        """Leave it as it is. Raises: sqlite3.Error."""
        raise error

    @property
    def is_short(self) -> bool:
        """There is always as much room as there is."""
        return False

    def make_room(self) -> bool:
        """Have nothing to give up."""
        return False

    def close(self) -> None:
        """Close it, if it is open."""
        if self._database is not None:
            self._database.conn.close()
