"""Many pieces of work, one commit. Synchronous: runs in the thread that has the file.

A commit waits for the disk once, whatever it holds, so everything that waits anyway
shares one. A savepoint around each piece keeps the failure of one from the others.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .store_errors import StoreMisusedError, is_busy, is_damaged, is_full

__all__ = [
    "Connected",
    "DatabaseT",
    "Failure",
    "Outcome",
    "TransactionLostError",
    "Value",
    "read_group",
    "write_group",
]


class Connected(Protocol):
    """A database with a connection of its own, such as `sqlite_utils.Database`."""

    @property
    def conn(self) -> sqlite3.Connection:
        """The connection. Opened with `check_same_thread=False`."""
        ...


DatabaseT = TypeVar("DatabaseT", bound=Connected)


@dataclass(frozen=True, slots=True)
class Value:
    """Work was done; this is what it returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Work was undone; this is what it raised."""

    error: Exception


Outcome = Value | Failure


class TransactionLostError(Exception):
    """SQLite rolled the whole transaction back because one piece of work failed."""


def write_group(database: DatabaseT, works: Sequence[Callable[[DatabaseT], Any]]) -> list[Outcome]:
    """Run pieces of work in one transaction.

    Begun with the write lock: a transaction that reads first and then wants to write is
    refused at once if somebody wrote in between, whatever the busy timeout.

    Returns:
        What became of each, in their order. All values are committed.

    Raises:
        sqlite3.Error: the transaction could not be begun or committed, a page of the file is
            damaged, or the disk is full. Nothing was changed.
        TransactionLostError: one of several failed and took the others along. Nothing was
            changed; each may be tried alone.
        StoreMisusedError: one of them committed or rolled back by itself.
    """
    connection = database.conn
    connection.execute("BEGIN IMMEDIATE")
    try:
        outcomes = [_within_savepoint(database, work) for work in works]
        if not connection.in_transaction and len(works) > 1:
            raise TransactionLostError
        if any(isinstance(outcome, Value) for outcome in outcomes):
            connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return outcomes


def read_group(database: DatabaseT, works: Sequence[Callable[[DatabaseT], Any]]) -> list[Outcome]:
    """Run pieces of work that only read, each as it is, without a transaction around it.

    Returns:
        What became of each, in their order.

    Raises:
        sqlite3.Error: a lock is in the way, or a page is damaged. All may be tried again.
    """
    return [_as_it_is(database, work) for work in works]


def _within_savepoint(database: DatabaseT, work: Callable[[DatabaseT], Any]) -> Outcome:
    connection = database.conn
    if not connection.in_transaction:
        raise TransactionLostError
    connection.execute("SAVEPOINT piece")
    outcome = _outcome_of(work, database)
    if isinstance(outcome, Failure):
        if is_damaged(outcome.error) or is_full(outcome.error):
            raise outcome.error  # not of this piece alone: whoever looks after the file may help
        if connection.in_transaction:
            connection.execute("ROLLBACK TO piece")
            connection.execute("RELEASE piece")
    elif connection.in_transaction:
        connection.execute("RELEASE piece")
    else:
        message = "a piece of work ended the transaction it shares with others"
        raise StoreMisusedError(message)
    return outcome


def _as_it_is(database: DatabaseT, work: Callable[[DatabaseT], Any]) -> Outcome:
    outcome = _outcome_of(work, database)
    if database.conn.in_transaction:
        database.conn.execute("ROLLBACK")
        return Failure(StoreMisusedError("a read left a transaction open"))
    if isinstance(outcome, Failure) and (is_busy(outcome.error) or is_damaged(outcome.error)):
        raise outcome.error
    return outcome


def _outcome_of(work: Callable[[DatabaseT], Any], database: DatabaseT) -> Outcome:
    try:
        return Value(work(database))
    except Exception as error:  # noqa: BLE001
        # Handled nowhere here: carried over to the task that asked for the work, and
        # raised there. Let out, it would hit everybody who shares the transaction.
        return Failure(error)
