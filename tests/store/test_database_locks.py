"""Several processes at one state file, and the journal mode they share."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hermes_chatto.store.database import (
    FileLockedError,
    StoreError,
    open_database,
)
from hermes_chatto.tests.store.files import (
    NOT_SAFE_FOR_WAL,
    OPENER,
    SAFE_FOR_WAL,
    opening,
    rows_of,
)
from hermes_chatto.tests.store.samples import NOW, receive


@pytest.mark.parametrize("lock", ["begin exclusive", "begin immediate"])
def test_new_file_that_somebody_else_writes_is_waited_for_then_told(path: Path, lock: str) -> None:
    """It is no reason to set it aside, and neither the folder nor the disk is to blame."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(lock)

        with pytest.raises(FileLockedError) as refused:
            open_database(path, now=NOW, busy_timeout_s=0.05)

        assert str(path) in str(refused.value)
        assert "locked by another process" in str(refused.value)
        assert isinstance(refused.value, StoreError)
    with opening(path) as opened:
        assert opened.set_aside is None


def test_file_that_nobody_may_even_read_is_told(path: Path) -> None:
    """Somebody repairs it at the moment."""
    with opening(path, release=NOT_SAFE_FOR_WAL) as other:
        other.db.conn.execute("begin exclusive")

        with pytest.raises(FileLockedError):
            open_database(path, now=NOW, busy_timeout_s=0.05)


@pytest.mark.parametrize("release", [SAFE_FOR_WAL, NOT_SAFE_FOR_WAL], ids=["wal", "journal"])
def test_writer_elsewhere_does_not_keep_a_file_from_being_opened(
    path: Path, release: tuple[int, int, int]
) -> None:
    """Nothing is written to a file that is up to date, so there is nothing to wait for."""
    with opening(path, release=release) as other:
        other.db.conn.execute("begin immediate")

        with opening(path, release=release, busy_timeout_s=0) as opened:
            assert opened.journal_mode == other.journal_mode


@pytest.mark.parametrize("release", [SAFE_FOR_WAL, NOT_SAFE_FOR_WAL], ids=["wal", "journal"])
@pytest.mark.parametrize("before", ["", "this was a state file " * 100], ids=["new", "damaged"])
def test_three_processes_open_it_at_the_same_moment(
    path: Path, before: str, release: tuple[int, int, int]
) -> None:
    """One makes the tables, the others find them; of damage, one sets it aside."""
    if before:
        path.parent.mkdir()
        path.write_text(before)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(OPENER), str(path), ".".join(map(str, release))]
    openers = [
        subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"

    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    said = sorted(opener.communicate()[0] for opener in openers)

    assert said == ["1\n", "2\n", "3\n"]
    assert rows_of(path) == 3
    copies = [file for file in path.parent.iterdir() if "damaged" in file.name]
    assert [copy.read_text() for copy in copies] == ([before] if before else [])


@pytest.mark.parametrize(
    ("release", "mode"),
    [
        ((3, 40, 1), "delete"),
        ((3, 44, 5), "delete"),
        ((3, 44, 6), "wal"),
        ((3, 44, 99), "wal"),
        ((3, 45, 0), "delete"),
        ((3, 50, 6), "delete"),
        ((3, 50, 7), "wal"),
        ((3, 50, 99), "wal"),
        ((3, 51, 0), "delete"),
        ((3, 51, 2), "delete"),
        ((3, 51, 3), "wal"),
        ((3, 52, 0), "wal"),
        ((4, 0, 0), "wal"),
    ],
    ids=str,
)
def test_write_ahead_log_is_used_by_the_releases_that_have_no_known_defect(
    path: Path, release: tuple[int, int, int], mode: str
) -> None:
    """Also for a file that another release left in the other mode."""
    other = NOT_SAFE_FOR_WAL if mode == "wal" else SAFE_FOR_WAL
    with opening(path, release=other):
        pass

    with opening(path, release=release) as opened:
        assert opened.journal_mode == mode
        assert opened.db.execute("pragma journal_mode").fetchone() == (mode,)


def test_release_in_use_decides_unless_another_is_named(path: Path) -> None:
    """Nobody has to say which one it is."""
    with opening(path) as opened, opening(path, release=sqlite3.sqlite_version_info) as same:
        assert opened.journal_mode == same.journal_mode


@pytest.mark.parametrize(
    ("kept", "wanted"), [(NOT_SAFE_FOR_WAL, SAFE_FOR_WAL), (SAFE_FOR_WAL, NOT_SAFE_FOR_WAL)]
)
def test_journal_mode_stays_while_somebody_reads(
    path: Path, kept: tuple[int, int, int], wanted: tuple[int, int, int]
) -> None:
    """The mode in use is named, and works."""
    with opening(path, release=kept) as reader:
        reader.db.conn.execute("begin")
        reader.db.conn.execute("select count(*) from turns").fetchone()

        with opening(path, release=wanted, busy_timeout_s=0.05) as opened:
            assert opened.journal_mode == reader.journal_mode
            reader.db.conn.execute("commit")
            assert receive(opened.db).lane_order == 1
