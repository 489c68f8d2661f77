"""Supervisor: order, restarts, bounds, forgetting and stopping."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

from hermes_chatto.actors.runtime.clock import ManualClock, SystemClock
from hermes_chatto.actors.runtime.supervisor import (
    Address,
    HandlerCancelledError,
    Kind,
    MailboxFullError,
    Stats,
    Supervisor,
    SupervisorClosedError,
)

ANN = Address("note", "ann")
BOB = Address("note", "bob")
Behaviour = Callable[[str, Sequence[Any]], Awaitable[None]]


class ExitNow(BaseException):
    """What means everybody, wherever it is said."""


def no_wait() -> Iterator[float]:
    """Try again at once."""
    return repeat(0.0)


def one_second() -> Iterator[float]:
    """Try again when the clock says so."""
    return repeat(1.0)


async def do_nothing(_key: str, _mails: Sequence[Any]) -> None:
    """Handle mail by accepting it."""


@dataclass(slots=True)
class Journal:
    """What actors did; they survive it the way rows survive an actor."""

    behaviour: Behaviour = do_nothing
    built: list[str] = field(default_factory=list)
    tried: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    handled: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    dead: list[tuple[Address, tuple[Any, ...], Exception]] = field(default_factory=list)

    async def build(self, key: str) -> "JournalActor":
        """Make the actor of a key."""
        self.built.append(key)
        return JournalActor(key, self)

    async def bury(self, address: Address, mails: Sequence[Any], error: Exception) -> None:
        """Note what was given up."""
        self.dead.append((address, tuple(mails), error))

    @property
    def batches(self) -> list[tuple[Any, ...]]:
        """What was handled, whoever handled it."""
        return [mails for _, mails in self.handled]


@dataclass(slots=True)
class JournalActor:
    """An actor that writes down what it gets and then behaves as told."""

    key: str
    journal: Journal

    async def handle(self, mails: Sequence[Any]) -> None:
        """Behave, and note whether it went well."""
        self.journal.tried.append((self.key, tuple(mails)))
        await self.journal.behaviour(self.key, mails)
        self.journal.handled.append((self.key, tuple(mails)))


@asynccontextmanager
async def supervised(
    journal: Journal,
    *,
    batch: int = 1,
    waits: Callable[[], Iterator[float]] = no_wait,
    clock: ManualClock | SystemClock | None = None,
    is_outage: Callable[[Exception], bool] = lambda _: False,
    **limits: int,
) -> AsyncIterator[Supervisor]:
    """Run a supervisor, and end it without waiting for its actors."""
    kind_limits = {name: limits.pop(name) for name in ("mailbox_limit",) if name in limits}
    async with anyio.create_task_group() as tasks:
        yield Supervisor(
            tasks,
            {"note": Kind(journal.build, batch=batch, **kind_limits)},
            clock=clock or ManualClock(),
            waits=waits,
            on_dead=journal.bury,
            is_outage=is_outage,
            **limits,
        )
        tasks.cancel_scope.cancel()


class Gate:
    """Hold handlers until the test lets them go on."""

    def __init__(self) -> None:
        self.entered = anyio.Event()
        self.opened = anyio.Event()

    async def __call__(self, _key: str, _mails: Sequence[Any]) -> None:
        self.entered.set()
        await self.opened.wait()


class Poison:
    """Fail whenever a batch holds a certain mail."""

    def __init__(self, mail: str, times: int = 1_000) -> None:
        self.mail = mail
        self.left = times

    async def __call__(self, _key: str, mails: Sequence[Any]) -> None:
        if self.mail in mails and self.left:
            self.left -= 1
            message = f"cannot digest {self.mail}"
            raise LookupError(message)


async def test_mail_of_one_key_is_handled_in_order_by_one_actor() -> None:
    """The actor is made once and gets everything, oldest first."""
    journal = Journal()
    async with supervised(journal) as supervisor:
        for mail in "abc":
            supervisor.tell(ANN, mail)
        await supervisor.settled()

    assert journal.handled == [("ann", ("a",)), ("ann", ("b",)), ("ann", ("c",))]
    assert journal.built == ["ann"]


async def test_keys_do_not_wait_for_each_other() -> None:
    """A slow actor holds up its own mailbox and no other."""
    gate = Gate()

    async def slow_ann(key: str, mails: Sequence[Any]) -> None:
        if key == "ann":
            await gate(key, mails)

    journal = Journal(slow_ann)
    async with supervised(journal) as supervisor:
        supervisor.tell(ANN, "a")
        supervisor.tell(BOB, "b")
        await anyio.wait_all_tasks_blocked()

        assert journal.handled == [("bob", ("b",))]
        gate.opened.set()
        await supervisor.settled()

    assert journal.handled == [("bob", ("b",)), ("ann", ("a",))]


async def test_batch_takes_what_is_waiting() -> None:
    """Nobody waits for a batch to fill; it holds what came meanwhile, up to its size."""
    gate = Gate()
    journal = Journal(gate)
    async with supervised(journal, batch=3) as supervisor:
        supervisor.tell(ANN, "a")
        await gate.entered.wait()
        for mail in "bcde":
            supervisor.tell(ANN, mail)
        gate.opened.set()
        await supervisor.settled()

    assert journal.batches == [("a",), ("b", "c", "d"), ("e",)]


async def test_idle_actor_has_no_task_and_is_kept() -> None:
    """Mail that comes later finds the same actor."""
    journal = Journal()
    async with supervised(journal) as supervisor:
        supervisor.tell(ANN, "a")
        await supervisor.settled()
        tasks_when_idle = [
            task for task in anyio.get_running_tasks() if "note=ann" in str(task.name)
        ]

        supervisor.tell(ANN, "b")
        await supervisor.settled()

    assert tasks_when_idle == []
    assert journal.built == ["ann"]


async def test_failed_actor_is_made_anew_and_gets_the_same_mail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After a back-off, and with a traceback in the log."""
    clock = ManualClock()
    journal = Journal(Poison("a", times=2))
    async with supervised(journal, clock=clock, waits=one_second) as supervisor:
        supervisor.tell(ANN, "a")
        for _ in range(2):
            await clock.until_sleeping()
            assert journal.handled == []
            clock.advance(1)
            await anyio.wait_all_tasks_blocked()
        await supervisor.settled()

        assert supervisor.stats == Stats(spawned=1, built=3, restarts=2)
    assert journal.handled == [("ann", ("a",))]
    assert journal.built == ["ann"] * 3
    assert "note=ann failed" in caplog.text
    assert "Traceback" in caplog.text


async def test_mail_that_keeps_failing_is_given_up_and_the_next_is_handled() -> None:
    """After so many attempts; its error goes along."""
    journal = Journal(Poison("bad"))
    async with supervised(journal, attempts=3) as supervisor:
        for mail in ["bad", "good"]:
            supervisor.tell(ANN, mail)
        await supervisor.settled()

        assert supervisor.stats == Stats(spawned=1, built=4, restarts=3, dead=1)
    address, mails, error = journal.dead[0]
    assert (address, mails, str(error)) == (ANN, ("bad",), "cannot digest bad")
    assert journal.handled == [("ann", ("good",))]
    assert len(journal.dead) == 1


async def test_bad_mail_does_not_take_its_batch_along() -> None:
    """A batch that failed is tried again one mail at a time."""
    journal = Journal(Poison("bad"))
    async with supervised(journal, batch=9) as supervisor:
        for mail in ["a", "bad", "c"]:
            supervisor.tell(ANN, mail)
        await supervisor.settled()

    assert journal.batches == [("a",), ("c",)]
    assert [mails for _, mails, _ in journal.dead] == [("bad",)]
    assert journal.tried[0] == ("ann", ("a", "bad", "c"))
    assert journal.tried.count(("ann", ("bad",))) == 3


async def test_actor_that_cannot_be_made_is_tried_again_and_then_given_up() -> None:
    """The mails are not at fault, so they stay together."""
    journal = Journal()
    builds = 0

    async def broken_row(_key: str) -> JournalActor:
        nonlocal builds
        builds += 1
        message = "no such row"
        raise LookupError(message)

    async with anyio.create_task_group() as tasks:
        supervisor = Supervisor(
            tasks,
            {"note": Kind(journal.build), "broken": Kind(broken_row, batch=5)},
            clock=ManualClock(),
            waits=no_wait,
            on_dead=journal.bury,
        )
        for mail in "ab":
            supervisor.tell(Address("broken", "x"), mail)
        supervisor.tell(ANN, "c")
        await supervisor.settled()

    assert builds == 3
    assert [mails for _, mails, _ in journal.dead] == [("a", "b")]
    assert journal.batches == [("c",)]


@pytest.mark.parametrize(("failures", "told"), [(1, 2), (99, 3)])
async def test_giving_up_may_fail_too(
    failures: int, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried as often as a handler; then the mailbox moves on, with the log as witness."""
    calls = 0

    async def bury(_address: Address, _mails: Sequence[Any], _error: Exception) -> None:
        nonlocal calls
        calls += 1
        if calls <= failures:
            message = "no pen"
            raise OSError(message)

    journal = Journal(Poison("bad"))
    async with anyio.create_task_group() as tasks:
        supervisor = Supervisor(
            tasks, {"note": Kind(journal.build)}, clock=ManualClock(), waits=no_wait, on_dead=bury
        )
        for mail in ["bad", "good"]:
            supervisor.tell(ANN, mail)
        await supervisor.settled()

    assert calls == told
    assert journal.batches == [("good",)]
    assert "giving up failed" in caplog.text


async def test_cancelled_task_of_somebody_else_does_not_end_a_mailbox() -> None:
    """A handler that waits for it has failed; it was not cancelled itself."""

    async def wait_for_a_cancelled_task(_key: str, _mails: Sequence[Any]) -> None:
        task = asyncio.get_running_loop().create_task(anyio.sleep_forever())
        task.cancel()
        await task

    journal = Journal(wait_for_a_cancelled_task)
    async with supervised(journal, attempts=1) as supervisor:
        supervisor.tell(ANN, "a")
        await supervisor.settled()

    assert isinstance(journal.dead[0][2], HandlerCancelledError)


async def test_full_mailbox_refuses_and_names_its_address() -> None:
    """The mail being handled counts: it is still there."""
    gate = Gate()
    async with supervised(Journal(gate), mailbox_limit=2) as supervisor:
        supervisor.tell(ANN, "a")
        await gate.entered.wait()
        supervisor.tell(ANN, "b")

        with pytest.raises(MailboxFullError) as refused:
            supervisor.tell(ANN, "c")
        supervisor.tell(BOB, "d")

        assert refused.value.address == ANN
        assert supervisor.stats.waiting == 3


async def test_total_of_all_mailboxes_is_bounded() -> None:
    """Many small mailboxes are as heavy as a large one."""
    async with supervised(Journal(Gate()), total_limit=2) as supervisor:
        supervisor.tell(ANN, "a")
        supervisor.tell(BOB, "b")

        with pytest.raises(MailboxFullError, match="all together"):
            supervisor.tell(Address("note", "eve"), "c")


async def test_send_waits_for_room_in_its_order() -> None:
    """The sender is held up; nothing is refused and nothing overtakes."""
    gate = Gate()
    journal = Journal(gate)
    async with supervised(journal, mailbox_limit=1) as supervisor:
        async with anyio.create_task_group() as senders:
            for mail in "abc":
                senders.start_soon(supervisor.send, ANN, mail)
            await gate.entered.wait()
            await anyio.wait_all_tasks_blocked()
            assert supervisor.stats.waiting == 1
            gate.opened.set()
        await supervisor.settled()

    assert journal.batches == [("a",), ("b",), ("c",)]


async def test_send_that_is_cancelled_has_told_nothing() -> None:
    """Its sender may tell it again without doubling it."""
    gate = Gate()
    journal = Journal(gate)
    async with supervised(journal, mailbox_limit=1) as supervisor:
        supervisor.tell(ANN, "a")
        async with anyio.create_task_group() as senders:
            senders.start_soon(supervisor.send, ANN, "b")
            await anyio.wait_all_tasks_blocked()
            senders.cancel_scope.cancel()
        gate.opened.set()
        await supervisor.settled()

    assert journal.batches == [("a",)]


async def test_closed_supervisor_refuses_and_wakes_who_waits() -> None:
    """Nobody waits for room that never comes."""
    refused: list[Address] = []

    async def send(supervisor: Supervisor) -> None:
        try:
            await supervisor.send(ANN, "b")
        except SupervisorClosedError as error:
            refused.append(error.address)

    async with (
        supervised(Journal(Gate()), mailbox_limit=1) as supervisor,
        anyio.create_task_group() as senders,
    ):
        supervisor.tell(ANN, "a")
        senders.start_soon(send, supervisor)
        await anyio.wait_all_tasks_blocked()

        supervisor.close()

        with pytest.raises(SupervisorClosedError):
            supervisor.tell(BOB, "c")
    assert refused == [ANN]


async def test_unknown_kind_is_a_key_error() -> None:
    """A mistake in the wiring shows at the first mail."""
    async with supervised(Journal()) as supervisor:
        with pytest.raises(KeyError, match="stranger"):
            supervisor.tell(Address("stranger", "x"), "a")


async def test_longest_idle_actor_is_forgotten_first() -> None:
    """And made anew from its row when it is needed again."""
    journal = Journal()
    async with supervised(journal, awake_limit=2) as supervisor:
        for key in ["one", "two", "one", "three", "one", "two"]:
            supervisor.tell(Address("note", key), "x")
            await supervisor.settled()

        assert supervisor.stats.evicted == 2
    assert journal.built == ["one", "two", "three", "two"]


async def test_busy_actor_is_never_forgotten() -> None:
    """Even when busy ones alone are more than the limit."""
    gate = Gate()
    journal = Journal(gate)
    async with supervised(journal, awake_limit=1) as supervisor:
        for key in ["one", "two", "three"]:
            supervisor.tell(Address("note", key), "x")
            supervisor.tell(Address("note", key), "y")
        await anyio.wait_all_tasks_blocked()
        evicted_while_busy = supervisor.stats.evicted
        gate.opened.set()
        await supervisor.settled()

        assert evicted_while_busy == 0
        assert supervisor.stats.evicted == 2
    assert sorted(journal.built) == ["one", "three", "two"]


async def test_actor_may_tell_itself() -> None:
    """The mail joins the end of its own mailbox."""
    journal = Journal()
    async with supervised(journal) as supervisor:

        async def echo(_key: str, mails: Sequence[Any]) -> None:
            if mails == ("a",):
                supervisor.tell(ANN, "b")

        journal.behaviour = echo
        supervisor.tell(ANN, "a")
        await supervisor.settled()

    assert journal.batches == [("a",), ("b",)]


async def test_stop_lets_everything_told_before_be_handled() -> None:
    """What comes later is refused."""
    gate = Gate()
    journal = Journal(gate)
    left: list[int] = []
    async with supervised(journal) as supervisor, anyio.create_task_group() as stopping:

        async def stop() -> None:
            left.append(await supervisor.stop(5))

        for mail in "ab":
            supervisor.tell(ANN, mail)
        stopping.start_soon(stop)
        await gate.entered.wait()
        with pytest.raises(SupervisorClosedError):
            supervisor.tell(ANN, "c")
        gate.opened.set()

    assert left == [0]
    assert journal.batches == [("a",), ("b",)]


async def test_stop_ends_what_takes_too_long_and_counts_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Logged by kind and number; what the mails say stays out of the log."""
    clock = ManualClock()
    journal = Journal(Gate())
    left: list[int] = []
    async with (
        supervised(journal, clock=clock) as supervisor,
        anyio.create_task_group() as stopping,
    ):

        async def stop() -> None:
            left.append(await supervisor.stop(5))

        for mail in ["secret one", "secret two"]:
            supervisor.tell(ANN, mail)
        supervisor.tell(BOB, "secret three")
        stopping.start_soon(stop)
        await clock.until_sleeping()
        clock.advance(5)
        await supervisor.settled()

    assert left == [3]
    assert "kind=note count=3" in caplog.text
    assert "secret" not in caplog.text
    assert journal.dead == []


async def test_stop_of_a_supervisor_at_rest_is_immediate() -> None:
    """Nothing to wait for, nothing left."""
    async with supervised(Journal()) as supervisor:
        assert await supervisor.stop(0) == 0


async def test_stop_that_is_cancelled_still_says_what_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever runs out of patience before the deadline finds it in the log."""
    async with supervised(Journal(Gate())) as supervisor:
        supervisor.tell(ANN, "a")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await supervisor.stop(5)

    assert "kind=note count=1" in caplog.text


async def test_actor_that_finds_its_neighbour_closed_is_left_over_not_dead() -> None:
    """Stopping is no fault of the mail: its row says what is still to do."""
    gate = Gate()
    journal = Journal()
    left: list[int] = []
    async with supervised(journal) as supervisor, anyio.create_task_group() as stopping:

        async def tell_bob(key: str, mails: Sequence[Any]) -> None:
            await gate(key, mails)
            supervisor.tell(BOB, "b")

        async def stop() -> None:
            left.append(await supervisor.stop(5))

        journal.behaviour = tell_bob
        for mail in "ab":
            supervisor.tell(ANN, mail)
        await gate.entered.wait()
        stopping.start_soon(stop)
        await anyio.wait_all_tasks_blocked()
        gate.opened.set()

    assert left == [2]
    assert journal.tried == [("ann", ("a",))]
    assert journal.dead == []


async def test_refusal_of_another_supervisor_is_an_ordinary_error() -> None:
    """Only the own stop ends the retries."""

    async def refused_elsewhere(_key: str, _mails: Sequence[Any]) -> None:
        raise SupervisorClosedError(BOB)

    journal = Journal(refused_elsewhere)
    async with supervised(journal) as supervisor:
        supervisor.tell(ANN, "a")
        await supervisor.settled()

    assert len(journal.dead) == 1


async def test_cancelled_task_group_closes_the_supervisor(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What was waiting is still counted by a stop that comes after."""
    journal = Journal(Gate())
    async with supervised(journal) as supervisor:
        supervisor.tell(ANN, "a")
        await anyio.wait_all_tasks_blocked()

    with pytest.raises(SupervisorClosedError):
        supervisor.tell(ANN, "b")
    with caplog.at_level(logging.WARNING):
        assert await supervisor.stop(5) == 1
    assert "kind=note count=1" in caplog.text


async def test_ended_task_group_refuses_mail_as_a_closed_supervisor_does() -> None:
    """Also when nobody was at work as it ended."""
    async with supervised(Journal()) as supervisor:
        pass

    with pytest.raises(SupervisorClosedError):
        supervisor.tell(ANN, "a")
    with pytest.raises(SupervisorClosedError):
        supervisor.tell(ANN, "b")


async def test_error_that_is_no_exception_ends_the_task_group() -> None:
    """Whoever says exit means all of it."""

    async def leave(_key: str, _mails: Sequence[Any]) -> None:
        raise ExitNow

    async def run(tasks: TaskGroup) -> None:
        journal = Journal(leave)
        supervisor = Supervisor(
            tasks,
            {"note": Kind(journal.build)},
            clock=ManualClock(),
            waits=no_wait,
            on_dead=journal.bury,
        )
        supervisor.tell(ANN, "a")

    with pytest.raises(BaseExceptionGroup) as raised:
        async with anyio.create_task_group() as tasks:
            await run(tasks)
    assert raised.group_contains(ExitNow)


def test_limits_below_one_are_refused() -> None:
    """Where they are written down, not at the first mail."""
    journal = Journal()

    with pytest.raises(ValueError, match="batch=0"):
        Kind(journal.build, batch=0)
    with pytest.raises(ValueError, match="mailbox_limit=0"):
        Kind(journal.build, mailbox_limit=0)


async def test_attempts_below_one_are_refused() -> None:
    """Otherwise mail would vanish untried."""
    journal = Journal()

    async with anyio.create_task_group() as tasks:
        with pytest.raises(ValueError, match="attempts=0"):
            Supervisor(
                tasks,
                {"note": Kind(journal.build)},
                clock=ManualClock(),
                waits=no_wait,
                on_dead=journal.bury,
                attempts=0,
            )
