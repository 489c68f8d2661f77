"""Why a state file cannot be used, said to whoever can help.

StoreError                what all of these are
+-- FolderNotWritableError    the folder or the file refuse: tell the operator
|   +-- DiskFullError         there is no room: a later attempt may succeed
+-- FileLockedError           another process is in the way: a later attempt may succeed
+-- NewerSchemaError          a newer version wrote the file: update, or move it away
+-- OverwrittenFileError      an older copy was written over the open file: start anew from it
+-- UnusableFileError         the file is sound, but not ours: move it away
+-- DamagedFileError          pages of it are damaged; seen outside only of a fresh file
"""

import errno
import sqlite3
from pathlib import Path

__all__ = [
    "DamagedFileError",
    "DiskFullError",
    "FileLockedError",
    "FolderNotWritableError",
    "NewerSchemaError",
    "OverwrittenFileError",
    "StoreError",
    "UnusableFileError",
    "damaged",
    "explained",
    "is_damage",
    "not_ours",
    "not_writable",
]

DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
NOT_WRITABLE = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
PRIMARY_CODE = 0xFF  # the rest of an extended code tells which of its cases it is


class StoreError(Exception):
    """The state file cannot be used; the message says what to do."""

    may_pass = False
    """Whether a later attempt may succeed without anybody doing something about the file."""


class FolderNotWritableError(StoreError):
    """The state file, or its folder, cannot be made or written."""


class DiskFullError(FolderNotWritableError):
    """There is no room for the state file; a later attempt may succeed."""

    may_pass = True


class FileLockedError(StoreError):
    """Another process kept the file locked; a later attempt may succeed."""

    may_pass = True


class NewerSchemaError(StoreError):
    """The file was written by a newer version; nothing of it was changed."""


class OverwrittenFileError(StoreError):
    """Somebody wrote an older copy over the file while it was open."""


class UnusableFileError(StoreError):
    """The file is sound, but its content is not ours; nothing of it was changed."""


class DamagedFileError(StoreError):
    """Pages of the file are damaged; seen outside only if a fresh file is damaged, too."""


def explained(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the error a caller can act on."""
    code = _code(error)
    if code in DAMAGED:
        return damaged(path, error)
    if code in LOCKED:
        return FileLockedError(
            f"{path} is locked by another process ({error}). Wait until it is done, or end what "
            "else has the file open: another gateway of this profile, or a tool that writes."
        )
    if code == sqlite3.SQLITE_FULL:
        return _no_room(path, error)
    if code in NOT_WRITABLE:
        return not_writable(path, error)
    return not_ours(path, error)


def is_damage(error: BaseException) -> bool:
    """Tell whether SQLite says that pages of the file are damaged."""
    return isinstance(error, sqlite3.Error) and _code(error) in DAMAGED


def not_ours(path: Path, why: object) -> UnusableFileError:
    """Return the error for a sound file of something else."""
    return UnusableFileError(
        f"{path} is no state file of this plugin ({why}). Move it away to start anew."
    )


def damaged(path: Path, why: object) -> DamagedFileError:
    """Return the error for a file with damaged pages."""
    return DamagedFileError(f"{path} is damaged ({why}). Move it away to start anew.")


def not_writable(path: Path, why: object) -> FolderNotWritableError:
    """Return the error for what cannot be made or written; an `OSError` tells a full disk."""
    if isinstance(why, OSError):
        if why.errno in NO_ROOM:
            return _no_room(path, why.strerror)
        why = why.strerror
    return FolderNotWritableError(
        f"{path} cannot be written ({why}). Make the folder writable for the user the gateway "
        "runs as, free space on its disk, or point HERMES_HOME elsewhere."
    )


def _no_room(path: Path, why: object) -> DiskFullError:
    return DiskFullError(
        f"{path} cannot be written ({why}): the disk is full, or the file has reached its limit. "
        "Make free space on its disk, or point HERMES_HOME elsewhere."
    )


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & PRIMARY_CODE
