"""A state file that is moved, replaced or damaged while it is open."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from sqlite_utils import Database

from hermes_chatto.store import turns
from hermes_chatto.store.custody import MENDS, PUT_BACKS, Custodian
from hermes_chatto.store.database import (
    FolderNotWritableError,
    StoreError,
    open_database,
)
from hermes_chatto.store.salvage import salvage
from hermes_chatto.store.state_errors import OverwrittenFileError
from hermes_chatto.tests.store.files import (
    NOT_SAFE_FOR_WAL,
    SAFE_FOR_WAL,
    fill,
    mode_of,
    no_file_longer_than,
    opening,
    rows_of,
)
from hermes_chatto.tests.store.samples import NOW, receive, step, tell

RELEASES = pytest.mark.parametrize(
    "release", [SAFE_FOR_WAL, NOT_SAFE_FOR_WAL], ids=["wal", "journal"]
)


def custodian(path: Path, release: tuple[int, int, int] = NOT_SAFE_FOR_WAL) -> Custodian:
    """Return whoever looks after a file."""
    return Custodian(lambda: open_database(path, now=NOW, release=release).db, lambda: NOW)


def write_step(db: Database, message_id: str) -> None:
    """Write the receipt of a message, and its step."""
    receive(db, message_id)
    tell(db, step("turn: receive ->received", key=message_id, message_id=message_id))


def ids(db: Database) -> list[str]:
    """Return the messages that have a turn."""
    return [id_ for (id_,) in db.execute("select message_id from turns order by lane_order")]


def delete_file(path: Path) -> None:
    """Take the file away, and what belongs to it."""
    for file in path.parent.glob("state.db*"):
        file.unlink()


def delete_file_alone(path: Path) -> None:
    """Take the file away, and nothing that belongs to it."""
    path.unlink()


def delete_folder(path: Path) -> None:
    """Take the folder away."""
    shutil.rmtree(path.parent)


def move_folder(path: Path) -> None:
    """Give the folder another name."""
    path.parent.rename(path.parent.with_name("moved"))


def replace_folder(path: Path) -> None:
    """Put the folder of another day in its place."""
    move_folder(path)
    fill(path, 2)


def replace_file(path: Path) -> None:
    """Put a backup in its place, as an editor or `cp` over a new name does."""
    other = path.with_name("backup.db")
    fill(other, 2)
    other.replace(path)


LOSSES = pytest.mark.parametrize(
    "lose",
    [
        delete_file,
        delete_file_alone,
        delete_folder,
        move_folder,
        replace_folder,
        replace_file,
    ],
)


@RELEASES
@LOSSES
def test_file_that_lost_its_place_is_written_back_whole(
    path: Path, lose: Callable[[Path], None], release: tuple[int, int, int]
) -> None:
    """What was committed is in a file of that name, private, and the next commit goes there."""
    keeper = custodian(path, release)
    receive(keeper.open(), "m1")
    keeper.look()
    lose(path)

    db = keeper.look()

    receive(db, "m2")
    keeper.close()
    assert rows_of(path) == 2
    assert mode_of(path) == 0o600
    assert mode_of(path.parent) == 0o700
    assert not path.with_name("state.db.rescued").exists()


def test_deleted_log_loses_nothing(path: Path) -> None:
    """Half of the commits may be in it."""
    keeper = custodian(path, SAFE_FOR_WAL)
    receive(keeper.open(), "m1")
    keeper.look()
    path.with_name("state.db-wal").unlink()

    db = keeper.look()

    receive(db, "m2")
    keeper.close()
    assert rows_of(path) == 2


@pytest.mark.parametrize("replace", [replace_folder, replace_file])
def test_what_was_put_in_its_place_is_kept_beside_it(
    path: Path, replace: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody may have wanted it; one line says where it is."""
    keeper = custodian(path)
    receive(keeper.open(), "m1")
    replace(path)

    assert ids(keeper.look()) == ["m1"]

    keeper.close()
    moved = path.with_name("state.db.replaced-20260504T120000Z")
    assert rows_of(moved) == 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(moved) in caplog.text


@RELEASES
def test_older_copy_written_over_the_open_file_is_told_from_it(
    path: Path, release: tuple[int, int, int]
) -> None:
    """As `cp` does. Nothing is read from it or written to it until the newer one is back."""
    keeper = custodian(path, release)
    write_step(keeper.open(), "m1")
    keeper.leave()
    keeper.close()
    older = path.read_bytes()
    write_step(keeper.look(), "m2")
    keeper.close()
    newer = path.read_bytes()
    keeper.look()
    path.write_bytes(older)

    for _ in range(2):
        with pytest.raises(OverwrittenFileError, match="Restart the gateway"):
            keeper.look()

    path.write_bytes(newer)
    assert ids(keeper.look()) == ["m1", "m2"]
    keeper.close()


def test_lock_right_after_a_commit_takes_nothing_back(path: Path) -> None:
    """What was committed is committed: a failure now would have it done once more."""
    opener = partial(open_database, path, now=NOW, busy_timeout_s=0, release=NOT_SAFE_FOR_WAL)
    keeper = Custodian(lambda: opener().db, lambda: NOW)
    db = keeper.open()
    write_step(db, "m1")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin exclusive")
        keeper.leave()

    assert keeper.look() is db
    keeper.close()


def recipes(path: Path) -> bytes:
    """Return the file of another program."""
    with closing(sqlite3.connect(path.with_name("recipes.db"))) as other:
        other.execute("create table recipes (name text)")
    return path.with_name("recipes.db").read_bytes()


@pytest.mark.parametrize("write", [lambda _: b"", recipes], ids=["emptied", "of something else"])
def test_what_is_no_state_file_and_written_over_the_open_one_is_not_used(
    path: Path, write: Callable[[Path], bytes]
) -> None:
    """To SQLite the tables are just not there any more."""
    keeper = custodian(path)
    write_step(keeper.open(), "m1")
    keeper.leave()
    good = path.read_bytes()
    path.write_bytes(write(path))

    with pytest.raises(OverwrittenFileError):
        keeper.look()

    path.write_bytes(good)
    assert ids(keeper.look()) == ["m1"]
    keeper.close()


def test_file_another_program_wrote_to_is_the_same(path: Path) -> None:
    """An operator may repair a row."""
    keeper = custodian(path)
    db = keeper.open()
    write_step(db, "m1")
    keeper.leave()
    with closing(sqlite3.connect(path)) as other:
        other.execute("update turns set reason = 'by hand'")
        other.commit()

    assert keeper.look() is db
    keeper.close()


def test_file_in_its_place_is_left_alone(path: Path) -> None:
    """The same database, as often as it is asked."""
    keeper = custodian(path)
    db = keeper.open()

    assert keeper.look() is db
    receive(db, "m1")
    assert keeper.look() is db
    keeper.close()


def test_file_that_never_keeps_its_place_is_left_where_it_is(path: Path) -> None:
    """Where the numbers of files mean nothing, every look would set another copy aside."""
    keeper = custodian(path)
    receive(keeper.open(), "m1")
    for _ in range(PUT_BACKS):
        path.unlink()
        keeper.look()
    path.unlink()

    assert ids(keeper.look()) == ["m1"]

    assert not path.exists()
    keeper.close()


def test_database_in_memory_has_no_place() -> None:
    """Nothing to look after, nothing to mend."""
    keeper = Custodian(lambda: Database(memory=True), lambda: NOW)
    db = keeper.open()

    assert keeper.look() is db
    with pytest.raises(sqlite3.DatabaseError, match="malformed"):
        keeper.mend(sqlite3.DatabaseError("malformed"))
    keeper.close()
    keeper.close()


def test_place_that_cannot_be_written_is_told_and_tried_again(path: Path) -> None:
    """A file stands where the folder was; when it is gone everything is written back."""
    keeper = custodian(path)
    receive(keeper.open(), "m1")
    delete_folder(path)
    path.parent.write_text("in the way")
    with pytest.raises(FolderNotWritableError, match="Move that away"):
        keeper.look()
    path.parent.unlink()

    assert ids(keeper.look()) == ["m1"]

    keeper.close()


def test_copy_that_cannot_be_put_in_its_place_is_put_there_later(path: Path) -> None:
    """It is whole, and the file it was made of is closed already."""
    keeper = custodian(path)
    receive(keeper.open(), "m1")
    delete_file(path)
    log_place = path.with_name("state.db-shm")
    log_place.mkdir()
    with pytest.raises(FolderNotWritableError):
        keeper.look()
    log_place.rmdir()

    assert ids(keeper.look()) == ["m1"]

    keeper.close()


def test_copy_that_cannot_be_made_is_made_later(path: Path) -> None:
    """What is in its way may be anything."""
    keeper = custodian(path)
    receive(keeper.open(), "m1")
    delete_file(path)
    copy_place = path.with_name("state.db.rescued")
    copy_place.mkdir()
    with pytest.raises(FolderNotWritableError, match="rescued"):
        keeper.look()
    copy_place.rmdir()

    assert ids(keeper.look()) == ["m1"]

    keeper.close()


def test_full_disk_under_the_copy_is_tried_again(path: Path) -> None:
    """The open file is given up only when the copy is whole."""
    keeper = custodian(path)
    receive(keeper.open(), "m1", body="x" * 9_000)
    delete_file(path)
    with no_file_longer_than(8_192), pytest.raises(sqlite3.Error):
        keeper.look()

    assert ids(keeper.look()) == ["m1"]

    keeper.close()


# --- damage -------------------------------------------------------------------------------------


def page_of_table(db: Database, name: str) -> int:
    """Return the first page of a table or an index."""
    sql = "select rootpage from sqlite_schema where name = ?"
    return int(db.execute(sql, (name,)).fetchone()[0])


def overwrite(path: Path, begin: int, length: int) -> None:
    """Write noise over a stretch of the file, in place."""
    with path.open("r+b") as file:
        file.seek(begin)
        file.write(b"\xa5" * length)


def provoke(db: Database, sql: str) -> sqlite3.Error:
    """Return what SQLite says of the damage."""
    with pytest.raises(sqlite3.Error) as raised:
        db.execute(sql).fetchall()
    return raised.value


@RELEASES
@pytest.mark.parametrize("length", [16, 100])
def test_header_that_was_written_over_costs_no_row(
    path: Path, length: int, release: tuple[int, int, int]
) -> None:
    """It tells nothing that an empty file does not tell, too."""
    fill(path, 30)
    keeper = custodian(path, release)
    db = keeper.open()
    overwrite(path, 0, length)

    fresh = keeper.mend(provoke(other_look(path), "select * from turns"))

    assert len(ids(fresh)) == 30
    assert fresh is keeper.look()
    keeper.close()
    del db


def other_look(path: Path) -> Database:
    """Open a file as it is; SQLite reads the header of one that is open only when it changed."""
    return Database(sqlite3.connect(path, isolation_level=None), execute_plugins=False)


def test_index_that_was_written_over_costs_no_row(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The rows stand in the table; the copy of the damaged file is kept, private."""
    fill(path, 30)
    keeper = custodian(path)
    db = keeper.open()
    overwrite(path, (page_of_table(db, "sqlite_autoindex_turns_1") - 1) * 4_096, 4_096)
    db.close()

    fresh = keeper.mend(sqlite3.DatabaseError("malformed"))

    assert len(ids(fresh)) == 30
    keeper.close()
    moved = path.with_name("state.db.damaged-20260504T120000Z")
    assert mode_of(moved) == 0o600
    assert str(moved) in caplog.text
    assert "rows of" in caplog.text


def test_page_that_was_written_over_costs_its_own_rows(path: Path) -> None:
    """What stands before and behind it is in the new file."""
    fill(path, 400)
    keeper = custodian(path)
    keeper.open()
    content = path.read_bytes()
    middle = content.index(b"x" * 900, len(content) // 2) // 4_096 * 4_096
    overwrite(path, middle, 4_096)

    fresh = ids(keeper.mend(sqlite3.DatabaseError("malformed")))

    assert 380 <= len(fresh) < 400
    assert "m0" in fresh
    assert "m399" in fresh
    keeper.close()


def test_file_that_is_damaged_all_over_is_begun_anew(path: Path) -> None:
    """There is nothing to read in it."""
    fill(path, 30)
    keeper = custodian(path)
    keeper.open()
    path.write_bytes(b"\xa5" * path.stat().st_size)

    fresh = keeper.mend(sqlite3.DatabaseError("malformed"))

    assert ids(fresh) == []
    assert receive(fresh).lane_order == 1
    keeper.close()


def test_disk_that_damages_every_new_file_gets_no_more_of_them(path: Path) -> None:
    """It would fill up with copies."""
    fill(path, 1)
    keeper = custodian(path)
    keeper.open()
    for _ in range(MENDS):
        keeper.mend(sqlite3.DatabaseError("malformed"))

    with pytest.raises(sqlite3.DatabaseError, match="again"):
        keeper.mend(sqlite3.DatabaseError("again"))

    keeper.close()
    assert len(list(path.parent.glob("*.damaged-*"))) == MENDS


def test_rows_that_do_not_fit_on_the_disk_are_filled_in_later(path: Path) -> None:
    """A mend that was not finished is finished by the next look."""
    fill(path, 30)
    keeper = custodian(path)
    keeper.open()
    with opening(path.with_name("empty.db")) as empty:
        pages = empty.db.conn.execute("pragma page_count").fetchone()[0]
    with no_file_longer_than((pages + 2) * 4_096), pytest.raises((sqlite3.Error, StoreError)):
        keeper.mend(sqlite3.DatabaseError("malformed"))

    assert len(ids(keeper.look())) == 30

    keeper.close()


def test_rows_with_values_that_no_column_can_have_are_left_out(path: Path) -> None:
    """Noise that happens to look like a row."""
    with opening(path) as fresh:
        damaged = path.with_name("damaged.db")
        with closing(sqlite3.connect(damaged)) as old:
            old.execute("create table ignored (scope, room_id, cause, messages, last_at)")
            old.execute("create table threads (scope)")
            old.execute("insert into ignored values ('default', 'r1', 'echo', 'noise', 'x')")
            old.execute("insert into ignored values ('default', 'r2', 'echo', 3, 'x')")
            old.commit()

        assert salvage(damaged, fresh.db) == 1

        assert [row["room_id"] for row in fresh.db.table("ignored").rows] == ["r2"]


def test_rows_are_not_copied_twice(path: Path) -> None:
    """Those of the new file win."""
    fill(path, 3)
    keeper = custodian(path)
    db = keeper.mend(_opened(keeper))

    assert turns.find(db, "default", "m1") is not None
    assert len(ids(db)) == 3
    keeper.close()


def _opened(keeper: Custodian) -> sqlite3.Error:
    keeper.open()
    return sqlite3.DatabaseError("malformed")
