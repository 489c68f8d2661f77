"""Open the state file: private to its owner, migrated, set aside when damaged.

StoreError                what all of these are
FolderNotWritableError    the disk, the folder or the file refuse: tell the operator
FileLockedError           another process is in the way: a later attempt may succeed
NewerSchemaError          a newer version wrote the file: update, or move it away
UnusableFileError         the file is sound, but not ours: move it away
"""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlite_utils import Database

from .migrations import migrations

__all__ = [
    "Database",
    "FileLockedError",
    "FolderNotWritableError",
    "NewerSchemaError",
    "Opened",
    "StoreError",
    "UnusableFileError",
    "open_database",
    "transaction",
]

BUSY_TIMEOUT_S = 5.0  # what the gateway itself waits for a lock on its files
FOLDER_MODE = 0o700
FILE_MODE = 0o600
SIDE_FILES = ("-wal", "-shm", "-journal")  # a crash leaves them, and they are part of the file

DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
NOT_WRITABLE = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
PRIMARY_CODE = 0xFF  # the rest of an extended code tells which of its cases it is


class StoreError(Exception):
    """The state file cannot be used; the message says what to do."""


class FolderNotWritableError(StoreError):
    """The state file, or its folder, cannot be made or written."""


class FileLockedError(StoreError):
    """Another process kept the file locked; a later attempt may succeed."""


class NewerSchemaError(StoreError):
    """The file was written by a newer version; nothing of it was changed."""


class UnusableFileError(StoreError):
    """The file is sound, but its content is not ours; nothing of it was changed."""


class DamagedFileError(StoreError):
    """Pages of the file are damaged; seen outside only if a fresh file is damaged, too."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open state file."""

    db: Database
    journal_mode: str
    """`wal` or the name of the rollback journal mode."""
    set_aside: Path | None
    """Where a damaged file was moved to; None: there was none."""


def open_database(
    path: Path,
    *,
    now: datetime,
    busy_timeout_s: float = BUSY_TIMEOUT_S,
    release: tuple[int, int, int] = sqlite3.sqlite_version_info,
) -> Opened:
    """Open the state file, make or migrate it, and move a damaged one out of the way.

    Args:
        path: the file; its folder is made, only for its owner, where it is missing.
        now: names a file that is set aside.
        busy_timeout_s: how long the lock of another process is waited for, now and later.
        release: of SQLite; decides about the journal mode.

    Raises:
        FolderNotWritableError: the folder or the file cannot be written.
        FileLockedError: another process kept the file locked.
        NewerSchemaError: a newer version wrote the file.
        UnusableFileError: it is the database of something else.
    """
    _make_folder(path.parent)
    try:
        return _open(path, busy_timeout_s, release)
    except DamagedFileError:
        with _repairing(path, busy_timeout_s):
            return _begin_anew(path, now, busy_timeout_s, release)


@contextmanager
def transaction(db: Database) -> Iterator[None]:
    """Run a block in one write transaction; undo all of it when it raises.

    The library's own `atomic` begins deferred: a reader that then writes is refused at once
    when another process wrote in between, whatever the busy timeout.
    """
    db.conn.execute("begin immediate")
    try:
        yield
        db.conn.execute("commit")
    finally:
        # Still open after a failure, of the commit too, unless SQLite undid it already.
        if db.conn.in_transaction:
            db.conn.execute("rollback")


@contextmanager
def _repairing(path: Path, busy_timeout_s: float) -> Iterator[None]:
    """Be the only process that moves the file: a second one would move the fresh file away.

    The empty file that carries the lock stays: to delete it is to let two processes in.
    """
    lock = path.with_name(f"{path.name}.repair-lock")
    _make_private(lock)
    try:
        with closing(
            sqlite3.connect(lock, timeout=busy_timeout_s, isolation_level=None)
        ) as connection:
            connection.execute("begin exclusive")
            yield
    except sqlite3.Error as error:
        raise _explained(error, lock) from error


def _begin_anew(
    path: Path, now: datetime, busy_timeout_s: float, release: tuple[int, int, int]
) -> Opened:
    """Open the file that is there now; set it aside if it is damaged still."""
    try:
        return _open(path, busy_timeout_s, release)
    except DamagedFileError:
        set_aside = _set_aside(path, now)
    return replace(_open(path, busy_timeout_s, release), set_aside=set_aside)


def _open(path: Path, busy_timeout_s: float, release: tuple[int, int, int]) -> Opened:
    _make_private(path)
    try:
        connection = sqlite3.connect(
            path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
        )
        try:
            return _ready(connection, path, release)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise _explained(error, path) from error


def _ready(connection: sqlite3.Connection, path: Path, release: tuple[int, int, int]) -> Opened:
    """Look a file over, bring it up to date, and make the connection what the store needs."""
    db = Database(connection, execute_plugins=False)
    _check(connection, path)
    _recognise(db, path)
    _choose_journal(connection, release)
    connection.execute("pragma synchronous = full")
    # What is forgotten is gone: SQLite would leave it in the file until it needs the room.
    connection.execute("pragma secure_delete = on")
    if migrations.pending(db):
        _migrate(db, path)
    return Opened(db, _journal_mode(connection), None)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Look through the whole file once.

    Raises:
        DamagedFileError: a page of it is damaged.
    """
    answer = connection.execute("pragma quick_check(1)").fetchone()[0]
    if answer != "ok":
        raise _damaged(path, answer)
    page_size = connection.execute("pragma page_size").fetchone()[0]
    pages = connection.execute("pragma page_count").fetchone()[0]
    # SQLite takes what is missing of the last page for zeros. With a write-ahead log the file
    # may be shorter than its pages: the rest is in the log.
    if _journal_mode(connection) != "wal" and path.stat().st_size < pages * page_size:
        raise _damaged(path, "the end of it is cut off")


def _migrate(db: Database, path: Path) -> None:
    """Bring the schema up to date; of several processes one does it, the others wait for it."""
    with transaction(db):
        _recognise(db, path)
        migrations.apply(db)


def _recognise(db: Database, path: Path) -> None:
    """Tell whether the file is new, or one of ours that this version can read.

    Raises:
        NewerSchemaError: a newer version wrote the file.
        UnusableFileError: something else did.
    """
    with closing(sqlite3.connect(":memory:")) as empty:
        blank = Database(empty, execute_plugins=False)
        known = {migration.name for migration in migrations.pending(blank)}
    applied = {migration.name for migration in migrations.applied(db)}
    if unknown := sorted(applied - known):
        message = (
            f"{path} was written by a newer version of the plugin (it has "
            f"{', '.join(unknown)}). Update the plugin, or move the file away to start anew."
        )
        raise NewerSchemaError(message)
    strange = sorted(set(db.table_names()) - {migrations.migrations_table})
    if strange and not applied:
        raise _not_ours(path, f"it has tables of something else: {', '.join(strange)}")


def _choose_journal(connection: sqlite3.Connection, release: tuple[int, int, int]) -> None:
    """Switch to write-ahead logging where that is safe, else to a rollback journal.

    The mode stays what it is while another process has the file open, and where the file system
    lacks what the other mode needs. Both modes are correct.

    Source: https://sqlite.org/wal.html#walresetbug; the gateway keeps to the same releases.
    """
    wanted = "wal" if _wal_is_safe(release) else "delete"
    with suppress(sqlite3.OperationalError):
        connection.execute(f"pragma journal_mode = {wanted}").fetchone()


def _journal_mode(connection: sqlite3.Connection) -> str:
    return str(connection.execute("pragma journal_mode").fetchone()[0])


def _wal_is_safe(release: tuple[int, int, int]) -> bool:
    return (
        release >= (3, 51, 3)
        or (3, 50, 7) <= release < (3, 51, 0)
        or (3, 44, 6) <= release < (3, 45, 0)
    )


def _explained(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the error a caller can act on."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & PRIMARY_CODE
    if code in DAMAGED:
        return _damaged(path, error)
    if code in LOCKED:
        return FileLockedError(
            f"{path} is locked by another process ({error}). Wait until it is done, or end what "
            "else has the file open: another gateway of this profile, or a tool that writes."
        )
    if code in NOT_WRITABLE:
        return _not_writable(path, error)
    return _not_ours(path, error)


def _not_ours(path: Path, why: object) -> UnusableFileError:
    return UnusableFileError(
        f"{path} is no state file of this plugin ({why}). Move it away to start anew."
    )


def _damaged(path: Path, why: object) -> DamagedFileError:
    return DamagedFileError(f"{path} is damaged ({why}). Move it away to start anew.")


def _set_aside(path: Path, now: datetime) -> Path:
    """Move a damaged file and its side files away, together and under a free name.

    The file goes last: as soon as its name is free another process makes a new one, and the
    side files of that name are the new one's.
    """
    try:
        target = _free_name(path, f"{path.name}.damaged-{now:%Y%m%dT%H%M%SZ}")
        for suffix in SIDE_FILES:
            with suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
        path.rename(target)
    except OSError as error:
        raise _not_writable(path, error.strerror) from error
    return target


def _free_name(path: Path, name: str) -> Path:
    number, target = 1, path.with_name(name)
    while target.exists():
        number += 1
        target = path.with_name(f"{name}-{number}")
    return target


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) != FOLDER_MODE:
            folder.chmod(FOLDER_MODE)
    except (FileExistsError, NotADirectoryError) as error:
        raise _in_the_way(folder, "a folder") from error
    except OSError as error:
        raise _not_writable(folder, error.strerror) from error


def _make_private(path: Path) -> None:
    """Create the file for its owner only, whatever the umask; new side files follow it."""
    try:
        try:
            _close_to_others(path)
        except FileNotFoundError:
            # Another process set it aside just now.
            _close_to_others(path)
    except OSError as error:
        raise _not_writable(path, error.strerror) from error


def _close_to_others(path: Path) -> None:
    # Only a new file is opened here: to close one is to give up every lock this process
    # has on it (POSIX), also those of a connection that is in the middle of a write.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
    if path.is_dir():
        raise _in_the_way(path, "a file")
    path.chmod(FILE_MODE)
    for suffix in SIDE_FILES:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).chmod(FILE_MODE)


def _in_the_way(path: Path, needed: str) -> FolderNotWritableError:
    return FolderNotWritableError(
        f"{path} cannot be made: something else stands where {needed} is needed. Move that away, "
        "or point HERMES_HOME elsewhere."
    )


def _not_writable(path: Path, why: object) -> FolderNotWritableError:
    return FolderNotWritableError(
        f"{path} cannot be written ({why}). Make the folder writable for the user the gateway "
        "runs as, free space on its disk, or point HERMES_HOME elsewhere."
    )
