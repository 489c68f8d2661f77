"""StoreThread and a file that cannot be used for a while, is looked after, or is mended."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from sqlite_utils import Database

from hermes_chatto.actors.runtime.clock import ManualClock
from hermes_chatto.actors.runtime.store_thread import StoreThread, StoreUnavailableError
from hermes_chatto.store.state_errors import (
    FileLockedError,
    FolderNotWritableError,
    NewerSchemaError,
    StoreError,
)


def opened(path: Path) -> Database:
    """Open a file with one table."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    connection.execute("create table if not exists note (id integer primary key)")
    return Database(connection, execute_plugins=False)


def insert(db: Database) -> int:
    """Add a note."""
    return int(db.execute("insert into note default values returning id").fetchone()[0])


def count(db: Database) -> int:
    """Return how many notes there are."""
    return int(db.execute("select count(*) from note").fetchone()[0])


@dataclass
class Nurse:
    """A keeper of files, each its next one, that fails as planned."""

    paths: Iterator[Path]
    refuses_to_open: list[StoreError] = field(default_factory=list)
    refuses_to_look: list[Exception] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    is_short: bool = False
    reserve: int = 0
    """Pages it can add to a full file."""
    db: Database | None = None

    def open(self) -> Database:
        """Open the next file."""
        if self.refuses_to_open:
            raise self.refuses_to_open.pop(0)
        self.db = opened(next(self.paths))
        return self.db

    def look(self) -> Database:
        """Return what is open."""
        if self.refuses_to_look:
            raise self.refuses_to_look.pop(0)
        return self.db or self.open()

    def leave(self) -> None:
        """Note nothing."""

    def mend(self, error: sqlite3.Error) -> Database:
        """Go on with the next file."""
        self.mended.append(str(error))
        self.close()
        return self.open()

    def make_room(self) -> bool:
        """Let the file grow by the reserve, once."""
        self.is_short = self.reserve > 0
        if self.is_short and self.db is not None:
            (pages,) = self.db.execute("pragma page_count").fetchone()
            self.db.execute(f"pragma max_page_count = {pages + self.reserve}")
        self.reserve = 0
        return self.is_short

    def close(self) -> None:
        """Close what is open."""
        if self.db is not None:
            self.db.close()
        self.db = None


def store_of(nurse: Nurse, clock: ManualClock) -> StoreThread[Database]:
    """Return a store thread that does not run yet."""
    return StoreThread(nurse, clock=clock, waits=lambda: repeat(1.0), opening_patience_s=2.5)


@asynccontextmanager
async def serving(nurse: Nurse, clock: ManualClock) -> AsyncIterator[StoreThread[Database]]:
    """Run a store thread and close it."""
    async with anyio.create_task_group() as tasks:
        store = StoreThread[Database](
            nurse, clock=clock, waits=lambda: repeat(1.0), opening_patience_s=2.5
        )
        await tasks.start(store.serve)
        yield store
        await store.close()


def files(folder: Path) -> Iterator[Path]:
    """Name files."""
    return (folder / f"state-{number}.db" for number in range(9))


async def test_lock_at_the_opening_is_waited_for(tmp_path: Path) -> None:
    """A backup takes a second or two."""
    clock = ManualClock()
    nurse = Nurse(files(tmp_path), [FileLockedError("locked"), FileLockedError("locked")])
    async with anyio.create_task_group() as tasks:
        store = StoreThread[Database](
            nurse, clock=clock, waits=lambda: repeat(1.0), opening_patience_s=2.5
        )
        tasks.start_soon(store.serve)
        for _ in range(2):
            await clock.until_sleeping()
            clock.advance(1)

        assert await store.run(insert) == 1
        await store.close()


@pytest.mark.parametrize(
    ("error", "attempts"),
    [(FileLockedError("locked"), 4), (NewerSchemaError("newer"), 1)],
    ids=["lock", "newer"],
)
async def test_what_keeps_it_from_being_opened_is_told_in_the_end(
    tmp_path: Path, error: StoreError, attempts: int
) -> None:
    """A lock after a bound, since the gateway waits; what no wait heals at once."""
    clock = ManualClock()
    nurse = Nurse(files(tmp_path), [error] * 9)
    store = StoreThread[Database](
        nurse, clock=clock, waits=lambda: repeat(1.0), opening_patience_s=2.5
    )
    ended = anyio.Event()

    async def serve() -> None:
        with pytest.raises(type(error)):
            await store.serve()
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        for _ in range(attempts - 1):
            await clock.until_sleeping()
            clock.advance(1)
        await ended.wait()

    assert len(nurse.refuses_to_open) == 9 - attempts


async def test_work_is_done_on_the_mended_file(tmp_path: Path) -> None:
    """All of the group, once; nobody learns of the damage but by the log."""
    nurse = Nurse(files(tmp_path))
    async with serving(nurse, ManualClock()) as store:
        await anyio.to_thread.run_sync(damage, tmp_path / "state-0.db", nurse)

        assert await store.run(insert) == 1
        assert await store.read(count) == 1
    assert nurse.mended == ["file is not a database"]


async def test_damage_of_a_file_that_nobody_looks_after_is_told(tmp_path: Path) -> None:
    """To whoever asked."""

    def open_as_it_is() -> Database:
        (tmp_path / "state.db").write_text("no database " * 1_000)
        connection = sqlite3.connect(tmp_path / "state.db", check_same_thread=False)
        return Database(connection, execute_plugins=False)

    async with anyio.create_task_group() as tasks:
        store = StoreThread[Database](open_as_it_is)
        await tasks.start(store.serve)
        with pytest.raises(StoreUnavailableError, match="no SQLite database"):
            await store.read(count)
        await store.close()


async def test_read_is_done_on_the_mended_file(tmp_path: Path) -> None:
    """Damage is mostly found by reading."""
    nurse = Nurse(files(tmp_path))
    async with serving(nurse, ManualClock()) as store:
        await anyio.to_thread.run_sync(damage, tmp_path / "state-0.db", nurse)

        assert await store.read(count) == 0
        assert await store.run(insert) == 1
    assert len(nurse.mended) == 1


def damage(path: Path, nurse: Nurse) -> None:
    """Write over a file, and open it as it is."""
    nurse.close()
    path.write_text("no database " * 1_000)
    nurse.db = Database(
        sqlite3.connect(path, isolation_level=None, check_same_thread=False),
        execute_plugins=False,
    )


@pytest.mark.parametrize(
    "error",
    [FolderNotWritableError("the folder is gone"), sqlite3.OperationalError("no more")],
    ids=["store", "sqlite"],
)
async def test_file_that_cannot_be_put_right_is_told_and_tried_again(
    tmp_path: Path, error: Exception
) -> None:
    """The next work finds it as it is then."""
    nurse = Nurse(files(tmp_path))
    async with serving(nurse, ManualClock()) as store:
        nurse.refuses_to_look.append(error)
        with pytest.raises((StoreUnavailableError, sqlite3.OperationalError), match=str(error)):
            await store.run(insert)

        assert await store.run(insert) == 1


async def test_outage_is_told_once_and_its_end_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """However many pieces of work fail meanwhile."""
    clock = ManualClock()
    nurse = Nurse(files(tmp_path))
    async with serving(nurse, clock) as store:
        for _ in range(5):
            nurse.refuses_to_look.append(FolderNotWritableError("the folder is gone"))
            with pytest.raises(StoreUnavailableError):
                await store.run(insert)
            clock.advance(3)
        await store.run(insert)
        await store.run(insert)

    lines = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in lines] == ["ERROR", "WARNING"]
    assert "the folder is gone; new questions wait" in lines[0][1]
    assert "can be written again, after 15 s" in lines[1][1]


def fill_up(nurse: Nurse, reserve: int) -> None:
    """Leave no room in the file but for a reserve."""
    assert nurse.db is not None
    (pages,) = nurse.db.execute("pragma page_count").fetchone()
    nurse.db.execute(f"pragma max_page_count = {pages}")
    nurse.reserve = reserve


def insert_large(db: Database) -> int:
    """Add a row that needs a page of its own."""
    db.execute("create table if not exists large (words)")
    return int(db.execute("insert into large values (zeroblob(3000)) returning 1").fetchone()[0])


async def test_last_room_is_for_what_is_under_way(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """New work waits, and is done when there is room again."""
    nurse = Nurse(files(tmp_path))
    async with serving(nurse, ManualClock()) as store:
        await anyio.to_thread.run_sync(fill_up, nurse, 8)
        assert await store.run(insert_large) == 1

        with pytest.raises(StoreUnavailableError, match="what room is left is for the answers"):
            await store.run(insert, may_wait=True)
        assert await store.run(insert) == 1
        assert "can be written again" not in caplog.text
        nurse.is_short = False
        assert await store.run(insert, may_wait=True) == 2

    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


async def test_full_disk_without_a_reserve_is_told(tmp_path: Path) -> None:
    """To everybody, and what fits is kept."""
    nurse = Nurse(files(tmp_path))
    async with serving(nurse, ManualClock()) as store:
        await anyio.to_thread.run_sync(fill_up, nurse, 0)
        with pytest.raises(StoreUnavailableError, match="the disk is full"):
            await store.run(insert_large)

        assert await store.run(insert, may_wait=True) == 1


async def test_error_of_the_work_is_no_outage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told to whoever asked."""
    async with serving(Nurse(files(tmp_path)), ManualClock()) as store:
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            await store.run(lambda db: db.execute("insert into nowhere values (1)"))

    assert caplog.text == ""


async def test_files_are_closed_in_the_end(tmp_path: Path) -> None:
    """Also one that was mended."""
    nurse = Nurse(files(tmp_path))
    async with serving(nurse, ManualClock()) as store:
        await store.run(insert)

    assert nurse.db is None
