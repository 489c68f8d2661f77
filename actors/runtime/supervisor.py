"""Keyed actors: one mailbox per address, a task only while there is work in it.

An actor is made from its row when mail comes and may be forgotten whenever its
mailbox is empty. What it does is done in order, one handler per address at a time.
When a handler fails, the actor in memory is dropped and made anew from its row, and
the same mail is tried again: mail is handled at least once, so a handler must bear
to see again what it has recorded already.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from .attempt import HandlerCancelledError, error_after_outage
from .clock import Clock
from .mailbox import Address, Mailbox, MailboxFullError, SupervisorClosedError

__all__ = [
    "Actor",
    "Address",
    "HandlerCancelledError",
    "Kind",
    "MailboxFullError",
    "Stats",
    "Supervisor",
    "SupervisorClosedError",
]

_log = logging.getLogger(__name__)


def _never(error: Exception) -> bool:
    """Count every error against the mail."""
    del error
    return False


class Actor(Protocol):
    """Handle the mail of one address."""

    async def handle(self, mails: Sequence[Any]) -> None:
        """Do what the mails ask for.

        Whatever it raises ends this actor; the mails then go to one made anew.

        Args:
            mails: at least one and at most the `batch` of its kind, oldest first.
        """
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """What the actors of one kind have in common.

    Raises:
        ValueError: a limit is below one.
    """

    build: Callable[[str], Awaitable[Actor]]
    """Makes the actor of a key from its row."""
    batch: int = 1
    """How many mails one call of `handle` may get."""
    mailbox_limit: int = 256
    """How many mails may wait for one actor, those being handled included."""

    def __post_init__(self) -> None:
        """Refuse a kind whose mail could never be told or handled."""
        if self.batch < 1 or self.mailbox_limit < 1:
            message = f"batch={self.batch}, mailbox_limit={self.mailbox_limit}: below one"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Stats:
    """What a supervisor has done so far."""

    spawned: int = 0
    """Tasks started: how often a mailbox went from empty to busy."""
    built: int = 0
    """Actors made from their rows."""
    restarts: int = 0
    """Actors dropped, or not made at all, because of an error."""
    dead: int = 0
    """Mails given up."""
    evicted: int = 0
    """Idle actors forgotten to keep memory bounded."""
    waiting: int = 0
    """Mails not handled yet."""


@dataclass(slots=True, eq=False)
class _Resident:
    """A mailbox that has work, and the actor that does it."""

    mailbox: Mailbox
    actor: Actor | None
    """None: to be made from its row."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @contextmanager
    def forgotten_after(self, is_outage: Callable[[Exception], bool]) -> Iterator[None]:
        """Have the actor made anew for every attempt in an outage, as after a failure."""
        try:
            yield
        except Exception as error:
            if is_outage(error):
                self.actor = None
            raise


async def _within(clock: Clock, seconds: float, wait: Callable[[], Awaitable[None]]) -> None:
    """Wait for something, at most so long."""
    async with anyio.create_task_group() as race:
        race.start_soon(_cancel_after, clock, seconds, race.cancel_scope)
        await wait()
        race.cancel_scope.cancel()


async def _cancel_after(clock: Clock, seconds: float, scope: anyio.CancelScope) -> None:
    await clock.sleep(seconds)
    scope.cancel()


class Supervisor:
    """Run actors, and outlive what they do wrong."""

    def __init__(  # noqa: PLR0913 - each is a decision of the composition root
        self,
        tasks: TaskGroup,
        kinds: Mapping[str, Kind],
        *,
        clock: Clock,
        waits: Callable[[], Iterator[float]],
        on_dead: Callable[[Address, Sequence[Any], Exception], Awaitable[None]],
        attempts: int = 3,
        total_limit: int = 10_000,
        awake_limit: int = 256,
        is_outage: Callable[[Exception], bool] = _never,
    ) -> None:
        """Start without actors.

        Args:
            tasks: runs the busy actors. Cancelled, it closes the supervisor.
            kinds: by the `kind` of an address; read at every use.
            clock: waits for the back-off and for the deadline of `stop`.
            waits: makes an endless row of back-offs, anew for every mail that fails.
            on_dead: told of mails that were given up, with the last error. It may be
                told twice: when it fails it is tried again like a handler.
            attempts: how often a mail is tried before it is given up.
            total_limit: how many mails may wait for all actors together.
            awake_limit: how many actors stay in memory; busy ones always do.
            is_outage: tells errors that say nothing about the mail (a disk that is full). It is
                tried until they are over, uncounted; whoever raises them logs them, once.

        Raises:
            ValueError: `attempts` is below one, so no mail would ever be handled.
        """
        if attempts < 1:
            message = f"attempts={attempts}: below one"
            raise ValueError(message)
        self._tasks = tasks
        self._kinds = kinds
        self._clock = clock
        self._waits = waits
        self._on_dead = on_dead
        self._attempts = attempts
        self._total_limit = total_limit
        self._awake_limit = awake_limit
        self._is_outage = is_outage
        self._residents: dict[Address, _Resident] = {}
        self._idle: OrderedDict[Address, Actor] = OrderedDict()
        self._busy = 0
        self._waiting = 0
        self._closed = False
        self._done = Counter[str]()
        self._settled = anyio.Event()
        self._room = anyio.Event()

    @property
    def stats(self) -> Stats:
        """What has been done so far, as of now."""
        return Stats(**self._done, waiting=self._waiting)

    def tell(self, address: Address, mail: object) -> None:
        """Put a mail into a mailbox, without waiting.

        Raises:
            MailboxFullError: too much waits for this actor, or for all together.
            SupervisorClosedError: `close` or `stop` was called, or the task group is over.
            KeyError: nobody runs actors of this kind.
        """
        if self._closed:
            raise SupervisorClosedError(address)
        limit = self._kinds[address.kind].mailbox_limit
        resident = self._residents.get(address)
        if resident is not None and len(resident.mailbox) >= limit:
            raise MailboxFullError(address, f"{limit} wait for it")
        if self._waiting >= self._total_limit:
            raise MailboxFullError(address, f"{self._total_limit} wait for all together")
        if resident is None:
            resident = self._wake(address)
        resident.mailbox.put(mail)
        self._waiting += 1

    async def send(self, address: Address, mail: object) -> None:
        """Put a mail into a mailbox as soon as there is room for it.

        For a reader whose own source may wait meanwhile. Cancelled, it has told nothing.

        Raises:
            SupervisorClosedError: as in `tell`, before or meanwhile.
            KeyError: nobody runs actors of this kind.
        """
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                self.tell(address, mail)
            except MailboxFullError:
                await self._room.wait()
            else:
                return

    def close(self) -> None:
        """Refuse new mail from now on; what was told before is still handled."""
        self._closed = True
        self._make_room()  # whoever waits in `send` learns of it

    async def stop(self, deadline_s: float) -> int:
        """Refuse new mail, let the old be handled, and end what takes too long.

        A handler that tells another actor now gets SupervisorClosedError. If it lets
        that out, its mail is left over: not tried again and not given up, since its
        row says what is still to do.

        Args:
            deadline_s: how long it may take, in seconds of the clock.

        Returns:
            How many mails are left over. They are logged by kind, never by content.
        """
        self.close()
        try:
            await _within(self._clock, deadline_s, self.settled)
        finally:
            left_over = self._abandon()
        return left_over

    async def settled(self) -> None:
        """Wait until no actor is at work."""
        while self._busy:
            await self._settled.wait()

    def _abandon(self) -> int:
        """End whoever is still at work and return how many mails nobody handled."""
        left_over = Counter[str]()
        for address, resident in self._residents.items():
            left_over[address.kind] += len(resident.mailbox)
            resident.scope.cancel()
        for kind, count in sorted(left_over.items()):
            _log.warning("stopped with mail left over: kind=%s count=%d", kind, count)
        return left_over.total()

    def _wake(self, address: Address) -> _Resident:
        """Start the task of a mailbox that was empty."""
        resident = _Resident(Mailbox(self._waits), self._idle.get(address))
        try:
            self._tasks.start_soon(self._work, address, resident, name=f"actor {address}")
        except RuntimeError as ended:  # the task group, and with it every actor
            self.close()
            raise SupervisorClosedError(address) from ended
        self._idle.pop(address, None)
        self._residents[address] = resident
        if not self._busy:
            self._settled = anyio.Event()
        self._busy += 1
        self._done["spawned"] += 1
        self._evict()
        return resident

    async def _work(self, address: Address, resident: _Resident) -> None:
        """Handle a mailbox until it is empty."""
        with resident.scope:
            try:
                while len(resident.mailbox):
                    # Other tasks get their turn, and what they tell joins the batch.
                    await anyio.lowlevel.checkpoint()
                    await self._handle_head(address, resident)
            except SupervisorClosedError:
                _log.info("%s: not finished, another actor no longer takes mail", address)
            except asyncio.CancelledError:
                self.close()  # if not by `stop`, then the task group is at its end
                raise
            finally:
                self._rest(address, resident)

    def _rest(self, address: Address, resident: _Resident) -> None:
        """Take note that a task ends; mail it leaves stays with its address."""
        self._busy -= 1
        if not len(resident.mailbox):
            del self._residents[address]
            if resident.actor is not None:
                self._idle[address] = resident.actor
        self._evict()
        if not self._busy:
            self._settled.set()

    def _evict(self) -> None:
        """Forget the actors that have been idle longest, down to the limit."""
        while self._idle and len(self._idle) + self._busy > self._awake_limit:
            self._idle.popitem(last=False)
            self._done["evicted"] += 1

    async def _handle_head(self, address: Address, resident: _Resident) -> None:
        """Try the head of a mailbox once; if it fails, wait for the next attempt."""
        mailbox = resident.mailbox
        mails = mailbox.head(self._kinds[address.kind].batch)
        error = await self._attempt(partial(self._hand_over, address, resident, mails))
        if error is None:
            self._remove_head(mailbox)
            return
        is_mail_suspect = resident.actor is not None
        resident.actor = None  # what it holds in memory is not to be trusted any more
        self._done["restarts"] += 1
        _log.warning("%s failed, to be made anew from its row", address, exc_info=error)
        if is_mail_suspect and len(mails) > 1:
            mailbox.split()
        else:
            mailbox.failures += 1
        if mailbox.failures < self._attempts:
            await self._clock.sleep(mailbox.next_wait())
        else:
            await self._give_up(address, mailbox, mails, error)

    async def _hand_over(
        self, address: Address, resident: _Resident, mails: Sequence[Any]
    ) -> None:
        if resident.actor is None:
            resident.actor = await self._kinds[address.kind].build(address.key)
            self._done["built"] += 1
        with resident.forgotten_after(self._is_outage):
            await resident.actor.handle(mails)

    async def _give_up(
        self, address: Address, mailbox: Mailbox, mails: Sequence[Any], error: Exception
    ) -> None:
        """Hand the head to `on_dead` and let the mailbox move on."""
        _log.error("%s: %d mail(s) given up", address, len(mails), exc_info=error)
        waits = self._waits()
        for attempt in range(1, self._attempts + 1):
            failure = await self._attempt(partial(self._on_dead, address, mails, error))
            if failure is None:
                break
            _log.error("%s: giving up failed, attempt %d", address, attempt, exc_info=failure)
            await self._clock.sleep(next(waits))
        self._done["dead"] += len(mails)
        self._remove_head(mailbox)

    async def _attempt(self, step: Callable[[], Awaitable[None]]) -> Exception | None:
        """Run a step and return its error; only that the supervisor stops is raised."""
        error = await error_after_outage(step, self._is_outage, self._waits(), self._clock)
        if self._closed and isinstance(error, SupervisorClosedError):
            raise error
        return error

    def _remove_head(self, mailbox: Mailbox) -> None:
        self._waiting -= mailbox.remove_head()
        self._make_room()

    def _make_room(self) -> None:
        """Wake whoever waits in `send`; each tries again, in the order of waiting."""
        self._room.set()
        self._room = anyio.Event()
