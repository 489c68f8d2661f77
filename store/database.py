"""Open the state file: private to its owner, migrated, set aside when damaged.

What can go wrong stands in `state_errors`.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlite_utils import Database

from .migrations import migrations
from .placement import make_folder, make_private, set_aside
from .state_errors import (
    DamagedFileError,
    DiskFullError,
    FileLockedError,
    FolderNotWritableError,
    NewerSchemaError,
    StoreError,
    UnusableFileError,
    damaged,
    explained,
    not_ours,
)

__all__ = [
    "Database",
    "DiskFullError",
    "FileLockedError",
    "FolderNotWritableError",
    "NewerSchemaError",
    "Opened",
    "StoreError",
    "UnusableFileError",
    "open_database",
    "repairing",
    "transaction",
]

LOOKED_THROUGH_BYTES = 8 * 1024 * 1024  # some 50 ms; a larger file would hold up every start
BUSY_TIMEOUT_S = 5.0  # what the gateway itself waits for a lock on its files


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
    make_folder(path.parent)
    try:
        return _open(path, busy_timeout_s, release)
    except DamagedFileError:
        with repairing(path, busy_timeout_s):
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
def repairing(path: Path, busy_timeout_s: float) -> Iterator[None]:
    """Be the only process that moves the file: a second one would move the fresh file away.

    The empty file that carries the lock stays: to delete it is to let two processes in.
    """
    lock = path.with_name(f"{path.name}.repair-lock")
    make_private(lock)
    try:
        with closing(
            sqlite3.connect(lock, timeout=busy_timeout_s, isolation_level=None)
        ) as connection:
            connection.execute("begin exclusive")
            yield
    except sqlite3.Error as error:
        raise explained(error, lock) from error


def _begin_anew(
    path: Path, now: datetime, busy_timeout_s: float, release: tuple[int, int, int]
) -> Opened:
    """Open the file that is there now; set it aside if it is damaged still."""
    try:
        return _open(path, busy_timeout_s, release)
    except DamagedFileError:
        moved = set_aside(path, now)
    return replace(_open(path, busy_timeout_s, release), set_aside=moved)


def _open(path: Path, busy_timeout_s: float, release: tuple[int, int, int]) -> Opened:
    make_private(path)
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
        raise explained(error, path) from error


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
    """Look through a file of usual size once; of a larger one, what is damaged shows in its use.

    Raises:
        DamagedFileError: a page of it is damaged, or another process has just found that and set
            it aside.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise damaged(path, "it was set aside just now") from error
    if size <= LOOKED_THROUGH_BYTES:
        answer = connection.execute("pragma quick_check(1)").fetchone()[0]
        if answer != "ok":
            raise damaged(path, answer)
    page_size = connection.execute("pragma page_size").fetchone()[0]
    pages = connection.execute("pragma page_count").fetchone()[0]
    # SQLite takes what is missing of the last page for zeros. With a write-ahead log the file
    # may be shorter than its pages: the rest is in the log.
    if _journal_mode(connection) != "wal" and size < pages * page_size:
        raise damaged(path, "the end of it is cut off")


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
        raise not_ours(path, f"it has tables of something else: {', '.join(strange)}")


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
