"""Opening the state file: whose it is, whatever stands in its way, and what becomes of damage."""

import gc
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hermes_chatto.store import turns
from hermes_chatto.store.database import (
    FileLockedError,
    FolderNotWritableError,
    NewerSchemaError,
    Opened,
    StoreError,
    UnusableFileError,
    open_database,
    transaction,
)
from hermes_chatto.store.turns import TurnRow
from hermes_chatto.tests.store.samples import NOW, receive, turn
from sqlite_utils import Database

OPENER = Path(__file__).with_name("opener.py")
SAFE_FOR_WAL = (3, 51, 3)
NOT_SAFE_FOR_WAL = (3, 40, 1)
NOBODY = 65534


def mode_of(path: Path) -> int:
    """Return the permissions of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)


def fill(path: Path, count: int = 40) -> None:
    """Make a state file with rows on many pages, the last one filled with words alone."""
    opened = open_database(path, now=NOW)
    for number in range(count):
        row = receive(opened.db, f"m{number}", body="x" * 1_000)
    turns.save(opened.db, row._replace(body="y" * 9_900))
    opened.db.close()


def receive_together(db: Database, *rows: TurnRow) -> None:
    """Write receipts in one transaction."""
    with transaction(db):
        for row in rows:
            turns.receive(db, row)


def rows_of(path: Path) -> int:
    """Return how many turns a file has."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("select count(*) from turns").fetchone()[0])


@contextmanager
def opening(path: Path, **how: Any) -> Iterator[Opened]:  # noqa: ANN401  keywords of the opener
    """Open a state file and close it again."""
    opened = open_database(path, now=NOW, **how)
    try:
        yield opened
    finally:
        opened.db.close()


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Take these permissions from whatever is made."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


# --- whose it is ------------------------------------------------------------------------------


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


# --- new and old ------------------------------------------------------------------------------


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


# --- damage -----------------------------------------------------------------------------------


def garble_header(path: Path) -> None:
    """Write text over the beginning."""
    content = path.read_bytes()
    path.write_bytes(b"<html>captive portal</html>" + content[27:])


def overwrite_pages(path: Path) -> None:
    """Write noise over some pages in the middle."""
    content = bytearray(path.read_bytes())
    content[4 * 4096 : 9 * 4096] = b"\xa5" * (5 * 4096)
    path.write_bytes(content)


def overwrite_one_page(path: Path) -> None:
    """Write noise over the rows of one page; everything else can still be read."""
    content = bytearray(path.read_bytes())
    begin = content.rindex(b"x" * 1_000) // 4096 * 4096
    content[begin : begin + 4096] = b"\xa5" * 4096
    path.write_bytes(content)


def cut_off_half(path: Path) -> None:
    """Lose the second half."""
    os.truncate(path, path.stat().st_size // 2)


def cut_off_within_the_last_page(path: Path) -> None:
    """Lose less than a page, which SQLite takes for zeros."""
    os.truncate(path, path.stat().st_size - 3_000)


def replace_by_text(path: Path) -> None:
    """Put something else entirely in its place."""
    path.write_text("the state was here\n" * 50)


@pytest.mark.parametrize(
    "damage",
    [
        garble_header,
        overwrite_pages,
        overwrite_one_page,
        cut_off_half,
        cut_off_within_the_last_page,
        replace_by_text,
    ],
)
@pytest.mark.parametrize("mask", [0o000, 0o077], ids=oct)
def test_damaged_file_is_set_aside_and_a_fresh_one_begun(
    path: Path,
    damage: Callable[[Path], None],
    mask: int,
) -> None:
    """By a name that says when; whoever repairs it finds it whole, and nobody else may read it."""
    fill(path)
    damage(path)
    content = path.read_bytes()

    with umask(mask), opening(path) as opened:
        copy = path.with_name("state.db.damaged-20260504T120000Z")
        assert opened.set_aside == copy
        assert copy.read_bytes() == content
        assert mode_of(copy) == 0o600
        assert opened.db.table("turns").count == 0
        assert receive(opened.db).lane_order == 1


def test_side_files_go_along_with_a_damaged_file(path: Path) -> None:
    """A log of the old file must neither be lost nor be played into the new one."""
    fill(path)
    with opening(path, release=SAFE_FOR_WAL) as other:
        receive(other.db, "in-the-log")
        overwrite_pages(path)
        log = path.with_name("state.db-wal").read_bytes()
        assert b"in-the-log" in log

        with opening(path, release=SAFE_FOR_WAL) as opened:
            assert opened.set_aside is not None
            for suffix in ("-wal", "-shm"):
                moved = opened.set_aside.with_name(opened.set_aside.name + suffix)
                assert mode_of(moved) == 0o600
            assert opened.set_aside.with_name(f"{opened.set_aside.name}-wal").read_bytes() == log
            assert opened.db.table("turns").count == 0


def test_second_damage_at_the_same_second_keeps_the_first_copy(path: Path) -> None:
    """What was set aside is evidence; it is never written over."""
    names = []
    for text in ("first", "second", "third"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text * 200)
        with opening(path) as opened:
            assert opened.set_aside is not None
            names.append(opened.set_aside.name)
            assert opened.set_aside.read_text() == text * 200

    assert names == [f"state.db.damaged-20260504T120000Z{end}" for end in ("", "-2", "-3")]


# --- what refuses -----------------------------------------------------------------------------


def test_file_in_place_of_the_folder_is_told(path: Path) -> None:
    """With the path and the remedy."""
    path.parent.write_text("a file")

    with pytest.raises(FolderNotWritableError) as refused:
        open_database(path, now=NOW)

    assert str(path.parent) in str(refused.value)
    assert "Move that away" in str(refused.value)
    assert path.parent.read_text() == "a file"


def test_file_in_place_of_a_folder_further_up_is_told(path: Path) -> None:
    """The folder cannot even be looked for."""
    path.parent.write_text("a file")

    with pytest.raises(FolderNotWritableError, match="Move that away"):
        open_database(path / "deeper" / "state.db", now=NOW)


def test_folder_in_place_of_the_file_is_told_and_left_alone(path: Path) -> None:
    """Its permissions, too."""
    path.mkdir(parents=True, mode=0o755)
    before = mode_of(path)

    with pytest.raises(FolderNotWritableError) as refused:
        open_database(path, now=NOW)

    assert f"{path} cannot be made" in str(refused.value)
    assert mode_of(path) == before


def test_link_into_nowhere_is_told(path: Path) -> None:
    """The disk it pointed at is not mounted."""
    path.parent.mkdir()
    path.symlink_to(path.parent / "gone" / "state.db")

    with pytest.raises(FolderNotWritableError, match="HERMES_HOME"):
        open_database(path, now=NOW)


def test_name_that_no_disk_takes_is_told(tmp_path: Path) -> None:
    """As any other refusal to make the folder."""
    with pytest.raises(FolderNotWritableError, match="HERMES_HOME"):
        open_database(tmp_path / ("x" * 300) / "state.db", now=NOW)
    with pytest.raises(FolderNotWritableError, match="HERMES_HOME"):
        open_database(tmp_path / "chatto" / ("x" * 300), now=NOW)


@contextmanager
def no_file_longer_than(limit: int) -> Iterator[None]:
    """Refuse to write beyond this, as a full disk or a quota does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk_is_told_and_the_next_start_begins_anew(path: Path) -> None:
    """Half a schema is no schema."""
    with no_file_longer_than(8_192), pytest.raises(FolderNotWritableError) as refused:
        open_database(path, now=NOW)

    assert str(path) in str(refused.value)
    assert "free space" in str(refused.value)
    with opening(path) as opened:
        assert receive(opened.db).lane_order == 1


def test_disk_without_room_for_a_row_loses_none_that_was_written(path: Path) -> None:
    """The transaction is undone as a whole, and the same connection works again later."""
    with opening(path) as opened:
        receive(opened.db, "m1")

        with no_file_longer_than(path.stat().st_size), pytest.raises(sqlite3.OperationalError):
            receive_together(opened.db, turn("m2"), turn("m3", body="x" * 200_000))

        receive(opened.db, "m4")
        found = turns.find_all(opened.db, "default", ["m1", "m2", "m3", "m4"])
        assert sorted(found) == ["m1", "m4"]


@contextmanager
def folder_of_somebody_else() -> Iterator[Path]:
    """Lose the rights of root, whom no permission stops, and return a folder that stays."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        # Not in the default folder: the gateway's own is set there by then, and is root's.
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # noqa: S108 - open to everybody
            yield Path(folder)
    finally:
        if is_root:
            os.seteuid(0)


def test_folder_that_may_not_be_made_is_told() -> None:
    """The user of the gateway is not the owner of HERMES_HOME."""
    with folder_of_somebody_else(), pytest.raises(FolderNotWritableError) as refused:
        open_database(Path("/chatto-of-root/state.db"), now=NOW)

    assert "/chatto-of-root cannot be written (Permission denied)" in str(refused.value)


def test_file_that_may_not_be_written_is_told() -> None:
    """It belongs to somebody else, who started the gateway once."""
    with folder_of_somebody_else() as folder:
        path = folder / "state.db"
        path.symlink_to("/etc/passwd")

        with pytest.raises(FolderNotWritableError) as refused:
            open_database(path, now=NOW)

        assert f"{path} cannot be written (Operation not permitted)" in str(refused.value)


def test_damaged_file_that_cannot_be_moved_is_told(path: Path) -> None:
    """And is still there: nothing is begun over it."""
    fill(path)
    garble_header(path)
    before = path.read_bytes()
    # The longest name a file can have leaves no room for the one it would get.
    longest = path.with_name("x" * 233)
    path.rename(longest)

    with pytest.raises(FolderNotWritableError, match="File name too long"):
        open_database(longest, now=NOW)

    assert longest.read_bytes() == before


# --- locks and other processes ----------------------------------------------------------------


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


def test_damaged_file_that_another_process_sets_aside_is_left_to_it(path: Path) -> None:
    """Two that move it would move the fresh one, too."""
    fill(path)
    garble_header(path)
    content = path.read_bytes()
    with closing(sqlite3.connect(f"{path}.repair-lock", isolation_level=None)) as other:
        other.execute("begin exclusive")

        with pytest.raises(FileLockedError, match="repair-lock"):
            open_database(path, now=NOW, busy_timeout_s=0.05)

    assert path.read_bytes() == content
    assert mode_of(path.with_name("state.db.repair-lock")) == 0o600


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


# --- what it is like once it is open ----------------------------------------------------------


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


# --- transactions -----------------------------------------------------------------------------


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
