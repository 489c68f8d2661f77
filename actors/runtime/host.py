"""A task group held open between two calls that come from two different tasks.

A task group belongs to the task that entered it. The gateway calls `connect` and
`disconnect` in short-lived tasks of their own: a group that one entered and the other
left would break, and worse, a child that crashed in between would cancel its siblings
without anybody being told. So one task of ours enters and leaves the group, and the two
calls only talk to it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
from anyio.abc import TaskGroup

__all__ = ["HostEndedError", "HostRunningError", "HostStuckError", "TaskHost"]

_log = logging.getLogger(__name__)


class HostRunningError(Exception):
    """The host was started while it runs."""

    def __init__(self) -> None:
        """Say what to do instead."""
        super().__init__("already started; stop it first")


class HostEndedError(Exception):
    """The task group ended, and no error of a task says why."""


class HostStuckError(Exception):
    """Tasks of the group go on although they were cancelled."""

    def __init__(self, waited_s: float) -> None:
        """Say how long was waited for them."""
        super().__init__(f"some tasks did not end within {waited_s:g} s, although cancelled")


class _Run:
    """One life of a host, from a start to the end of its task."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.stopping = anyio.Event()
        self.started = anyio.Event()
        """Set when the body is through, or will never be."""
        self.ended = anyio.Event()
        self.failure: BaseException | None = None
        """Why it could not start; None: it could, or it is not known yet."""
        self.task_id = 0

    def contains_caller(self) -> bool:
        """Tell whether the current task must end before this run can."""
        tasks = {task.id: task for task in anyio.get_running_tasks()}
        task_id: int | None = anyio.get_current_task().id
        while task_id in tasks and task_id != self.task_id:
            task_id = tasks[task_id].parent_id
        return task_id == self.task_id


class TaskHost:
    """Own a task group from `start` to `stop`, whoever calls them."""

    def __init__(
        self,
        body: Callable[[TaskGroup], Awaitable[None]],
        *,
        drain: Callable[[], Awaitable[None]],
        on_crash: Callable[[BaseException], None],
        grace_s: float,
        cancel_grace_s: float = 2.0,
    ) -> None:
        """Run nothing yet.

        Args:
            body: starts the tasks and returns when all of it is usable.
            drain: called at a stop, while the tasks still run; ends them in order.
            on_crash: called once, after the group is gone, when it ended unasked after
                a successful start: with the error of the child that crashed (a group of
                them if several did), or with HostEndedError.
            grace_s: how long `drain` may take before everything is cancelled.
            cancel_grace_s: how long cancelled tasks may take to clean up, after that.
        """
        self._body = body
        self._drain = drain
        self._on_crash = on_crash
        self._grace_s = grace_s
        self._patience_s = grace_s + cancel_grace_s
        self._run: _Run | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a task group, starting and stopping included."""
        return self._run is not None and not self._run.ended.is_set()

    async def start(self) -> None:
        """Enter the group and wait until the body is through.

        Cancelled meanwhile, it first stops what it began, and waits for the end of that
        no longer than `stop` does. A host that is just stopping is waited for.

        Raises:
            HostRunningError: it was started before and nobody has stopped it.
            HostEndedError: it was stopped before the body was through.
            HostStuckError: the run before this one does not end.
            BaseException: what the body, or a task it started, raised meanwhile.
        """
        if self._run is not None and self.is_running:
            if not self._run.stopping.is_set():
                raise HostRunningError
            await self._wait_for_end(self._run)
        run = self._run = _Run()
        task = asyncio.get_running_loop().create_task(self._hold(run), name="task host")
        task.add_done_callback(partial(self._conclude, run))
        try:
            await run.started.wait()
        except asyncio.CancelledError:
            self._request_stop(run)
            with anyio.move_on_after(self._patience_s, shield=True):
                await run.ended.wait()
            if not run.ended.is_set():
                _log.error("given up while starting", exc_info=HostStuckError(self._patience_s))
            raise
        if run.failure is not None:
            raise run.failure

    async def stop(self) -> None:
        """Drain, end all tasks and leave the group; without a run, there is nothing to do.

        Called from one of the tasks of the group, it only asks for the stop and returns
        at once: waiting would be waiting for itself. Cancelled, it leaves the host to
        stop by itself. What a task or `drain` raises while stopping is logged.

        Raises:
            HostStuckError: a task ignores its cancellation.
        """
        run = self._run
        if run is None:
            return
        self._request_stop(run)
        if not run.contains_caller():
            await self._wait_for_end(run)

    def _request_stop(self, run: _Run) -> None:
        run.stopping.set()
        if not run.started.is_set():
            run.scope.cancel()  # nothing to drain yet

    async def _wait_for_end(self, run: _Run) -> None:
        with anyio.move_on_after(self._patience_s):
            await run.ended.wait()
        if not run.ended.is_set():
            raise HostStuckError(self._patience_s)

    async def _hold(self, run: _Run) -> None:
        """Enter the group, stay in it until asked to stop, and leave it."""
        run.task_id = anyio.get_current_task().id
        with run.scope:
            async with anyio.create_task_group() as tasks:
                await self._body(tasks)
                run.started.set()
                await run.stopping.wait()
                with anyio.move_on_after(self._grace_s, shield=True) as grace:
                    await self._drain()
                if grace.cancelled_caught:
                    _log.warning("draining took more than %g s, cut short", self._grace_s)
                tasks.cancel_scope.cancel()

    def _conclude(self, run: _Run, task: asyncio.Task[None]) -> None:
        """Tell whoever has to know how a run ended."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            reason = _sole(error)
        elif run.stopping.is_set():
            reason = HostEndedError("stopped before it was ready")
        else:
            reason = HostEndedError("somebody cancelled the tasks from outside")
        run.ended.set()
        if not run.started.is_set():
            run.failure = reason
            run.started.set()
        elif not run.stopping.is_set():
            self._on_crash(reason)
        elif error is not None:
            _log.error("failed while stopping", exc_info=error)


def _sole(error: BaseException) -> BaseException:
    """Take the wrapping off an error that came alone."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
