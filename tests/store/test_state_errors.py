"""What SQLite and the system say becomes an error with a remedy, and whether it may pass."""

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_chatto.store.state_errors import (
    DiskFullError,
    FileLockedError,
    FolderNotWritableError,
    explained,
    is_damage,
    not_writable,
)

PATH = Path("chatto/state.db")


def test_full_disk_may_pass() -> None:
    """Whoever says so is SQLite, in the middle of a write, or the system before one."""
    with closing(sqlite3.connect(":memory:")) as small:
        small.execute("pragma max_page_count = 1")
        with pytest.raises(sqlite3.OperationalError) as full:
            small.execute("create table a (b)")

    for error in (
        explained(full.value, PATH),
        not_writable(PATH, OSError(errno.ENOSPC, "No space left on device")),
        not_writable(PATH, OSError(errno.EDQUOT, "Disk quota exceeded")),
    ):
        assert isinstance(error, DiskFullError)
        assert error.may_pass
        assert str(error).startswith(f"{PATH} cannot be written (")
        assert "free space" in str(error)


def test_folder_that_refuses_does_not_pass_by_itself() -> None:
    """Somebody has to change its owner."""
    error = not_writable(PATH, OSError(errno.EACCES, "Permission denied"))

    assert isinstance(error, FolderNotWritableError)
    assert not error.may_pass
    assert "(Permission denied)" in str(error)


def test_lock_passes(tmp_path: Path) -> None:
    """As soon as its owner is done."""
    path = tmp_path / "state.db"
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as holder,
        closing(sqlite3.connect(path, timeout=0)) as other,
    ):
        holder.execute("begin exclusive")
        with pytest.raises(sqlite3.OperationalError) as locked:
            other.execute("create table a (b)")

    error = explained(locked.value, path)

    assert isinstance(error, FileLockedError)
    assert error.may_pass
    assert not is_damage(locked.value)


def test_text_in_place_of_a_file_is_damage(tmp_path: Path) -> None:
    """SQLite says so at the first look."""
    path = tmp_path / "state.db"
    path.write_text("no database at all " * 100)
    with closing(sqlite3.connect(path)) as reader, pytest.raises(sqlite3.Error) as raised:
        reader.execute("select * from sqlite_schema")

    assert is_damage(raised.value)
    assert not is_damage(ValueError("something else"))
