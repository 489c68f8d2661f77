"""The sessions of one profile as the gateway's side sees them: starts, stops, takes reports."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from ...store import glossary, ignored
from ...store.custody import Custodian
from ...store.database import Database, StoreError
from ...store.folder_lock import FolderTakenError
from ..runtime.backoff import backoff
from ..runtime.clock import Clock
from ..runtime.host import TaskHost
from ..runtime.mailbox import Address, MailboxFullError, SupervisorClosedError
from ..runtime.store_errors import StoreBusyError, StoreUnavailableError, is_outage
from ..runtime.store_thread import StoreThread
from ..runtime.supervisor import Actor, Kind, Supervisor
from .agent_tools import AgentTools
from .alongside import Alongside
from .connection import ConnectionActor, load_connection
from .connection_mail import Deaf, Start, Stop
from .dead_letters import DeadLetters
from .delivery import DeliveryActor
from .directory import Directory
from .errors import ChatError, StateUnusableError
from .facts import Place
from .following import Following
from .glossary import entries
from .journal import Journal
from .mail import (
    CONNECTION,
    DELIVERY,
    MEMBERSHIP,
    RETENTION,
    ROOM,
    SIGN,
    THREAD,
    Answer,
    KeyReady,
    Refresh,
    RunEnded,
    RunStarted,
)
from .membership import MembershipActor
from .policy import NO_SIGNS, ContextLimits, Policy
from .ports import (
    ChatServer,
    DeliveryResult,
    DeliveryState,
    Gateway,
    Outgoing,
    RealtimeSource,
    RunOutcome,
)
from .position import PositionKeeper
from .promise import Promise
from .recovery import Recovery, ended_at, withdraw_questions
from .retention import RetentionActor, prune_now_and_then
from .room import RoomActor
from .room_server import RoomServer
from .services import Limits, Services
from .signs import SignActor
from .stream import StreamReader
from .thread import ThreadActor
from .tool_port import Tools

__all__ = ["Equipment", "SessionsDesk"]

log = logging.getLogger(__name__)

DRAIN_S = 2.0  # the gateway gives a disconnect five seconds in all
STOP_S = 4.0
READ_AT_ONCE = 100  # Source: Chatto 0.4.20, BatchGetMessages takes 1 to 100 IDs
WAITING_PER_ROOM = 1_000
WAITING_PER_LANE = 1_000

LONGEST_REPAIR_WAIT_S = 30.0
LOCK_AT_START_S = 10.0  # beside the 5 s of each attempt; the gateway gives a connect 30 s
OUTAGE = (StoreBusyError, StoreUnavailableError)

UNFINISHED = DeliveryResult(DeliveryState.REFUSED, (), "stopping")
"""It stands in the outbox: what is missing goes out after the next start."""
STOPPING = DeliveryResult(DeliveryState.REFUSED, (), "stopping", is_retryable=True)
OVERLOADED = DeliveryResult(DeliveryState.REFUSED, (), "overloaded", is_retryable=True)


@dataclass(frozen=True, slots=True)
class Equipment:
    """What the sessions of one profile run on."""

    scope: str
    """The profile's name, as it stands in every row."""
    server_url: str
    """For the row of the connection; holds no secret."""
    server: ChatServer
    rooms: RoomServer
    policy: Policy
    context: ContextLimits
    limits: Limits
    open_state: Callable[[], Database]
    """Opens the state file; runs in the store's thread."""
    clock: Clock
    hold_state: Callable[[], AbstractContextManager[None]] = nullcontext
    """Keeps every other process off the state file for the time of a block; runs in a thread.
    Raises: FolderTakenError, OSError."""
    source: RealtimeSource | None = None
    """Where events come from; None: the server."""


class SessionsDesk:
    """Fulfils the port `Desk`: one start and one stop."""

    def __init__(self, equipment: Equipment, gateway: Gateway) -> None:
        """Run nothing yet.

        Args:
            equipment: what they run on.
            gateway: the gateway they run in.
        """
        self._equipment = equipment
        self._gateway = gateway
        self._host = TaskHost(
            self._open, drain=self._drain, on_crash=self._crashed, grace_s=DRAIN_S + 1.0
        )
        self._first_outcome: Promise[None] = Promise()
        self._waiting: set[Promise[DeliveryResult]] = set()
        self._services: Services | None = None

    @property
    def tools(self) -> Tools | None:
        """What the agent's tools do; None: before the start and after the stop."""
        return AgentTools(self._services, self.deliver) if self._services else None

    async def start(self) -> None:
        """Open the state, start the actors and the connection; return at its first outcome.

        Raises:
            StateUnusableError: the state file cannot be used; the text says what to do.
        """
        try:
            await self._host.start()
        except FolderTakenError as error:
            raise StateUnusableError(str(error)) from error
        except StoreError as error:
            raise StateUnusableError(str(error), may_pass=error.may_pass) from error
        except OUTAGE as error:
            raise StateUnusableError(str(error), may_pass=True) from error
        await self._wait_for_first_outcome()

    async def stop(self) -> None:
        """Stop in order; what is not finished stays in the rows."""
        with anyio.move_on_after(STOP_S) as limit:
            await self._host.stop()
        if limit.cancelled_caught:
            log.warning("the sessions did not stop within %.0f s", STOP_S)

    def run_started(self, session_key: str, message_id: str | None) -> None:
        """A run began; None: one the gateway started itself."""
        self._report(session_key, RunStarted(message_id))

    def run_ended(self, session_key: str, message_id: str | None, outcome: RunOutcome) -> None:
        """A run ended."""
        self._report(session_key, RunEnded(message_id, outcome))

    def key_ready(self, session_key: str) -> None:
        """Tell that the gateway would run an event of this key now."""
        self._report(session_key, KeyReady())

    async def deliver(self, outgoing: Outgoing) -> DeliveryResult:
        """Post a text, in parts where it is long, and wait for what becomes of it."""
        services = self._services
        if services is None:
            return STOPPING
        # The home channel may be given by its name.
        room_id = services.directory.id_of(outgoing.room_id)
        outgoing = replace(outgoing, room_id=room_id)
        lane = services.lane_of(room_id, outgoing.thread_root_id)
        promise: Promise[DeliveryResult] = Promise()
        try:
            services.tell(THREAD, lane, Answer(outgoing, promise))
        except SupervisorClosedError:
            return STOPPING
        except MailboxFullError:
            log.warning("%s: too much waits for another answer", lane)
            return OVERLOADED
        self._waiting.add(promise)
        try:
            return await promise.wait()
        finally:
            self._waiting.discard(promise)

    async def show_typing(self, room_id: str, thread_root_id: str | None) -> None:
        """Show the agent typing, if a turn runs there; a failing call changes nothing else."""
        services = self._services
        if services is None or services.lane_of(room_id, thread_root_id) not in services.running:
            return
        place = Place(room_id, services.directory.kind_of(room_id), thread_root_id)
        try:
            await services.server.show_typing(place)
        except ChatError as error:
            log.debug("typing was not shown: %s", error)

    def _report(self, session_key: str, mail: RunStarted | RunEnded | KeyReady) -> None:
        """Pass on what the gateway reports; its callbacks must never wait or fail."""
        if self._services is None:
            log.debug("%s after the stop", type(mail).__name__)
            return
        try:
            if isinstance(mail, KeyReady):
                self._services.tell(THREAD, session_key, mail)
            else:
                self._services.tell_surely(THREAD, session_key, mail)
        except SupervisorClosedError:
            log.debug("%s while stopping: the rows say what is open", type(mail).__name__)
        except MailboxFullError:
            log.info("%s has mail already, and looks for its next turn by that", session_key)

    # --- start and stop -----------------------------------------------------------------------

    async def _open(self, tasks: TaskGroup) -> None:
        equipment = self._equipment
        store = await self._open_store(tasks)
        alongside = Alongside(store, equipment.clock, tasks)
        journal = Journal(store, equipment.scope, equipment.clock, alongside)
        left_at = await ended_at(journal)
        await withdraw_questions(journal)
        kinds: dict[str, Kind] = {}

        async def on_dead(address: Address, mails: Sequence[Any], error: Exception) -> None:
            await DeadLetters(services).take(address, mails, error)

        supervisor = Supervisor(
            tasks,
            kinds,
            clock=equipment.clock,
            waits=partial(backoff, equipment.limits.repair_wait_s, 5, LONGEST_REPAIR_WAIT_S),
            on_dead=on_dead,
            attempts=4,
            is_outage=is_outage,
        )
        services = Services(
            journal=journal,
            server=equipment.server,
            rooms=equipment.rooms,
            source=equipment.source or equipment.server,
            gateway=self._gateway,
            policy=equipment.policy,
            context=equipment.context,
            limits=equipment.limits,
            tasks=tasks,
            supervisor=supervisor,
            directory=Directory(equipment.server),
            keeper=PositionKeeper(journal, alongside),
            following=Following(equipment.server, journal, alongside, tasks),
            alongside=alongside,
            opened_at=journal.now(),
        )
        services.directory.on_return = partial(_hear_again, services)
        recovery = Recovery(services, left_at)
        kinds.update(self._kinds(services, recovery))
        if equipment.policy.signs != NO_SIGNS:
            journal.on_sign = partial(_refresh_sign, services)
        self._services = services
        await recovery.ask_gateway()
        services.tell(CONNECTION, equipment.scope, Start())
        tasks.start_soon(prune_now_and_then, services, self._first_outcome)

    async def _open_store(self, tasks: TaskGroup) -> StoreThread[Database]:
        """Hold the state folder, and open the file in it."""
        equipment = self._equipment
        await tasks.start(self._hold_state)
        store = StoreThread(
            Custodian(equipment.open_state, equipment.clock.now),
            opening_patience_s=LOCK_AT_START_S,
            clock=equipment.clock,
        )
        await tasks.start(store.serve)
        words = entries()
        # Nothing is written where nothing has to be: a writer elsewhere is no reason to wait.
        if not await store.read(partial(glossary.is_told, entries=words)):
            await store.run(partial(glossary.save, entries=words))
        return store

    async def _hold_state(self, *, task_status: TaskStatus[None]) -> None:
        """Hold the state file as long as anything of ours runs."""
        with ExitStack() as stack:
            await anyio.to_thread.run_sync(stack.enter_context, self._equipment.hold_state())
            task_status.started()
            await anyio.sleep_forever()

    def _kinds(self, services: Services, recovery: Recovery) -> dict[str, Kind]:
        """Say how actors of each kind are made."""
        reader = StreamReader(services)

        async def connect(scope: str) -> Actor:
            del scope  # one per profile
            row = await load_connection(services, self._equipment.server_url)
            return ConnectionActor(row, services, reader, recovery, self._first_outcome)

        return {
            ROOM: Kind(
                partial(_load, RoomActor.load, services),
                batch=READ_AT_ONCE,
                mailbox_limit=WAITING_PER_ROOM,
            ),
            THREAD: Kind(
                partial(_load, ThreadActor.load, services), mailbox_limit=WAITING_PER_LANE
            ),
            MEMBERSHIP: Kind(partial(_load, MembershipActor.load, services)),
            SIGN: Kind(partial(_load, SignActor.load, services)),
            DELIVERY: Kind(partial(_load, DeliveryActor.load, services)),
            CONNECTION: Kind(connect),
            RETENTION: Kind(partial(_load, RetentionActor.load, services)),
        }

    async def _wait_for_first_outcome(self) -> None:
        with anyio.move_on_after(self._equipment.limits.connect_wait_s):
            await self._first_outcome.wait()

    async def _drain(self) -> None:
        services = self._services
        if services is None:
            return
        try:
            await self._wind_up(services)
        finally:
            self._release(services)

    async def _wind_up(self, services: Services) -> None:
        services.tell(CONNECTION, self._equipment.scope, Stop())
        await services.supervisor.stop(DRAIN_S)
        self._services = None
        services.keeper.write_soon()
        await services.alongside.flush()
        with services.tally.taken() as counts:
            if counts:
                at = services.journal.now()
                scope = services.journal.scope
                write = partial(ignored.add, scope=scope, counts=counts, at=at)
                try:
                    await services.journal.store.run(write)
                except OUTAGE as error:
                    log.warning("the counters of what was ignored are lost: %s", error)
        await services.journal.store.close()

    def _crashed(self, error: BaseException) -> None:
        if self._services is not None:
            self._release(self._services)
        self._gateway.crashed(error)

    def _release(self, services: Services) -> None:
        """Let go of everybody who waits for an answer to be posted."""
        services.promises.settle_all(UNFINISHED)
        for promise in list(self._waiting):
            promise.keep(STOPPING)


def _hear_again(services: Services, room_id: str) -> None:
    """Have the stream opened anew that does not bring what is said in a room."""
    try:
        services.tell(CONNECTION, services.journal.scope, Deaf(room_id))
    except (MailboxFullError, SupervisorClosedError) as error:
        log.debug("%s is heard again after the next connection: %s", room_id, error)


def _refresh_sign(services: Services, message_id: str) -> None:
    """Have the reaction on a message looked at; a sign is no reason to stop anything."""
    try:
        services.tell(SIGN, message_id, Refresh())
    except MailboxFullError:
        log.warning("%s: too much waits for its sign to be changed", message_id)
    except SupervisorClosedError:
        log.debug("%s: its sign is looked at after the next start", message_id)


async def _load(
    load: Callable[[str, Services], Awaitable[Actor]], services: Services, key: str
) -> Actor:
    return await load(key, services)
