"""Small writes that may wait: they go along with the next commit, or by themselves after a while.

A commit waits for the disk. What no crash can harm by losing it (how far was read, that a call was
made) is no reason for one between a question and its run.
"""

import logging
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from anyio.abc import TaskGroup

from ...store.database import Database
from ..runtime.clock import Clock
from ..runtime.store_errors import StoreBusyError, StoreClosedError, StoreUnavailableError
from ..runtime.store_thread import StoreThread

__all__ = ["Alongside", "Write"]

log = logging.getLogger(__name__)

EVERY_S = 1.0
"""However much changes, these writes go along no more often."""
ALONE_S = 2.0
"""So long they wait for somebody else's commit, and after the last one that took some along."""

Write = Callable[[Database], object]


class Alongside:
    """Holds the newest write of each kind until it is written."""

    def __init__(self, store: StoreThread[Database], clock: Clock, tasks: TaskGroup) -> None:
        """Hold nothing yet.

        Args:
            store: the only caller of SQLite.
            clock: measures the waits.
            tasks: runs what writes when nobody else does.
        """
        self._store = store
        self._clock = clock
        self._tasks = tasks
        self._waiting: dict[Hashable, Write] = {}
        self._written_at = -EVERY_S
        self._is_timed = False

    def put(self, key: Hashable, write: Write) -> None:
        """Have something written soon; a newer one of the same key takes its place."""
        self._waiting[key] = write
        if not self._is_timed:
            self._is_timed = True
            self._tasks.start_soon(self._write_alone)

    @contextmanager
    def taken(self) -> Iterator[list[Write]]:
        """Lend what is due to a block that commits it; a failing block gives it back."""
        if self._clock.monotonic() - self._written_at < EVERY_S or not self._waiting:
            yield []
            return
        with self._all() as writes:
            yield writes

    async def flush(self) -> None:
        """Write what waits now, if the store takes it; what it does not take goes on waiting."""
        if not self._waiting:
            return
        try:
            with self._all() as writes:
                await self._store.run(lambda db: [write(db) for write in writes])
        except (StoreBusyError, StoreUnavailableError, StoreClosedError) as error:
            log.info("%d small writes go on waiting: %s", len(self._waiting), error)

    @contextmanager
    def _all(self) -> Iterator[list[Write]]:
        taken, self._waiting = self._waiting, {}
        before, self._written_at = self._written_at, self._clock.monotonic()
        try:
            yield list(taken.values())
        except BaseException:
            self._waiting = taken | self._waiting
            self._written_at = before
            raise

    async def _write_alone(self) -> None:
        """Write what nobody took along, once nobody has written anything for a while."""
        wait_s = ALONE_S
        while wait_s > 0:
            await self._clock.sleep(wait_s)
            quiet_s = self._clock.monotonic() - self._written_at
            wait_s = ALONE_S - quiet_s if self._waiting else 0.0
        self._is_timed = False
        await self.flush()
