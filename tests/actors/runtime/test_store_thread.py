"""StoreThread on real files: shared commits, own failures, locks and full disks."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from sqlite_utils import Database

from hermes_chatto.actors.runtime.clock import ManualClock
from hermes_chatto.actors.runtime.store_thread import (
    StoreBusyError,
    StoreClosedError,
    StoreMisusedError,
    StoreStats,
    StoreThread,
    StoreUnavailableError,
)


class ExitNow(BaseException):
    """What means everybody, wherever it is said."""


SCHEMA = """
    PRAGMA foreign_keys = ON;
    CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT);
    CREATE TABLE IF NOT EXISTS mark (
        note_id INTEGER REFERENCES note (id) DEFERRABLE INITIALLY DEFERRED
    );
"""


@dataclass(frozen=True, slots=True)
class File:
    """A state file, and ways to open it."""

    path: Path
    journal_mode: str = "wal"

    def connect(self) -> sqlite3.Connection:
        """Open it without patience for locks."""
        return sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)

    def open(self) -> Database:
        """Open it the way the store does."""
        connection = self.connect()
        connection.execute(f"PRAGMA journal_mode = {self.journal_mode}")
        connection.executescript(SCHEMA)
        return Database(connection, execute_plugins=False)


@pytest.fixture
def file(tmp_path: Path) -> File:
    """Return a file that does not exist yet."""
    return File(tmp_path / "state.db")


@dataclass(slots=True)
class Neighbour:
    """Another process that uses the same file; its calls stay off the event loop."""

    connection: sqlite3.Connection

    async def execute(self, *statements: str) -> list[Any]:
        """Run statements and return the rows of the last one."""

        def run() -> list[Any]:
            rows: list[Any] = []
            for statement in statements:
                rows = self.connection.execute(statement).fetchall()
            return rows

        return await anyio.to_thread.run_sync(run)


@pytest.fixture
def neighbour(file: File) -> Iterator[Neighbour]:
    """Return a second user of the file."""
    file.open().close()
    connection = file.connect()
    yield Neighbour(connection)
    connection.close()


@asynccontextmanager
async def serving(
    opener: Callable[[], Database], clock: ManualClock | None = None
) -> AsyncIterator[StoreThread[Database]]:
    """Run a store thread and close it."""
    async with anyio.create_task_group() as tasks:
        store = StoreThread(opener, clock=clock, waits=lambda: repeat(1.0), busy_patience_s=2.5)
        await tasks.start(store.serve)
        yield store
        await store.close()


class Hold:
    """Work that keeps the thread busy until it is let go, so that more can gather."""

    def __init__(self) -> None:
        self._running = threading.Event()
        self._released = threading.Event()

    def __call__(self, _db: Database) -> None:
        self._running.set()
        self._released.wait(10)

    async def until_running(self) -> None:
        """Wait until the thread is busy with it."""
        assert await anyio.to_thread.run_sync(self._running.wait, 10)

    def release(self) -> None:
        """Let the thread go on."""
        self._released.set()


def insert(number: int) -> Callable[[Database], int]:
    """Return work that stores a note and returns its number."""

    def work(db: Database) -> int:
        db.execute("INSERT INTO note (id, text) VALUES (?, 'x')", (number,))
        return number

    return work


def numbers(db: Database) -> list[int]:
    """Return the numbers of all notes."""
    return [number for (number,) in db.execute("SELECT id FROM note ORDER BY id").fetchall()]


async def all_at_once(
    store: StoreThread[Database], works: Sequence[Callable[[Database], Any]]
) -> list[Any]:
    """Let the works wait together, and return what each came to: its value or its error."""
    hold = Hold()
    results: list[Any] = [None] * len(works)

    async def run(place: int, work: Callable[[Database], Any]) -> None:
        try:
            results[place] = await store.run(work)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
            results[place] = error

    async with anyio.create_task_group() as senders:
        senders.start_soon(store.read, hold)
        await hold.until_running()
        for place, work in enumerate(works):
            senders.start_soon(run, place, work)
        await anyio.wait_all_tasks_blocked()
        hold.release()
    return results


async def test_work_is_committed_before_it_is_acknowledged(
    file: File, neighbour: Neighbour
) -> None:
    """Another process sees it as soon as the caller goes on."""
    async with serving(file.open) as store:
        result = await store.run(insert(7))

        assert result == 7
        assert await neighbour.execute("SELECT id FROM note") == [(7,)]


async def test_everything_that_waits_shares_one_commit(file: File) -> None:
    """The disk is waited for once."""
    async with serving(file.open) as store:
        results = await all_at_once(store, [insert(number) for number in range(100)])

        assert results == list(range(100))
        assert store.stats == StoreStats(commits=1, items=100, reads=1)
        assert await store.read(numbers) == list(range(100))


async def test_one_commit_does_not_grow_without_bound(file: File) -> None:
    """Otherwise the first to wait would wait for the last."""
    async with serving(file.open) as store:
        await all_at_once(store, [insert(number) for number in range(300)])

        assert store.stats.commits == 2


async def test_lone_work_does_not_wait_for_company(file: File) -> None:
    """There is no window: each is committed as it comes."""
    async with serving(file.open) as store:
        for number in range(3):
            await store.run(insert(number))

        assert store.stats == StoreStats(commits=3, items=3)


async def test_failed_work_fails_alone_and_leaves_nothing(file: File) -> None:
    """Its own half-done changes are undone, its neighbours' are kept, in the same commit."""

    def half_done(db: Database) -> None:
        insert(50)(db)
        insert(0)(db)

    async with serving(file.open) as store:
        first, failed, last = await all_at_once(store, [insert(0), half_done, insert(1)])

        assert (first, last) == (0, 1)
        assert isinstance(failed, sqlite3.IntegrityError)
        assert await store.read(numbers) == [0, 1]
        assert store.stats.commits == 1


async def test_work_that_costs_the_transaction_is_the_only_one_to_fail(file: File) -> None:
    """SQLite rolled everything back; the others are done again, each alone."""

    def roll_back(db: Database) -> None:
        db.execute("INSERT OR ROLLBACK INTO note (id) VALUES (0)")

    async with serving(file.open) as store:
        results = await all_at_once(store, [insert(0), roll_back, insert(1)])
        last = await all_at_once(store, [insert(2), roll_back])

        assert isinstance(results.pop(1), sqlite3.IntegrityError)
        assert results == [0, 1]
        assert isinstance(last[1], sqlite3.IntegrityError)
        assert await store.read(numbers) == [0, 1, 2]


async def test_work_that_spoils_the_commit_is_the_only_one_to_fail(file: File) -> None:
    """A deferred constraint shows only there."""

    def mark_nothing(db: Database) -> None:
        db.execute("INSERT INTO mark VALUES (99)")

    async with serving(file.open) as store:
        first, failed, last = await all_at_once(store, [insert(0), mark_nothing, insert(1)])

        assert (first, last) == (0, 1)
        assert isinstance(failed, sqlite3.IntegrityError)
        assert await store.read(numbers) == [0, 1]


async def test_work_may_use_the_transactions_of_the_library(file: File) -> None:
    """They nest as savepoints, its writing methods stay inside, and an undone one is undone."""

    def work(db: Database) -> None:
        with db.atomic():
            db.table("note").insert({"id": 1, "text": "kept"})
        with suppress(LookupError), db.atomic():
            db.table("note").insert({"id": 2, "text": "undone"})
            raise LookupError

    async with serving(file.open) as store:
        await store.run(work)

        assert await store.read(numbers) == [1]
        assert store.stats.commits == 1


async def test_work_that_ends_its_transaction_is_a_mistake_everybody_in_it_learns_of(
    file: File,
) -> None:
    """What became of their changes is not known, so nobody is told they are stored."""

    def commit(db: Database) -> None:
        db.conn.commit()

    async with serving(file.open) as store:
        results = await all_at_once(store, [insert(0), commit, insert(1)])

        assert [type(result) for result in results] == [StoreMisusedError] * 3
        assert store.stats.commits == 0
        assert await store.run(insert(2)) == 2


async def test_read_sees_the_writes_before_it(file: File) -> None:
    """Order is kept between the two, though they share no transaction."""
    seen: list[list[int]] = []
    hold = Hold()

    async with serving(file.open) as store, anyio.create_task_group() as senders:

        async def read() -> None:
            seen.append(await store.read(numbers))

        senders.start_soon(store.run, hold)
        await hold.until_running()
        for step in [lambda: store.run(insert(1)), read, lambda: store.run(insert(2)), read]:
            senders.start_soon(step)
        await anyio.wait_all_tasks_blocked()
        hold.release()

    assert seen == [[1], [1, 2]]
    assert store.stats == StoreStats(commits=3, items=3, reads=2)


async def test_failed_read_fails_alone(file: File) -> None:
    """With the error it made."""
    async with serving(file.open) as store:
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            await store.read(lambda db: db.execute("SELECT * FROM nowhere").fetchall())

        assert await store.read(numbers) == []


async def test_read_that_leaves_a_transaction_open_is_a_mistake(file: File) -> None:
    """It would swallow the next commit."""
    async with serving(file.open) as store:
        with pytest.raises(StoreMisusedError, match="left a transaction open"):
            await store.read(lambda db: db.execute("BEGIN"))

        await store.run(insert(1))
        assert await store.read(numbers) == [1]


async def test_lock_of_another_process_is_waited_for(
    file: File, neighbour: Neighbour, caplog: pytest.LogCaptureFixture
) -> None:
    """With a back-off, and nothing is lost."""
    clock = ManualClock()
    async with serving(file.open, clock) as store, anyio.create_task_group() as senders:
        await neighbour.execute("BEGIN IMMEDIATE")
        senders.start_soon(store.run, insert(1))
        await clock.until_sleeping()
        await neighbour.execute("COMMIT")
        clock.advance(1)

    assert await neighbour.execute("SELECT id FROM note") == [(1,)]
    assert store.stats == StoreStats(commits=1, items=1, busy=1)
    assert "locked by another process, waiting" in caplog.text


async def test_lock_that_is_kept_is_an_error_in_the_end(file: File, neighbour: Neighbour) -> None:
    """Everybody who waited is told, nothing was changed, and later work is done."""
    clock = ManualClock()
    errors: list[StoreBusyError] = []

    async with serving(file.open, clock) as store:

        async def run(number: int) -> None:
            try:
                await store.run(insert(number))
            except StoreBusyError as error:
                errors.append(error)

        async with anyio.create_task_group() as senders:
            await neighbour.execute("BEGIN IMMEDIATE")
            for number in (1, 2):
                senders.start_soon(run, number)
            for seconds in (1, 1, 0.5):
                await clock.until_sleeping()
                clock.advance(seconds)
        await neighbour.execute("ROLLBACK")

        assert await store.run(insert(3)) == 3
        assert await store.read(numbers) == [3]
    assert len(set(map(id, errors))) == 2
    assert all(str(file.path) in str(error) for error in errors)


async def test_reader_in_the_way_of_a_commit_is_waited_for(
    file: File, neighbour: Neighbour
) -> None:
    """Without a write-ahead log a reader blocks the commit; the work is done once all the same."""
    rollback_journal = File(file.path, "delete")
    await neighbour.execute("PRAGMA journal_mode = delete")
    clock = ManualClock()
    async with serving(rollback_journal.open, clock) as store:
        async with anyio.create_task_group() as senders:
            await neighbour.execute("BEGIN", "SELECT count(*) FROM note")
            senders.start_soon(store.run, insert(1))
            await clock.until_sleeping()
            await neighbour.execute("COMMIT")
            clock.advance(1)

        assert await store.read(numbers) == [1]
    assert store.stats.busy == 1


async def test_lock_in_the_way_of_a_read_is_waited_for(file: File, neighbour: Neighbour) -> None:
    """An exclusive one; reading waits for nothing less."""
    rollback_journal = File(file.path, "delete")
    await neighbour.execute("PRAGMA journal_mode = delete")
    clock = ManualClock()
    async with (
        serving(rollback_journal.open, clock) as store,
        anyio.create_task_group() as senders,
    ):
        await neighbour.execute("BEGIN EXCLUSIVE")
        senders.start_soon(store.read, numbers)
        await clock.until_sleeping()
        await neighbour.execute("COMMIT")
        clock.advance(1)

    assert store.stats == StoreStats(reads=1, busy=1)


async def test_full_disk_is_told_and_ends_when_there_is_room(file: File) -> None:
    """Who fits is stored, who does not is told where and why; later the same call works."""

    def open_small() -> Database:
        db = file.open()
        db.execute("PRAGMA max_page_count = 20")
        return db

    def insert_large(db: Database) -> None:
        db.execute("INSERT INTO note (id, text) VALUES (50, ?)", ("x" * 200_000,))

    async with serving(open_small) as store:
        first, refused, last = await all_at_once(store, [insert(1), insert_large, insert(2)])
        kept = await store.read(numbers)
        await store.read(lambda db: db.execute("PRAGMA max_page_count = 2000").fetchall())
        await store.run(insert_large)

        assert (first, last) == (1, 2)
        assert isinstance(refused, StoreUnavailableError)
        assert "disk is full" in str(refused)
        assert str(file.path) in str(refused)
        assert kept == [1, 2]
        assert await store.read(numbers) == [1, 2, 50]


async def test_file_that_cannot_be_written_is_told_to_everybody(file: File) -> None:
    """Reading goes on."""

    def open_read_only() -> Database:
        file.open().close()
        connection = sqlite3.connect(
            f"file:{file.path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
        return Database(connection, execute_plugins=False)

    async with serving(open_read_only) as store:
        results = await all_at_once(store, [insert(1), insert(2)])

        assert [type(result) for result in results] == [StoreUnavailableError] * 2
        assert "cannot be written" in str(results[0])
        assert await store.read(numbers) == []


async def test_database_in_memory_works_too() -> None:
    """For whoever tests something else."""

    def open_in_memory() -> Database:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.executescript(SCHEMA)
        return Database(connection, execute_plugins=False)

    async with serving(open_in_memory) as store:
        await store.run(insert(1))

        assert await store.read(numbers) == [1]


async def test_work_of_a_cancelled_caller_is_done(file: File) -> None:
    """It had been accepted; who was cancelled reads the rows again."""
    async with serving(file.open) as store:
        hold = Hold()
        async with anyio.create_task_group() as senders:
            senders.start_soon(store.run, hold)
            await hold.until_running()
            senders.start_soon(store.run, insert(1))
            await anyio.wait_all_tasks_blocked()
            senders.cancel_scope.cancel()
        hold.release()

        assert await store.read(numbers) == [1]
        assert store.stats.items == 2


async def test_close_does_what_waits_and_refuses_the_rest(
    file: File, neighbour: Neighbour
) -> None:
    """And leaves nothing beside the file once nobody else has it open."""
    hold = Hold()
    async with anyio.create_task_group() as tasks:
        store = StoreThread(file.open)
        await tasks.start(store.serve)
        tasks.start_soon(store.run, hold)
        await hold.until_running()
        tasks.start_soon(store.run, insert(1))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(store.close)
        await anyio.wait_all_tasks_blocked()

        with pytest.raises(StoreClosedError):
            await store.run(insert(2))
        hold.release()
        await store.close()
        with pytest.raises(StoreClosedError):
            await store.read(numbers)

    assert await neighbour.execute("SELECT id FROM note") == [(1,)]


async def test_close_without_serving_turns_away_who_waits(file: File) -> None:
    """Nobody waits for a thread that never comes."""
    store = StoreThread(file.open)
    refused: list[StoreClosedError] = []

    async def run() -> None:
        try:
            await store.run(insert(1))
        except StoreClosedError as error:
            refused.append(error)

    async with anyio.create_task_group() as senders:
        senders.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        await store.close()

    assert len(refused) == 1


async def test_cancelled_thread_finishes_its_transaction_and_turns_away_the_rest(
    file: File, neighbour: Neighbour
) -> None:
    """What is committed is acknowledged; what is not is not."""
    hold = Hold()
    results: list[object] = []
    store = StoreThread(file.open)

    def hold_and_insert(db: Database) -> int:
        hold(db)
        return insert(1)(db)

    async def run(work: Callable[[Database], int]) -> None:
        try:
            results.append(await store.run(work))
        except StoreClosedError as error:
            results.append(type(error))

    async with anyio.create_task_group() as senders, anyio.create_task_group() as tasks:
        await tasks.start(store.serve)
        senders.start_soon(run, hold_and_insert)
        await hold.until_running()
        senders.start_soon(run, insert(2))
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
        hold.release()

    assert results == [1, StoreClosedError]
    assert await neighbour.execute("SELECT id FROM note") == [(1,)]


async def test_thread_whose_task_is_cancelled_by_the_loop_leaves_its_work_the_database(
    file: File,
) -> None:
    """A loop that ends waits for nobody; a connection that is closed in use ends the process."""
    hold = Hold()
    events: list[str] = []

    class Closing(sqlite3.Connection):
        def close(self) -> None:
            events.append("closed")
            super().close()

    def opener() -> Database:
        file.open().close()
        connection = sqlite3.connect(
            file.path, factory=Closing, isolation_level=None, check_same_thread=False
        )
        return Database(connection, execute_plugins=False)

    def hold_and_insert(db: Database) -> None:
        hold(db)
        insert(1)(db)
        events.append("worked")

    loop = asyncio.get_running_loop()
    store = StoreThread(opener)
    server = loop.create_task(store.serve())
    caller = loop.create_task(store.run(hold_and_insert))
    await hold.until_running()
    server.cancel()
    await anyio.wait_all_tasks_blocked()
    hold.release()
    await asyncio.wait({server, caller})

    assert events == ["worked", "closed"]
    assert server.cancelled()
    assert isinstance(caller.exception(), StoreClosedError)


async def test_thread_cancelled_while_it_waits_for_a_lock_acknowledges_nothing(
    file: File, neighbour: Neighbour
) -> None:
    """The commit never came."""
    rollback_journal = File(file.path, "delete")
    await neighbour.execute("PRAGMA journal_mode = delete")
    clock = ManualClock()
    store = StoreThread(rollback_journal.open, clock=clock)
    refused = anyio.Event()

    async def run() -> None:
        with pytest.raises(StoreClosedError):
            await store.run(insert(1))
        refused.set()

    async with anyio.create_task_group() as senders, anyio.create_task_group() as tasks:
        await tasks.start(store.serve)
        await neighbour.execute("BEGIN", "SELECT count(*) FROM note")
        senders.start_soon(run)
        await clock.until_sleeping()
        tasks.cancel_scope.cancel()

    assert refused.is_set()
    assert await neighbour.execute("COMMIT", "SELECT id FROM note") == []


async def test_opener_that_fails_is_told_to_the_starter_and_to_who_waits(tmp_path: Path) -> None:
    """A gateway that cannot remember anything must not come up."""
    store = StoreThread(File(tmp_path / "missing" / "state.db").open)
    refused = anyio.Event()

    async def run() -> None:
        with pytest.raises(StoreClosedError):
            await store.run(insert(1))
        refused.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(sqlite3.OperationalError, match="unable to open"):
            await tasks.start(store.serve)

    assert refused.is_set()


async def test_thread_serves_once(file: File) -> None:
    """Two would mix their transactions."""
    async with serving(file.open) as store:
        with pytest.raises(RuntimeError, match="serves once"):
            await store.serve()


async def test_exit_inside_work_ends_the_thread_and_keeps_nothing(
    file: File, neighbour: Neighbour
) -> None:
    """Only errors belong to the work; whoever says exit means everybody."""

    def leave(db: Database) -> None:
        insert(1)(db)
        raise ExitNow

    async def serve_and_leave() -> None:
        store = StoreThread(file.open)
        async with anyio.create_task_group() as tasks:
            await tasks.start(store.serve)
            await store.run(leave)

    with pytest.raises(BaseExceptionGroup) as raised:
        await serve_and_leave()

    assert raised.group_contains(ExitNow)
    assert await neighbour.execute("SELECT id FROM note") == []
