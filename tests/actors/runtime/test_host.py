"""TaskHost: one task owns the group, other tasks start and stop it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup

from hermes_chatto.actors.runtime.host import (
    HostEndedError,
    HostRunningError,
    HostStuckError,
    TaskHost,
)


class BrokenError(Exception):
    """What a part of the hosted system fails with."""


async def nothing() -> None:
    """Have nothing to drain."""


@dataclass(slots=True)
class System:
    """A hosted system that notes what happens to it."""

    log: list[str] = field(default_factory=list)
    crashes: list[BaseException] = field(default_factory=list)
    break_now: anyio.Event = field(default_factory=anyio.Event)
    crashed: anyio.Event = field(default_factory=anyio.Event)

    async def body(self, tasks: TaskGroup) -> None:
        """Start two tasks, of which one breaks on request."""
        tasks.start_soon(self.work)
        tasks.start_soon(self.fragile)
        await anyio.lowlevel.checkpoint()
        self.log.append("ready")

    async def work(self) -> None:
        """Go on until cancelled."""
        try:
            await anyio.sleep_forever()
        finally:
            self.log.append("ended")

    async def fragile(self) -> None:
        """Break on request."""
        await self.break_now.wait()
        raise BrokenError

    async def drain(self) -> None:
        """End in order."""
        await anyio.lowlevel.checkpoint()
        self.log.append("drained")

    def note_crash(self, error: BaseException) -> None:
        """Note that the host ended unasked."""
        self.crashes.append(error)
        self.crashed.set()

    def host(
        self,
        body: Callable[[TaskGroup], Awaitable[None]] | None = None,
        drain: Callable[[], Awaitable[None]] | None = None,
        grace_s: float = 5,
        cancel_grace_s: float = 5,
    ) -> TaskHost:
        """Return a host of this system, or of one with other parts."""
        return TaskHost(
            body or self.body,
            drain=drain or self.drain,
            on_crash=self.note_crash,
            grace_s=grace_s,
            cancel_grace_s=cancel_grace_s,
        )


async def in_own_task(step: Callable[[], Awaitable[None]]) -> None:
    """Call something the way the gateway does: in a task that ends with the call."""

    async def call() -> None:
        await step()

    await asyncio.get_running_loop().create_task(call())


async def test_start_and_stop_may_come_from_different_tasks() -> None:
    """The gateway calls both in tasks of their own."""
    system = System()
    host = system.host()

    await in_own_task(host.start)
    assert host.is_running
    await in_own_task(host.stop)

    assert not host.is_running
    assert system.log == ["ready", "drained", "ended"]
    assert system.crashes == []


async def test_host_can_be_started_again() -> None:
    """Each run has a group of its own."""
    system = System()
    host = system.host()

    for _ in range(3):
        await in_own_task(host.start)
        await in_own_task(host.stop)

    assert system.log == ["ready", "drained", "ended"] * 3


async def test_second_start_is_refused() -> None:
    """Two groups would run everything twice."""
    host = System().host()
    await host.start()

    with pytest.raises(HostRunningError):
        await host.start()

    await host.stop()


async def test_stop_without_a_run_is_harmless() -> None:
    """The gateway disconnects what never connected, and does it twice."""
    system = System()
    host = system.host()

    await host.stop()
    await host.start()
    await host.stop()
    await host.stop()

    assert system.log == ["ready", "drained", "ended"]


async def test_failure_of_the_body_reaches_the_starter_bare() -> None:
    """So that it can tell a wrong password from a server that is down."""

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(anyio.sleep_forever)
        raise BrokenError

    system = System()
    host = system.host(body)

    with pytest.raises(BrokenError):
        await host.start()

    assert not host.is_running
    assert system.crashes == []


async def test_child_that_crashes_during_the_start_fails_the_start() -> None:
    """The body would wait for it forever."""

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(system.fragile)
        system.break_now.set()
        await anyio.sleep_forever()

    system = System()

    with pytest.raises(BrokenError):
        await system.host(body).start()

    assert system.crashes == []


async def test_failures_that_come_together_stay_together() -> None:
    """None of them is dropped."""

    async def fail() -> None:
        raise BrokenError

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(fail)
        tasks.start_soon(fail)
        await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as raised:
        await System().host(body).start()

    assert len(raised.value.exceptions) == 2


@pytest.mark.parametrize("is_ready", [False, True])
async def test_starter_that_is_cancelled_leaves_nothing_behind(*, is_ready: bool) -> None:
    """A connect that took too long has stopped its tasks before the gateway goes on."""
    begun = anyio.Event()

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(system.work)
        await anyio.lowlevel.checkpoint()
        begun.set()
        if not is_ready:
            await anyio.sleep_forever()

    system = System()
    host = system.host(body)
    starter = asyncio.get_running_loop().create_task(host.start())
    await begun.wait()

    starter.cancel()
    with suppress(asyncio.CancelledError):
        await starter

    assert starter.cancelled()
    assert not host.is_running
    assert system.log == (["drained", "ended"] if is_ready else ["ended"])
    assert system.crashes == []


async def test_connect_timeout_of_either_gateway_stops_the_host() -> None:
    """One wraps the call in `wait_for`, the other waits, cancels and turns away."""

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(system.work)
        await anyio.sleep_forever()

    system = System()
    host = system.host(body)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(host.start(), 0.01)
    detached = asyncio.ensure_future(host.start())
    await asyncio.wait({detached}, timeout=0.01)
    detached.cancel()
    await asyncio.wait({detached})

    assert not host.is_running
    assert system.log == ["ended", "ended"]


async def test_starter_cancelled_beside_a_stuck_task_is_cancelled_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The cancellation is not replaced by another error; the log has it."""
    release = anyio.Event()

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(ignore_cancellation, release)
        await anyio.sleep_forever()

    host = System().host(body, grace_s=0.01, cancel_grace_s=0.01)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(host.start(), 0.01)

    assert host.is_running
    assert "did not end within 0.02 s" in caplog.text
    release.set()
    await host.stop()


async def ignore_cancellation(release: anyio.Event) -> None:
    """Go on until released, whoever cancels."""
    with anyio.CancelScope(shield=True):
        await release.wait()


async def test_crash_is_told_once_and_bare() -> None:
    """Siblings are cancelled with it; a stop after it finds nothing to do."""
    system = System()
    host = system.host()
    await in_own_task(host.start)

    system.break_now.set()
    await system.crashed.wait()

    assert [type(crash) for crash in system.crashes] == [BrokenError]
    assert system.log == ["ready", "ended"]
    assert not host.is_running
    await in_own_task(host.stop)
    assert len(system.crashes) == 1


async def test_host_can_be_started_after_a_crash() -> None:
    """The gateway reconnects what crashed."""
    system = System()
    host = system.host()
    await host.start()
    system.break_now.set()
    await system.crashed.wait()
    system.break_now = anyio.Event()

    await host.start()
    await host.stop()

    assert system.log == ["ready", "ended", "ready", "drained", "ended"]


async def test_host_that_is_cancelled_from_outside_has_crashed() -> None:
    """Whatever ends it unasked is told: an adapter must not be dead in silence."""
    groups: list[TaskGroup] = []

    async def body(tasks: TaskGroup) -> None:
        groups.append(tasks)
        await system.body(tasks)

    system = System()
    host = system.host(body)
    await host.start()
    groups[0].cancel_scope.cancel()
    await system.crashed.wait()
    system.crashed = anyio.Event()
    await host.start()
    (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "task host"]
    task.cancel()
    await system.crashed.wait()

    assert [type(crash) for crash in system.crashes] == [HostEndedError] * 2


async def test_stop_during_the_start_fails_the_start() -> None:
    """The starter learns that it has started nothing."""
    system = System()

    async def body(_tasks: TaskGroup) -> None:
        await anyio.sleep_forever()

    host = system.host(body)
    starter = asyncio.get_running_loop().create_task(host.start())
    await anyio.wait_all_tasks_blocked()

    await host.stop()

    with pytest.raises(HostEndedError, match="before it was ready"):
        await starter
    assert system.crashes == []


@pytest.mark.parametrize("depth", [0, 2])
async def test_own_task_may_stop_the_host(depth: int) -> None:
    """It does not wait for itself, however deep its own groups are nested."""

    async def stop_from_below(levels: int) -> None:
        await ask.wait()
        if levels:
            async with anyio.create_task_group() as nested:
                nested.start_soon(stop_from_below, levels - 1)
        else:
            await host.stop()
            system.log.append("asked")
            asked.set()

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(stop_from_below, depth)
        await anyio.lowlevel.checkpoint()

    ask, asked = anyio.Event(), anyio.Event()
    system = System()
    host = system.host(body)
    await host.start()
    ask.set()
    with anyio.fail_after(3):
        await asked.wait()
        await in_own_task(host.stop)

    assert system.log == ["asked", "drained"]


async def test_foreign_task_begun_by_an_own_task_waits_for_the_end() -> None:
    """A shut-down by chat command runs in a task of the gateway: it must see the drain through."""
    foreign: list[asyncio.Task[None]] = []

    async def ask_the_gateway() -> None:
        foreign.append(asyncio.get_running_loop().create_task(shut_down()))

    async def shut_down() -> None:
        await host.stop()
        system.log.append("stopped")

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(ask_the_gateway)
        tasks.start_soon(system.work)
        await anyio.lowlevel.checkpoint()

    system = System()
    host = system.host(body)
    await host.start()
    await anyio.wait_all_tasks_blocked()
    await foreign[0]

    assert system.log == ["drained", "ended", "stopped"]


async def test_start_waits_for_a_stop_that_an_own_task_asked_for() -> None:
    """A reconnect right behind it meets neither the old run nor an error."""
    system = System()
    ask = anyio.Event()

    async def stop_when_asked() -> None:
        await ask.wait()
        await host.stop()

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(stop_when_asked)
        await system.body(tasks)

    async def slow_drain() -> None:
        await anyio.wait_all_tasks_blocked()
        await system.drain()

    host = system.host(body, slow_drain)
    await host.start()
    ask.set()
    await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()

    await host.start()

    assert system.log == ["ready", "drained", "ended", "ready"]
    ask = anyio.Event()
    await host.stop()


async def test_drain_that_takes_too_long_is_cut_short(caplog: pytest.LogCaptureFixture) -> None:
    """A stop ends whatever the world outside does."""
    system = System()
    host = system.host(drain=anyio.sleep_forever, grace_s=0.01)
    await host.start()

    await host.stop()

    assert system.log == ["ready", "ended"]
    assert "cut short" in caplog.text


async def test_drain_that_fails_is_logged_and_ends_the_tasks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is no crash: the end was asked for."""

    async def drain() -> None:
        raise BrokenError

    system = System()
    host = system.host(drain=drain)
    await host.start()

    await host.stop()

    assert system.log == ["ready", "ended"]
    assert system.crashes == []
    assert "failed while stopping" in caplog.text
    assert "BrokenError" in caplog.text


async def test_task_that_ignores_its_cancellation_is_reported() -> None:
    """The stop is bounded; a new start waits for it as long, and no longer."""
    release = anyio.Event()

    async def body(tasks: TaskGroup) -> None:
        tasks.start_soon(ignore_cancellation, release)
        await anyio.lowlevel.checkpoint()

    host = System().host(body, nothing, grace_s=0.01, cancel_grace_s=0.01)
    await host.start()

    with pytest.raises(HostStuckError):
        await host.stop()
    with pytest.raises(HostStuckError):
        await host.start()

    release.set()
    await host.stop()
    assert not host.is_running


async def test_stop_that_is_cancelled_lets_the_host_stop_by_itself() -> None:
    """The gateway's patience ends before ours; nothing is left running for it."""
    may_drain = anyio.Event()
    system = System()

    async def drain() -> None:
        await may_drain.wait()
        await system.drain()

    host = system.host(drain=drain)
    await host.start()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(host.stop(), 0.01)

    may_drain.set()
    await anyio.wait_all_tasks_blocked()

    assert not host.is_running
    assert system.log == ["ready", "drained", "ended"]
