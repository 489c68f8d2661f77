"""What every actor of a profile shares: where to write, whom to tell, whom to ask."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from ..runtime.mailbox import Address, MailboxFullError, SupervisorClosedError
from ..runtime.supervisor import Supervisor
from .alongside import Alongside
from .connection_mail import GiveUp
from .directory import Directory
from .editors import Editors
from .errors import UnusableConnectionError
from .facts import Place, RoomKind
from .following import Following
from .journal import Journal
from .mail import CONNECTION, THREAD, KeyReady
from .own_posts import OwnPosts
from .policy import ContextLimits, Policy
from .ports import ChatServer, DeliveryResult, Gateway, RealtimeSource
from .position import PositionKeeper
from .promise import Promise
from .room_server import RoomServer
from .roster import Roster
from .slots import Slots
from .unseen import Unseen

__all__ = ["Limits", "PromisesKept", "RoomLocks", "Services", "Tally"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that are not about who may do what."""

    start_within_s: float = 30.0
    """A turn that was handed over has to start within this time."""
    gate_wait_s: float = 60.0
    """How long a command waits for the gateway's start-up gate. Source: Hermes 0.22 opens it
    some seconds after it connects, 20 s at most, and resumes runs of before meanwhile."""
    presence_every_s: float = 0.0
    """How often the account is shown online again, which holds a minute; 0: it is not shown."""
    editor_wait_s: float = 1.0
    """How long the announcement of an edit is waited for that the first read shows already."""
    verdict_wait_s: float = 5.0
    """How long the server's own word on a mention is waited for before its absence is logged."""
    question_look_s: float = 1.0
    """Pause between two looks whether the gateway still waits for an answer, while somebody is
    asked; it says nothing when it gives up. Source: Hermes 0.22 itself looks once a second."""
    stop_within_s: float = 60.0
    """Longest wait for the end of a run that is being stopped; a tool takes its time."""
    busy_wait_s: float = 30.0
    """Longest wait, in all, when the server says "later" to a post."""
    look_after_s: float = 0.5
    """Pause before a post is looked for: the server may apply it after the connection broke."""
    late_looks_s: tuple[float, ...] = (1.5, 3.0)
    """Pauses before further looks for a post whose connection broke: a proxy, or a busy server,
    may hold it back for longer. Only then it is posted again."""
    first_wait_s: float = 1.0
    """First wait when the server says "later" to a post; the next ones are longer."""
    steady_after_s: float = 60.0
    """A stream that has been live for so long starts counting losses anew."""
    connect_wait_s: float = 8.0
    """How long `Desk.start` waits for the first outcome of the connection."""
    reconnect_first_s: float = 1.0
    """First wait before the stream is opened again; the next ones are longer."""
    reconnect_longest_s: float = 60.0
    """No wait before the stream is opened again is longer, whatever the server asks for."""
    resume_window_s: float = 900.0
    """How old, by the server's clock, a message may be that a gap hid, and still be answered."""
    hold_longest_s: float = 10.0
    """How long what is posted now waits, at most, for what a gap hid in the same place."""
    outage_wait_s: float = 300.0
    """Longest wait, in all, for a server that cannot be reached by a read or a post."""
    asking_wait_s: float = 5.0
    """How long a start waits for the gateway's answers about the runs of before."""
    owed_wait_s: float = 180.0
    """How long an answer is waited for that the gateway owes since before a restart: it tries at
    once, after 30 s and after 120 s. Source: Hermes 0.22, gateway/delivery_ledger.py."""
    owed_look_s: float = 5.0
    """Pause between two looks whether it still owes it."""
    parallel_turns: int = 16
    """Turns at the gateway at once, commands apart; the others wait."""
    waiting_turns: int = 100
    """Questions that may wait in one lane; one more is declined, in words."""
    turn_attempts: int = 20
    """How often one question is handed to the gateway, corrections included."""
    repair_wait_s: float = 0.2
    """First wait before mail whose handler failed is handled again; the next ones are longer."""
    retention_s: float = 30 * 86_400.0
    """How long what is over is kept, and its steps."""
    retention_every_s: float = 3_600.0
    """How often what is over is looked for."""
    retention_pause_s: float = 0.05
    """Pause between two transactions that remove rows."""


class RoomLocks:
    """One post at a time per room.

    Source: Chatto 0.4.20 answers `internal`, without posting, when many posts into one room are
    in flight (cli/internal/core/messages.go appends with an expected position).
    """

    def __init__(self) -> None:
        """Start without rooms."""
        self._locks: dict[str, anyio.Lock] = {}

    def of(self, room_id: str) -> anyio.Lock:
        """Return the lock of a room; hold it for one call, never for a wait."""
        return self._locks.setdefault(room_id, anyio.Lock())


class PromisesKept:
    """Who waits for which delivery."""

    def __init__(self) -> None:
        """Start with nobody waiting."""
        self._waiting: dict[str, list[Promise[DeliveryResult]]] = {}

    def expect(self, delivery_id: str, promise: Promise[DeliveryResult]) -> None:
        """Remember who waits for a delivery."""
        self._waiting.setdefault(delivery_id, []).append(promise)

    def delivery_of(self, promise: Promise[DeliveryResult]) -> str | None:
        """Return the delivery somebody waits for; None: none was planned for them yet."""
        waiting = (id_ for id_, promises in self._waiting.items() if promise in promises)
        return next(waiting, None)

    def settle(self, delivery_id: str, result: DeliveryResult) -> None:
        """Tell whoever waits; a delivery from before a restart has nobody."""
        for promise in self._waiting.pop(delivery_id, []):
            promise.keep(result)

    def settle_all(self, result: DeliveryResult) -> None:
        """Tell everybody who waits: the profile ends, and nobody else will."""
        for delivery_id in list(self._waiting):
            self.settle(delivery_id, result)


class Tally:
    """Messages that were not for the agent, by room and cause, until they are written."""

    def __init__(self) -> None:
        """Start at nothing."""
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, room_id: str, cause: str) -> None:
        """Count one message."""
        self._counts[room_id, cause] += 1

    @contextmanager
    def taken(self) -> Iterator[dict[tuple[str, str], int]]:
        """Lend what was counted to a block that writes it; a failing block gives it back."""
        counts, self._counts = self._counts, Counter()
        try:
            yield dict(counts)
        except BaseException:
            self._counts.update(counts)
            raise


@dataclass(slots=True)
class Services:
    """The shared things of one profile; made once per start."""

    journal: Journal
    server: ChatServer
    rooms: RoomServer
    source: RealtimeSource
    """Where events come from: the server itself, as a rule."""
    gateway: Gateway
    policy: Policy
    """As it was written; from the first connection on its rooms are IDs."""
    context: ContextLimits
    limits: Limits
    tasks: TaskGroup
    supervisor: Supervisor
    directory: Directory
    keeper: PositionKeeper
    following: Following
    alongside: Alongside
    opened_at: str
    """When this start began, as rows keep times."""
    roster: Roster = field(default_factory=Roster)
    """Whom the operator's lists mean, since the newest connection."""
    locks: RoomLocks = field(default_factory=RoomLocks)
    promises: PromisesKept = field(default_factory=PromisesKept)
    tally: Tally = field(default_factory=Tally)
    unseen: Unseen = field(default_factory=Unseen)
    own_posts: OwnPosts = field(default_factory=OwnPosts)
    editors: Editors = field(default_factory=Editors)
    no_signs: dict[str, str] = field(default_factory=dict)
    """Rooms in which reactions were refused, each with the receipt of the first question it was
    about: not tried again before something about the room has changed, or the stream is opened
    anew; nothing tells of a right that is given."""
    lanes_open: anyio.Event = field(default_factory=anyio.Event)
    """Set when what an earlier process left is known: from then on turns go to the gateway."""
    travelling: dict[str, str] = field(default_factory=dict)
    """Rooms that are being joined or left by a command, and whose it is."""
    running: set[str] = field(default_factory=set)
    """Lanes in which a run is under way: only there the agent is shown typing."""
    slots: Slots = field(init=False)
    """Lanes that have a turn at the gateway."""

    def __post_init__(self) -> None:
        """Make what needs the rest."""
        self.slots = Slots(self.limits.parallel_turns, self._give_place)

    def let_in_by(self, author_id: str, place: Place) -> str | None:
        """Return what lets an account talk to the agent at a place; None: nothing does.

        The operator's list, else the gateway's own means, which do not say which of them it was.
        """
        entry = self.roster.entry_for(author_id)
        if entry is not None:
            return entry
        return "gateway" if self.gateway.may_speak(author_id, place) else None

    def is_program(self, user_id: str) -> bool:
        """Tell whether an account is a program, by the operator's list or the server's word."""
        person = self.directory.known_person(user_id)
        return user_id in self.roster.programs or (person is not None and person.is_program)

    def lane_of(self, room_id: str, thread_root_id: str | None) -> str:
        """Return the mailbox in which what happens at a place is put in order.

        The gateway's session key, or, for a channel itself, where nobody holds a conversation,
        a key of its own.
        """
        if thread_root_id is None and self.directory.kind_of(room_id) is RoomKind.CHANNEL:
            return f"room:{room_id}"
        kind = RoomKind.DIRECT if thread_root_id is None else RoomKind.CHANNEL
        return self.gateway.session_key(Place(room_id, kind, thread_root_id))

    def tell(self, kind: str, key: str, mail: object) -> None:
        """Put a mail into an actor's mailbox.

        Raises:
            MailboxFullError: too much waits for it.
            SupervisorClosedError: the profile is being stopped.
        """
        self.supervisor.tell(Address(kind, key), mail)

    async def send(self, kind: str, key: str, mail: object) -> None:
        """Put a mail into an actor's mailbox as soon as there is room for it.

        Only for whoever never gets mail from that actor: two that wait for each other's
        mailbox would wait for ever.

        Raises:
            SupervisorClosedError: the profile is being stopped.
        """
        await self.supervisor.send(Address(kind, key), mail)

    def give_up(self, error: UnusableConnectionError) -> None:
        """Tell the connection that no retry helps, as a call has shown.

        Raises:
            MailboxFullError: it has been told often enough.
            SupervisorClosedError: the profile is being stopped.
        """
        self.tell(CONNECTION, self.journal.scope, GiveUp(error))

    def tell_surely(self, kind: str, key: str, mail: object) -> None:
        """Put a mail into an actor's mailbox, later where it is full now.

        For what is recorded already, so that a second attempt of the sender would repeat it.

        Raises:
            SupervisorClosedError: the profile is being stopped.
        """
        try:
            self.tell(kind, key, mail)
        except MailboxFullError:
            log.warning("%s %s: mail has to wait (%s)", kind, key, type(mail).__name__)
            self.tasks.start_soon(self.send, kind, key, mail)

    def _give_place(self, session_key: str) -> None:
        """Have a lane hand over its next turn: a place at the gateway is kept for it."""
        try:
            self.tell(THREAD, session_key, KeyReady())
        except MailboxFullError:
            log.info("%s has mail already, and looks for its next turn by that", session_key)
        except SupervisorClosedError:
            log.debug("%s: its turn goes out after the next start", session_key)

    def tell_later(self, seconds: float, kind: str, key: str, mail: object) -> None:
        """Put a mail into an actor's mailbox after a while."""
        self.tasks.start_soon(self._tell_after, seconds, Address(kind, key), mail)

    async def _tell_after(self, seconds: float, address: Address, mail: object) -> None:
        await self.journal.clock.sleep(seconds)
        try:
            self.supervisor.tell(address, mail)
        except MailboxFullError:
            # A reminder: whatever fills the mailbox will look at the same row.
            log.warning("%s has too much mail for a reminder (%s)", address, type(mail).__name__)
        except SupervisorClosedError:
            log.debug("%s: stopped before a reminder was due", address)
