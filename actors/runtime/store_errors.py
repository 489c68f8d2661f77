"""What can go wrong with a state file while it is in use.

    StoreBusyError         somebody else holds the lock: wait and try again
    StoreUnavailableError  disk or file refuse: tell the operator, later calls may work
    StoreClosedError       stopping: the caller is to stop, too
    StoreMisusedError      a mistake in our own code

Errors of SQLite that say something about the work itself (a constraint, a statement)
are none of these; they reach whoever asked for the work as they are.
"""

import sqlite3
from collections.abc import Mapping

__all__ = [
    "StoreBusyError",
    "StoreClosedError",
    "StoreMisusedError",
    "StoreUnavailableError",
    "explain",
    "is_busy",
    "is_damaged",
    "is_full",
    "is_outage",
]

PRIMARY_CODE = 0xFF  # the rest of an extended code tells which of its cases it is
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
UNAVAILABLE: Mapping[int, str] = {
    sqlite3.SQLITE_FULL: "the disk is full, or the file has reached its limit",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
    sqlite3.SQLITE_READONLY: "the file or its folder cannot be written",
    sqlite3.SQLITE_CANTOPEN: "the file or one beside it cannot be opened",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_NOTADB: "the file is no SQLite database",
}


class StoreBusyError(Exception):
    """Nothing was changed: another process held the lock for too long."""


class StoreUnavailableError(Exception):
    """Nothing was changed: the file cannot be used as things are. The text says why."""


class StoreClosedError(Exception):
    """Nothing was changed: the store is closed, or was before the turn of this work came."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("the store is closed")


class StoreMisusedError(Exception):
    """Work ended the transaction it ran in, or left one open: its effect is not known."""


def is_busy(error: Exception) -> bool:
    """Tell whether a lock of somebody else is the reason."""
    return _code(error) in BUSY


def is_damaged(error: Exception) -> bool:
    """Tell whether SQLite says that pages of the file are damaged."""
    return _code(error) in DAMAGED


def is_full(error: Exception) -> bool:
    """Tell whether there is no room on the disk."""
    return _code(error) == sqlite3.SQLITE_FULL


def is_outage(error: Exception) -> bool:
    """Tell whether the file cannot be used as things are, which says nothing about the work."""
    return isinstance(error, StoreBusyError | StoreUnavailableError)


def explain(error: Exception, path: str) -> Exception:
    """Return the error a caller can act on; one about the work itself stays what it is.

    Args:
        error: what SQLite, or the work, raised.
        path: of the state file, for the text.
    """
    code = _code(error)
    if code in BUSY:
        explained: Exception = StoreBusyError(f"{path}: locked by another process ({error})")
    elif code is not None and code in UNAVAILABLE:
        explained = StoreUnavailableError(f"{path}: {UNAVAILABLE[code]} ({error})")
    else:
        return error
    explained.__cause__ = error
    return explained


def _code(error: Exception) -> int | None:
    """Return the primary result code of SQLite, or None for errors that have none.

    Python's own complaints (a closed connection, a wrong parameter) are `sqlite3.Error`
    too, but lack the attribute.
    """
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & PRIMARY_CODE
