"""A profile under measurement: its server, its people, and a watch at both ends of a question."""

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio
from sqlite_utils import Database

from ....store.database import open_database
from ...chatto.client import ChattoServer
from ...chatto.credential import Password
from ...runtime.clock import SystemClock
from ...sessions import journal
from ...sessions.desk import Equipment, SessionsDesk
from ...sessions.policy import ContextLimits
from ...sessions.ports import ChatServer, HandOver, TurnOrder
from ...sessions.services import Limits
from ...sessions.stream_events import MessagePosted, StreamEvent, StreamOpened
from ..scripted_gateway import ScriptedGateway
from ..stage import POLICY, Colleague, colleague

__all__ = ["Rig", "Watch", "WatchedServer", "bare", "ours", "stage"]

SETTLE_S = 0.02  # between two questions: what the first left to do is done
PATIENCE_S = 30.0


@dataclass
class Watch:
    """When a message arrived, and when it was given to the agent; by message ID, in seconds."""

    arrived: dict[str, float] = field(default_factory=dict)
    handed: dict[str, float] = field(default_factory=dict)
    commits: int = 0
    """Transactions of the state file that wrote something, so far."""
    commits_before: dict[str, int] = field(default_factory=dict)
    """Those until the arrival."""
    commits_within: dict[str, int] = field(default_factory=dict)
    """Those between the two."""
    news: anyio.Event = field(default_factory=anyio.Event)

    def note_arrival(self, event: StreamEvent) -> None:
        """Note that the stream brought a message."""
        if isinstance(event, MessagePosted):
            self.commits_before[event.message_id] = self.commits
            self.arrived[event.message_id] = time.perf_counter()

    def note_hand_over(self, message_id: str) -> None:
        """Note that the agent gets it; what was asked while nobody listened never arrived."""
        if message_id not in self.commits_before:
            return
        self.handed[message_id] = time.perf_counter()
        self.commits_within[message_id] = self.commits - self.commits_before[message_id]
        self.news.set()
        self.news = anyio.Event()

    async def until_handed(self, message_id: str) -> None:
        """Wait until the agent has a message."""
        with anyio.fail_after(PATIENCE_S):
            while message_id not in self.handed:
                await self.news.wait()

    def took_ms(self, message_ids: Sequence[str]) -> list[float]:
        """Return how long each took from one end to the other."""
        return [1_000 * (self.handed[id_] - self.arrived[id_]) for id_ in message_ids]


class Ends(logging.Handler):
    """Reads off the log which turns have come to their end, and are written down so."""

    def __init__(self) -> None:
        """Know of none."""
        super().__init__(logging.INFO)
        self.ended: set[str] = set()
        self.news = anyio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        """Look whether a line is the last step of a turn."""
        words = record.getMessage().split()
        if words and words[0].startswith("turn=") and "->silent" in record.getMessage():
            self.ended.add(words[0].removeprefix("turn="))
            self.news.set()
            self.news = anyio.Event()

    async def until_ended(self, message_id: str) -> None:
        """Wait until nothing is left to be written about a turn."""
        with anyio.fail_after(PATIENCE_S):
            while message_id not in self.ended:
                await self.news.wait()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Read the log of the sessions' steps for a while."""
        logger = logging.getLogger(journal.__name__)
        level = logger.level
        logger.addHandler(self)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(self)
            logger.setLevel(level)


class WatchedServer(ChattoServer):
    """The server as the plugin sees it, with a watch at the stream."""

    def __init__(self, url: str, watch: Watch) -> None:
        """Connect to nothing yet."""
        super().__init__(url, Password("hermes", "hermes-pass-1"))
        self._watch = watch

    async def stream(self, resume_after: str | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Open the stream and note what it brings."""
        async with aclosing(super().stream(resume_after)) as events:
            async for event in events:
                self._watch.note_arrival(event)
                yield event


class WatchedGateway(ScriptedGateway):
    """A gateway whose agent says nothing, with a watch at the hand-over."""

    watch: Watch

    async def hand_over(self, order: TurnOrder) -> HandOver:
        """Note it, and run the agent."""
        self.watch.note_hand_over(order.message_id)
        return await super().hand_over(order)


@dataclass
class Rig:
    """A stage, and a watch."""

    stage: Colleague
    watch: Watch
    ends: Ends | None = None
    """None: nothing is written, so nothing is left to do after the hand-over."""
    gateway: ScriptedGateway | None = None
    """None: there is none in between."""

    async def ask(self, body: str, *, thread: str = "") -> str:
        """Have a person ask, wait until the agent has it, and return the message ID."""
        message_id = self.stage.posts("alice", body, thread=thread)
        await self.watch.until_handed(message_id)
        await self.until_ended(message_id)
        await anyio.sleep(SETTLE_S)
        return message_id

    async def until_ended(self, message_id: str) -> None:
        """Wait until nothing is left to be written about a question."""
        if self.ends is not None:
            await self.ends.until_ended(message_id)

    def open_gate(self) -> None:
        """Let the gateway take turns, if it does not yet."""
        if self.gateway is not None:
            self.gateway.open_gate()

    async def ask_in_turns(self, threads: Sequence[str], count: int) -> list[str]:
        """Ask so many follow-ups, each in the next thread."""
        return [
            await self.ask(f"@hermes question {number}", thread=threads[number % len(threads)])
            for number in range(count)
        ]


@asynccontextmanager
async def stage(folder: Path, rooms: Sequence[str] = ("R1",)) -> AsyncIterator[Colleague]:
    """Open a server with people and without the plugin."""
    async with colleague(folder, rooms=rooms, is_started=False) as opened:
        yield opened


@asynccontextmanager
async def ours(  # noqa: PLR0913 - each is something a measure may change
    stage: Colleague,
    *,
    counts: bool = False,
    is_durable: bool = True,
    is_gate_open: bool = True,
    watch: Watch | None = None,
    server: ChatServer | None = None,
) -> AsyncIterator[Rig]:
    """Run the plugin's sessions on the stage's state file.

    Args:
        stage: the server and the people.
        counts: whether commits are counted, which costs a little.
        is_durable: False: commits do not wait for the disk, as no profile ever runs.
        is_gate_open: whether the gateway takes turns from the start.
        watch: None: one of its own.
        server: what it is connected to; None: the stage's.
    """
    watch = watch or Watch()
    gateway = WatchedGateway(stage.tasks, silent)
    gateway.watch = watch
    if not is_gate_open:
        gateway.shut_gate()

    def open_state() -> Database:
        db = open_database(stage.state_path, now=datetime.now(UTC)).db
        if not is_durable:
            db.conn.execute("pragma synchronous = off")
        if counts:
            db.conn.set_trace_callback(lambda sql: _count(watch, sql))
        return db

    watched = WatchedServer(stage.url, watch)
    equipment = Equipment(
        scope="default",
        server_url=stage.url,
        server=server or watched,
        rooms=watched.rooms,
        policy=POLICY,
        context=ContextLimits(),
        limits=Limits(),
        open_state=open_state,
        clock=SystemClock(),
    )
    desk = SessionsDesk(equipment, gateway)
    gateway.serve(desk)
    ends = Ends()
    with ends.listening():
        await desk.start()
        try:
            yield Rig(stage, watch, ends, gateway)
        finally:
            await desk.stop()


@asynccontextmanager
async def bare(stage: Colleague) -> AsyncIterator[Rig]:
    """Run the barest adapter there can be: it reads what was posted, and stores nothing."""
    watch = Watch()
    server = WatchedServer(stage.url, watch)
    await server.identify()
    is_open = anyio.Event()
    allowed = stage.ids["alice"]

    async def run() -> None:
        async with aclosing(server.stream()) as events:
            async for event in events:
                if isinstance(event, StreamOpened):
                    is_open.set()
                if isinstance(event, MessagePosted) and event.author_id == allowed:
                    await server.read_messages(event.room_id, [event.message_id])
                    watch.note_hand_over(event.message_id)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await is_open.wait()
        yield Rig(stage, watch)
        tasks.cancel_scope.cancel()


async def silent(order: TurnOrder) -> None:
    """Answer nothing."""
    del order


def _count(watch: Watch, sql: str) -> None:
    if sql.upper().startswith("COMMIT"):
        watch.commits += 1
