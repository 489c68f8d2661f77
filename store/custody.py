"""Keep the state file in its place and readable, as long as it is open.

SQLite does not notice that a file was deleted or replaced under it: what it commits goes into a
file without a name. But everything is still there as long as it is open, so it is written back.
"""

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from sqlite_utils import Database

from .database import repairing
from .placement import forget_side_files, make_folder, make_private, set_aside
from .reserve import give_up, put_by
from .salvage import salvage
from .state_errors import (
    DamagedFileError,
    FileLockedError,
    OverwrittenFileError,
    explained,
    not_writable,
)

__all__ = ["Custodian"]

log = logging.getLogger(__name__)

Identity: TypeAlias = tuple[int, int] | None

PUT_BACKS = 8  # in one process: where files do not keep their numbers each look would be one
MENDS = 3  # in one process: a disk that damages every new file is no case for another new file
LOCK_WAIT_S = 5.0


class Custodian:
    """Opens a state file, and puts it right when something happened to it.

    Runs in the one thread that has the file.
    """

    def __init__(self, opener: Callable[[], Database], now: Callable[[], datetime]) -> None:
        """Open nothing yet.

        Args:
            opener: opens the file, makes it where it is missing; Raises: StoreError.
            now: names files that are moved out of the way.
        """
        self._opener = opener
        self._now = now
        self._db: Database | None = None
        self._path: Path | None = None
        self._file: Identity = None
        self._log_path = Path()
        self._log: Identity = None
        self._rescued: Path | None = None
        """A whole copy that is not in its place yet."""
        self._set_aside: Path | None = None
        """A damaged file whose rows are not in the new one yet."""
        self._left: tuple[int, int] | None = None
        """When it was written last and how long it was, as this process left it."""
        self._newest_step = 0
        self._put_backs = 0
        self._mends = 0
        self._is_short = False

    @property
    def is_short(self) -> bool:
        """Whether the reserve is given up: what room there is, is for what is under way."""
        return self._is_short

    def open(self) -> Database:
        """Open the file and remember which one it is. Raises: StoreError."""
        db = self._db = self._opener()
        name = db.conn.execute("pragma database_list").fetchone()[2]
        self._path = Path(name) if name else None
        if self._path is not None:
            self._file = _identity(self._path)
            self._log_path = self._path.with_name(f"{self._path.name}-wal")
            self._log = _identity(self._log_path)
            put_by(self._path)
        self.leave()
        return db

    def leave(self) -> None:
        """Note how the file is left, so that the next look tells what others did to it.

        Where it cannot be read just now, the next look compares with what was noted before.
        """
        left = None if self._path is None else _written(self._path)
        if left != self._left and self._db is not None:
            with suppress(sqlite3.Error):
                self._newest_step = _newest_step(self._db.conn)
                self._left = left

    def make_room(self) -> bool:
        """Give up the reserve, so that answers under way can be written on a full disk.

        Returns:
            False: there is none any more.
        """
        if self._path is None or not give_up(self._path):
            return False
        self._is_short = True
        return True

    def look(self) -> Database:
        """Return the database to go on with: the same one, as long as its file is in its place.

        Else everything is written back to its place: nothing that was committed is lost. What
        stands there instead is moved aside under a name with the time.

        Raises:
            StoreError: the place cannot be written, or an older copy was written over the file;
                it is looked at again the next time.
            sqlite3.Error: the copy cannot be written; the next look tries again.
        """
        if self._rescued is not None and self._path is not None:
            return self._put_back(self._path, self._rescued)
        db = self._db or self.open()
        if self._is_short and self._path is not None:
            self._is_short = not put_by(self._path)
        if self._set_aside is not None:
            return self._refill(db, self._set_aside)
        if self._path is None:
            return db
        if self._is_in_place(self._path):
            self._recognise(self._path)
            return db
        make_folder(self._path.parent)
        self._rescued = _copy(db, self._path)
        # Closing may delete a log by its name: before there is a new one of that name.
        self.close()
        return self._put_back(self._path, self._rescued)

    def mend(self, error: sqlite3.Error) -> Database:
        """Set a damaged file aside and go on with what of it can still be read.

        Args:
            error: what SQLite said.

        Raises:
            sqlite3.Error: `error`, when it was mended too often; or the new file cannot be
                written, which the next look tries again.
            StoreError: the file cannot be moved, or no new one made; likewise.
        """
        path = self._path
        if path is None or self._mends >= MENDS:
            raise error
        self._mends += 1
        self.close()
        with repairing(path, LOCK_WAIT_S):
            moved = self._set_aside = set_aside(path, self._now())
            log.warning(
                "the state file was damaged while in use (%s) and is set aside as %s", error, moved
            )
            return self._refill(self.open(), moved)

    def close(self) -> None:
        """Close the file; may be called again."""
        if self._db is not None:
            self._db.close()
        self._db = None

    def _refill(self, fresh: Database, damaged: Path) -> Database:
        rows = salvage(damaged, fresh)
        self._set_aside = None
        log.warning("%d rows of %s could be read and are in a new state file", rows, damaged)
        return fresh

    def _is_in_place(self, path: Path) -> bool:
        if self._put_backs >= PUT_BACKS:
            return True  # as far as anybody can tell
        if _identity(path) != self._file:
            return False
        log_now = _identity(self._log_path)
        if self._log is None:
            self._log = log_now  # made with the first commit
        return log_now == self._log

    def _recognise(self, path: Path) -> None:
        """Tell the file from an older copy that was written over it in its place.

        SQLite takes such a copy for what another program committed, or, with a write-ahead log,
        goes on with what it has read before: so it is read as somebody new would.

        Raises:
            OverwrittenFileError: it is one.
            sqlite3.Error: another process has locked it.
        """
        written = _written(path)
        if written in {self._left, None}:
            return
        try:
            with closing(sqlite3.connect(path, timeout=LOCK_WAIT_S)) as reader:
                newest_step = _newest_step(reader)
        except sqlite3.Error as error:
            match explained(error, path):
                case FileLockedError():
                    raise
                case DamagedFileError():
                    return  # shows in its use, and is mended then
                case _:
                    newest_step = -1  # emptied, or the file of something else
        if newest_step < self._newest_step:
            message = (
                f"{path} was overwritten while in use, with an older copy or something else: what "
                "was written last is not in it. Restart the gateway to go on with it, or put the "
                "newer file back"
            )
            raise OverwrittenFileError(message)
        self._left = written

    def _put_back(self, path: Path, rescued: Path) -> Database:
        found, why = _identity(path), "was deleted"
        if found is not None and found != self._file:
            why = f"was replaced (by what is now {set_aside(path, self._now(), 'replaced')})"
        try:
            forget_side_files(path)
            rescued.replace(path)
        except OSError as error:
            raise not_writable(path, error) from error
        self._rescued = None
        self._put_backs += 1
        log.warning("the state file %s %s while in use; all of it is written back", path, why)
        return self.open()


def _copy(db: Database, path: Path) -> Path:
    """Write everything that is committed into a file beside the place of the state file."""
    copy = path.with_name(f"{path.name}.rescued")
    try:
        copy.unlink(missing_ok=True)
        make_private(copy)
        with closing(sqlite3.connect(copy)) as target:
            db.conn.backup(target)
    except BaseException as error:
        with suppress(OSError):
            copy.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise not_writable(copy, error) from error
        raise
    return copy


def _newest_step(connection: sqlite3.Connection) -> int:
    """Return the number of the newest step: it never becomes smaller."""
    sql = "select coalesce(max(seq), 0) from transitions"
    return int(connection.execute(sql).fetchone()[0])


def _written(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size


def _identity(path: Path) -> Identity:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
