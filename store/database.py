"""Open the state file: private to its owner, migrated, set aside when damaged."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlite_utils import Database

from .migrations import migrations

__all__ = [
    "FolderNotWritableError",
    "NewerSchemaError",
    "Opened",
    "StoreError",
    "open_database",
    "transaction",
]

BUSY_TIMEOUT_S = 5.0  # what the gateway itself waits for a lock on its files
FOLDER_MODE = 0o700
FILE_MODE = 0o600


class StoreError(Exception):
    """The state file cannot be used; the message says what to do."""


class FolderNotWritableError(StoreError):
    """The folder of the state file cannot be made or written."""


class NewerSchemaError(StoreError):
    """The file was written by a newer version; nothing of it was changed."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open state file."""

    db: Database
    journal_mode: str
    """`wal` or the name of the rollback journal mode."""
    set_aside: Path | None
    """Where a damaged file was moved to; None: there was none."""


def open_database(path: Path, *, now: datetime) -> Opened:
    """Open the state file, make or migrate it, and move a damaged one out of the way.

    Args:
        path: the file; its folder is made, only for its owner, where it is missing.
        now: names a file that is set aside.

    Raises:
        FolderNotWritableError: the folder or the file cannot be written.
        NewerSchemaError: a newer version wrote the file.
    """
    _make_folder(path.parent)
    set_aside: Path | None = None
    try:
        db, mode = _open(path)
    except sqlite3.DatabaseError as error:
        if not _is_damage(error):
            raise _not_writable(path, error) from error
        set_aside = _set_aside(path, now)
        db, mode = _open(path)
    return Opened(db, mode, set_aside)


@contextmanager
def transaction(db: Database) -> Iterator[None]:
    """Run a block in one write transaction; undo all of it when it raises.

    The library's own `atomic` begins deferred: a reader that then writes is refused at once
    when another process wrote in between, whatever the busy timeout.
    """
    db.conn.execute("begin immediate")
    try:
        yield
    except BaseException:
        db.conn.execute("rollback")
        raise
    db.conn.execute("commit")


def _open(path: Path) -> tuple[Database, str]:
    _make_private(path)
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        db = Database(connection, execute_plugins=False)
        mode = _choose_journal(connection)
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        _check(connection)
        _migrate(db, path)
    except BaseException:
        connection.close()
        raise
    return db, mode


def _check(connection: sqlite3.Connection) -> None:
    """Look through the whole file once.

    Raises:
        sqlite3.DatabaseError: a page of it is damaged.
    """
    answer = connection.execute("pragma quick_check(1)").fetchone()[0]
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)


def _migrate(db: Database, path: Path) -> None:
    known = {migration.name for migration in migrations.pending(Database(memory=True))}
    with transaction(db):
        applied = {migration.name for migration in migrations.applied(db)}
        if unknown := sorted(applied - known):
            message = (
                f"{path} was written by a newer version of the plugin (it has "
                f"{', '.join(unknown)}). Update the plugin, or move the file away to start anew."
            )
            raise NewerSchemaError(message)
        migrations.apply(db)


def _choose_journal(connection: sqlite3.Connection) -> str:
    """Switch to write-ahead logging where that is safe, else keep a rollback journal.

    Source: https://sqlite.org/wal.html#walresetbug; the gateway keeps to the same releases.
    """
    wanted = "wal" if _wal_is_safe(sqlite3.sqlite_version_info) else "delete"
    try:
        return str(connection.execute(f"pragma journal_mode = {wanted}").fetchone()[0])
    except sqlite3.OperationalError:
        # A file system without shared memory or locks for it; the answer names the mode in use.
        return str(connection.execute("pragma journal_mode").fetchone()[0])


def _wal_is_safe(release: tuple[int, ...]) -> bool:
    return (
        release >= (3, 51, 3) or (3, 50, 7) <= release < (3, 51) or (3, 44, 6) <= release < (3, 45)
    )


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    code = getattr(error, "sqlite_errorcode", None)
    return code in damage or (code is None and type(error) is sqlite3.DatabaseError)


def _set_aside(path: Path, now: datetime) -> Path:
    target = path.with_name(f"{path.name}.damaged-{now:%Y%m%dT%H%M%SZ}")
    for suffix in ("", "-wal", "-shm", "-journal"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            moved = source.rename(target.with_name(target.name + suffix))
            moved.chmod(FILE_MODE)
    return target


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) != FOLDER_MODE:
            folder.chmod(FOLDER_MODE)
    except OSError as error:
        raise _not_writable(folder, error) from error


def _make_private(path: Path) -> None:
    """Create the file for its owner only, whatever the umask; SQLite's side files follow it."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE))
        path.chmod(FILE_MODE)
    except OSError as error:
        raise _not_writable(path, error) from error


def _not_writable(path: Path, error: Exception) -> FolderNotWritableError:
    return FolderNotWritableError(
        f"{path} cannot be written ({error}). Make the folder writable for the user the gateway "
        "runs as, free space on its disk, or point HERMES_HOME elsewhere."
    )
