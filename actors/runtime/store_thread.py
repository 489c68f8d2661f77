"""The one who talks to SQLite: work is queued, run in one thread, committed together.

There is no timed window. While one commit waits for the disk, more work gathers, and
all of it goes into the next: with one caller each commit is its own, with hundreds the
disk is waited for a few times.
"""

import logging
import sqlite3
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any, Generic, NoReturn, TypeVar, assert_never

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus

from ...store.state_errors import StoreError
from .backoff import backoff
from .clock import Clock, SystemClock
from .file_keeping import JustOpen, Keeper, run_group
from .group_commit import (
    Connected,
    DatabaseT,
    Failure,
    Outcome,
    TransactionLostError,
    Value,
    read_group,
    write_group,
)
from .outage import Outage
from .patience import patiently
from .store_errors import (
    StoreBusyError,
    StoreClosedError,
    StoreMisusedError,
    StoreUnavailableError,
    explain,
    is_busy,
)

__all__ = [
    "StoreBusyError",
    "StoreClosedError",
    "StoreMisusedError",
    "StoreStats",
    "StoreThread",
    "StoreUnavailableError",
]

_log = logging.getLogger(__name__)

GROUP_LIMIT = 256  # pieces of work in one commit; more would make the first wait for the last

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store thread has done so far."""

    commits: int = 0
    """Transactions committed."""
    items: int = 0
    """Pieces of work given to `run` and answered, failed ones included."""
    reads: int = 0
    """Pieces of work given to `read` and answered, failed ones included."""
    busy: int = 0
    """How often somebody else's lock was in the way."""


@dataclass(slots=True, eq=False)
class _Piece(Generic[DatabaseT]):
    """Work on its way through the thread."""

    work: Callable[[DatabaseT], Any]
    is_read: bool
    may_wait: bool = False
    outcome: Outcome = field(default_factory=lambda: Failure(StoreClosedError()))
    """Holds until there is a real one."""
    answered: anyio.Event = field(default_factory=anyio.Event)


def _default_waits() -> Iterator[float]:
    return backoff(first=0.05, factor=2, longest=2)


class StoreThread(Generic[DatabaseT]):
    """Run work on a database in one thread at a time.

    Work must touch nothing but the database, must not end the transaction it runs in,
    and must return plain values, nothing that still reads. It may be run again when its
    transaction was rolled back.
    """

    def __init__(
        self,
        source: Callable[[], DatabaseT] | Keeper[DatabaseT],
        *,
        busy_patience_s: float = 30.0,
        opening_patience_s: float = 0.0,
        clock: Clock | None = None,
        waits: Callable[[], Iterator[float]] = _default_waits,
    ) -> None:
        """Open nothing yet.

        Args:
            source: opens the database, or also looks after its file; runs in the thread. The
                connection must come with `check_same_thread=False`, since it is not always
                the same one.
            busy_patience_s: how long a lock of another process is waited for, beyond the
                busy timeout of the connection.
            opening_patience_s: how long a lock, or a full disk, is waited for at the opening.
            clock: waits for locks; None is the system's.
            waits: makes an endless row of seconds between two attempts.
        """
        self._keeper = JustOpen(source) if callable(source) else source
        self._opening_patience_s = opening_patience_s
        self._busy_patience_s = busy_patience_s
        self._clock = SystemClock() if clock is None else clock
        self._waits = waits
        self._limiter = anyio.CapacityLimiter(1)
        self._in_use = threading.Lock()
        self._queue: deque[_Piece[DatabaseT]] = deque()
        self._news = anyio.Event()
        self._ended = anyio.Event()
        self._is_serving = False
        self._is_closed = False
        self._path = ""
        self._outage = Outage(self._clock)
        self._stats = StoreStats()

    @property
    def stats(self) -> StoreStats:
        """What has been done so far, as of now."""
        return self._stats

    async def run(
        self, work: Callable[[DatabaseT], ResultT], *, may_wait: bool = False
    ) -> ResultT:
        """Do work that writes, and return once it is committed.

        Cancelled, it may have been done all the same.

        Args:
            work: what to do.
            may_wait: whether it leaves the last room on a disk to what is under way.

        Raises:
            StoreBusyError: another process held the lock for too long.
            StoreUnavailableError: disk full, disk or file broken, file not writable.
            StoreClosedError: the store is closed.
            StoreMisusedError: this work, or some that shared its transaction, ended it.
            Exception: what the work raised; then nothing of it was kept.
        """
        result: ResultT = await self._answer_to(_Piece(work, is_read=False, may_wait=may_wait))
        return result

    async def read(self, work: Callable[[DatabaseT], ResultT]) -> ResultT:
        """Do work that only reads; it sees everything that was given to `run` before.

        Raises:
            StoreBusyError: another process held the lock for too long.
            StoreUnavailableError: disk or file broken.
            StoreClosedError: the store is closed.
            StoreMisusedError: the work left a transaction open.
            Exception: what the work raised.
        """
        result: ResultT = await self._answer_to(_Piece(work, is_read=True))
        return result

    async def serve(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Open the database and do what is queued, until closed or cancelled.

        Cancelled, it finishes the transaction it is in; what waits is answered with
        StoreClosedError.

        Args:
            task_status: told when the database is open, for `tasks.start`.

        Raises:
            RuntimeError: it serves already, or has served before.
            Exception: what the opener raised.
        """
        if self._is_serving:
            message = "a store thread serves once"
            raise RuntimeError(message)
        self._is_serving = True
        try:
            async with self._opened():
                task_status.started()
                while group := await self._next_group():
                    await self._perform(group)
        finally:
            self._end()

    async def close(self) -> None:
        """Refuse new work, do what is queued, and close the database."""
        self._is_closed = True
        self._news.set()
        if self._is_serving:
            await self._ended.wait()
        else:
            self._end()

    async def _answer_to(self, piece: _Piece[DatabaseT]) -> Any:  # noqa: ANN401 - as the work says
        if self._is_closed:
            raise StoreClosedError
        self._queue.append(piece)
        self._news.set()
        await piece.answered.wait()
        match piece.outcome:
            case Value(value):
                return value
            case Failure(error):
                raise error
            case unknown:
                assert_never(unknown)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        try:
            database = await patiently(
                partial(self._in_thread, self._keeper.open),
                self._opening_patience_s,
                self._waits(),
                self._clock,
                _passes,
            )
            self._path = await self._in_thread(partial(_path_of, database))
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self._in_thread(self._keeper.close)

    async def _next_group(self) -> Sequence[_Piece[DatabaseT]]:
        """Wait for work and take what there is of one sort; empty: closed."""
        while not self._queue and not self._is_closed:
            self._news = anyio.Event()
            await self._news.wait()
        is_read = bool(self._queue) and self._queue[0].is_read
        group = list(takewhile(lambda piece: piece.is_read is is_read, self._queue))[:GROUP_LIMIT]
        for _ in group:
            self._queue.popleft()
        return group

    async def _perform(self, group: Sequence[_Piece[DatabaseT]]) -> None:
        """Do a group of work and answer everybody in it, whatever happens."""
        try:
            await self._settle(group)
        finally:
            for piece in group:
                piece.answered.set()

    async def _settle(self, group: Sequence[_Piece[DatabaseT]]) -> None:
        """Do a group of work; if that fails as a whole, do each piece alone."""
        try:
            outcomes = await patiently(
                partial(self._in_thread, partial(self._do, group)),
                self._busy_patience_s,
                self._waits(),
                self._clock,
                self._waits_for,
            )
        except StoreMisusedError as error:
            outcomes = [Failure(StoreMisusedError(str(error))) for _ in group]
        except StoreError as error:
            outcomes = [Failure(StoreUnavailableError(str(error))) for _ in group]
        except (sqlite3.Error, TransactionLostError) as error:
            if len(group) > 1 and not is_busy(error):
                for piece in group:
                    await self._perform([piece])
                return
            outcomes = [Failure(error) for _ in group]
        self._answer(group, outcomes)

    def _do(self, group: Sequence[_Piece[DatabaseT]]) -> list[Outcome]:
        """Run a group of work, in the thread."""
        wait = partial(_wait, self._path)

        def choose(is_short: bool) -> list[Callable[[DatabaseT], Any]]:  # noqa: FBT001
            return [wait if is_short and piece.may_wait else piece.work for piece in group]

        return run_group(self._keeper, read_group if group[0].is_read else write_group, choose)

    def _waits_for(self, error: Exception) -> bool:
        """Tell whether a lock is in the way, and note it."""
        if not is_busy(error):
            return False
        self._stats = replace(self._stats, busy=self._stats.busy + 1)
        self._outage.waits_for_lock(self._path, error)
        return True

    def _answer(self, group: Sequence[_Piece[DatabaseT]], outcomes: Sequence[Outcome]) -> None:
        """Note what became of a group; it is told to the callers right after."""
        for piece, outcome in zip(group, outcomes, strict=True):
            match outcome:
                case Value():
                    piece.outcome = outcome
                case Failure(error):
                    piece.outcome = Failure(explain(error, self._path))
                    self._outage.notice(piece.outcome.error)
                case unknown:
                    assert_never(unknown)
        was = self._stats
        if group[0].is_read:
            self._stats = replace(was, reads=was.reads + len(group))
        else:
            is_committed = any(isinstance(outcome, Value) for outcome in outcomes)
            if is_committed and not self._keeper.is_short:
                self._outage.end(self._path)
            self._stats = replace(
                was, items=was.items + len(group), commits=was.commits + is_committed
            )

    async def _in_thread(self, step: Callable[[], ResultT]) -> ResultT:
        """Run a step when the one before has left the database.

        An event loop that ends cancels tasks without waiting for their threads: the close that
        follows would take the connection from under a statement, which ends the process.
        """
        return await anyio.to_thread.run_sync(self._alone, step, limiter=self._limiter)

    def _alone(self, step: Callable[[], ResultT]) -> ResultT:
        with self._in_use:
            return step()

    def _end(self) -> None:
        """Turn away what still waits, and tell whoever waits for the end."""
        self._is_closed = True
        while self._queue:
            self._queue.popleft().answered.set()
        self._ended.set()


def _path_of(database: Connected) -> str:
    path: str = database.conn.execute("PRAGMA database_list").fetchone()[2]
    return path or "database in memory"


def _passes(error: Exception) -> bool:
    """Tell whether what is in the way of opening the file may pass, and say so."""
    if not isinstance(error, StoreError) or not error.may_pass:
        return False
    _log.warning("waiting for the state file: %s", error)
    return True


def _wait(path: str, _: object) -> NoReturn:
    """Leave the last room to what is under way."""
    message = f"{path}: the disk is full, what room is left is for the answers under way"
    raise StoreUnavailableError(message)
