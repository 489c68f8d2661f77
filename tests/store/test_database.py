"""Opening the state file: whose it is, new or old, and what it is like then."""

import gc
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from hermes_chatto.store import turns
from hermes_chatto.store.database import (
    FileLockedError,
    NewerSchemaError,
    UnusableFileError,
    open_database,
    transaction,
)
from hermes_chatto.tests.store.files import (
    NOT_SAFE_FOR_WAL,
    OPENER,
    SAFE_FOR_WAL,
    cut_off_half,
    cut_off_within_the_last_page,
    fill,
    garble_header,
    mode_of,
    opening,
    receive_together,
    rows_of,
    umask,
)
from hermes_chatto.tests.store.samples import NOW, receive, turn

# --- whose it is --------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777], ids=oct)
@pytest.mark.parametrize("release", [SAFE_FOR_WAL, NOT_SAFE_FOR_WAL], ids=["wal", "journal"])
def test_folder_and_files_are_private_whatever_the_umask(
    path: Path, mask: int, release: tuple[int, int, int]
) -> None:
    """Messages of people wait in them; side files count, too."""
    with umask(mask), opening(path, release=release) as opened:
        opened.db.conn.execute("begin immediate")
        turns.receive(opened.db, turn())

        modes = {file.name: mode_of(file) for file in path.parent.iterdir()}

        opened.db.conn.execute("commit")
    side_file = "state.db-wal" if release == SAFE_FOR_WAL else "state.db-journal"
    assert side_file in modes
    assert set(modes.values()) == {0o600}
    assert mode_of(path.parent) == 0o700


def test_file_and_folder_that_others_could_read_are_closed_to_them(path: Path) -> None:
    """Copied in from a backup, or left by a crash under another umask."""
    fill(path)
    left = path.with_name("state.db-journal")
    left.touch()
    for file in (path, left):
        file.chmod(0o666)
    path.parent.chmod(0o777)

    with opening(path):
        assert mode_of(path) == 0o600
        assert not left.exists() or mode_of(left) == 0o600
        assert mode_of(path.parent) == 0o700


def test_opening_gives_up_no_lock_of_the_same_process(path: Path) -> None:
    """POSIX drops all locks of a process on a file when it closes any descriptor of it."""
    with opening(path, busy_timeout_s=0) as writer:
        writer.db.conn.execute("begin exclusive")

        with pytest.raises(FileLockedError):
            open_database(path, now=NOW, busy_timeout_s=0)

        code = (
            "import sqlite3, sys\n"
            "sqlite3.connect(sys.argv[1], timeout=0).execute('begin immediate')"
        )
        other = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
        )
        assert "database is locked" in other.stderr


# --- new and old --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1])
def test_file_without_content_is_begun(path: Path, size: int) -> None:
    """The process before it ended between making the file and filling it."""
    path.parent.mkdir()
    path.write_bytes(b"\0" * size)

    with opening(path) as opened:
        assert opened.set_aside is None
        assert receive(opened.db).lane_order == 1


def test_rows_are_there_when_it_is_opened_again(path: Path) -> None:
    """And nothing is migrated twice."""
    fill(path, 3)

    with opening(path) as opened:
        assert opened.set_aside is None
        assert opened.db.table("turns").count == 3


def test_file_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    """Not a byte changes, so that going back to the newer version loses nothing."""
    fill(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "insert into _sqlite_migrations (migration_set, name, applied_at) "
            "values ('hermes_chatto', 'm900_of_tomorrow', '2030-01-01')"
        )
        connection.commit()
    before = path.read_bytes()

    with pytest.raises(NewerSchemaError) as refused:
        open_database(path, now=NOW, release=SAFE_FOR_WAL)

    assert "m900_of_tomorrow" in str(refused.value)
    assert str(path) in str(refused.value)
    assert "Update the plugin" in str(refused.value)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["state.db"]


def test_migrations_of_an_operator_do_not_make_it_newer(path: Path) -> None:
    """Only our own set counts."""
    fill(path, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "insert into _sqlite_migrations (migration_set, name, applied_at) "
            "values ('somebody_else', 'm900', '2030-01-01')"
        )
        connection.commit()

    with opening(path) as opened:
        assert opened.db.table("turns").count == 1


@pytest.mark.parametrize("table", ["turns", "recipes"])
def test_database_of_something_else_is_refused_and_left_alone(path: Path, table: str) -> None:
    """Whether or not its names meet ours."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"create table {table} (id)")
    before = path.read_bytes()

    with pytest.raises(UnusableFileError) as refused:
        open_database(path, now=NOW, release=SAFE_FOR_WAL)

    assert str(path) in str(refused.value)
    assert table in str(refused.value)
    assert "Move it away" in str(refused.value)
    assert path.read_bytes() == before


def test_schema_that_somebody_rebuilt_by_hand_is_refused(path: Path) -> None:
    """A migration that cannot run leaves the file as it was."""
    fill(path, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("delete from _sqlite_migrations where name = 'm002_views'")
        connection.commit()

    with pytest.raises(UnusableFileError, match="already exists"):
        open_database(path, now=NOW)

    assert rows_of(path) == 1


# --- open ---------------------------------------------------------------------------------------


def test_every_commit_waits_for_the_disk(db: Database) -> None:
    """An acknowledged row survives a loss of power."""
    assert db.execute("pragma synchronous").fetchone() == (2,)


@pytest.mark.parametrize("length", [100, 9_900])
@pytest.mark.parametrize("release", [SAFE_FOR_WAL, NOT_SAFE_FOR_WAL], ids=["wal", "journal"])
def test_forgotten_words_are_nowhere_in_the_file(
    path: Path, length: int, release: tuple[int, int, int]
) -> None:
    """What a person wrote is gone with the last need for it, not only out of sight."""
    with opening(path, release=release) as opened:
        row = receive(opened.db, body="secret" + "x" * length)
        turns.save(opened.db, row._replace(body=None))

    assert b"secret" not in path.read_bytes()


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Return a folder with an operator's plugin for sqlite-utils."""
    folder = tmp_path / "plugins"
    info = folder / "meddler-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: meddler\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sqlite_utils]\nmeddler = meddler\n")
    (folder / "meddler.py").write_text(
        "import sqlite_utils\nprint('loaded')\n"
        "@sqlite_utils.hookimpl\ndef prepare_connection(conn):\n    print('meddled')\n"
    )
    return folder


@pytest.mark.parametrize("by_us", [True, False], ids=["gateway", "command line"])
def test_plugin_of_the_operator_runs_in_their_tool_only(
    path: Path, plugin: Path, *, by_us: bool
) -> None:
    """Code for a person's queries has no business in the gateway."""
    fill(path, 1)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(plugin), *sys.path])}
    ours = [str(OPENER), str(path), "3.40.1"]
    theirs = ["-m", "sqlite_utils", "tables", str(path)]

    done = subprocess.run(
        [sys.executable, *(ours if by_us else theirs)],
        env=environment,
        input="go\n",
        capture_output=True,
        text=True,
        check=True,
    )

    assert ("loaded" in done.stdout) is not by_us
    assert ("meddled" in done.stdout) is not by_us


def open_connections() -> int:
    """Return how many connections of this process nobody closed."""
    gc.collect()
    count = 0
    for thing in gc.get_objects():
        if isinstance(thing, sqlite3.Connection):
            try:
                count += thing.total_changes >= 0
            except sqlite3.ProgrammingError:
                continue
    return count


@pytest.mark.parametrize(
    "damage", [None, garble_header, cut_off_half, cut_off_within_the_last_page]
)
def test_nothing_but_the_file_itself_stays_open(
    path: Path, damage: Callable[[Path], None] | None
) -> None:
    """Neither what was only looked at, nor a damaged file."""
    fill(path)
    if damage:
        damage(path)
    before = open_connections()

    with opening(path):
        assert open_connections() == before + 1
    assert open_connections() == before


def test_nothing_stays_open_after_a_refusal(path: Path) -> None:
    """The next attempt, in the same process, starts from nothing."""
    with opening(path) as other:
        other.db.conn.execute("begin exclusive")
        before = open_connections()

        with pytest.raises(FileLockedError):
            open_database(path, now=NOW, busy_timeout_s=0)

        assert open_connections() == before


# --- transactions -------------------------------------------------------------------------------


def test_transaction_is_kept_as_a_whole_or_not_at_all(db: Database) -> None:
    """The second row is there twice, so the first is undone with it."""
    with pytest.raises(sqlite3.IntegrityError):
        receive_together(db, turn("m1"), turn("m1"))

    assert db.table("turns").count == 0
    assert not db.conn.in_transaction


def test_transaction_that_sqlite_undid_raises_what_undid_it(db: Database) -> None:
    """Not the complaint that there is nothing left to undo."""
    receive(db, "m1")

    with pytest.raises(sqlite3.IntegrityError), transaction(db):
        db.conn.execute("update or rollback turns set state = null")

    assert not db.conn.in_transaction


def test_transaction_whose_commit_is_refused_is_undone(path: Path) -> None:
    """Else the next one would fail, and the lock would stay."""
    with opening(path, busy_timeout_s=0.05) as writer, opening(path) as reader:
        reader.db.conn.execute("begin")
        reader.db.conn.execute("select count(*) from turns").fetchone()

        with pytest.raises(sqlite3.OperationalError, match="locked"), transaction(writer.db):
            receive(writer.db)

        assert not writer.db.conn.in_transaction
        reader.db.conn.execute("commit")
        assert receive(writer.db).lane_order == 1
