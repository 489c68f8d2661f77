"""A whole profile on an embedded server, with a scripted agent instead of the gateway.

What the scenarios of the suite are played on: people, rooms, the agent, the state file. The
profile may die and start again, and so may the server.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from sqlite_utils import Database

from ...store.database import open_database
from ...store.folder_lock import hold_folder
from ..chatto.client import ChattoServer
from ..chatto.credential import Credential, Password
from ..chatto.limits import Limits as EdgeLimits
from ..runtime.clock import Clock, SystemClock
from ..sessions.desk import Equipment, SessionsDesk
from ..sessions.policy import NO_SIGNS, ContextLimits, Policy
from ..sessions.ports import ChatServer, RealtimeSource
from ..sessions.services import Limits
from .agent_faults import AgentFaults
from .scripted_gateway import Agent, ScriptedGateway, Session, first_words
from .server.accounts import Account
from .server.clock import ShiftedClock
from .server.editing import Editing
from .server.feed import Ending
from .server.frames import Event
from .server.membership import Membership
from .server.posting import Draft, Posting
from .server.realtime import Timing
from .server.rows import Message
from .server.sandbox import Sandbox

__all__ = ["POLICY", "Colleague", "Open", "Posted", "Script", "colleague"]

PEOPLE = ("alice", "bob", "carol", "hermes")
POLICY = Policy(allowed_user_entries=("alice", "bob"), signs=NO_SIGNS)
NOT_STARTED = "the profile does not run"
HOST = "task host"  # the task that holds everything of a desk


@dataclass(frozen=True)
class Posted:
    """A message as it stands on the server."""

    room_id: str
    thread_root_id: str
    in_reply_to: str
    body: str
    message_id: str


def _as_it_is(server: ChatServer) -> ChatServer:
    return server


@dataclass(frozen=True)
class Script:
    """How a profile is set up: what may differ from one scenario to the next."""

    agent: Agent = first_words
    policy: Policy = POLICY
    limits: Limits = field(default_factory=Limits)
    context: ContextLimits = field(default_factory=ContextLimits)
    login: str = "hermes"
    """The agent's account."""
    scope: str = "default"
    """Name of the profile."""
    credential: Credential = field(default_factory=lambda: Password("hermes", "hermes-pass-1"))
    edge: EdgeLimits = field(default_factory=EdgeLimits)
    around: Callable[[ChatServer], ChatServer] = _as_it_is
    """Puts something between the sessions and the server."""
    source: RealtimeSource | None = None
    """Plays the stream; None: the server's own is read."""
    opened: Callable[[Database], object] = id
    """Called with the state file of a start, as soon as it is open."""
    clock: Clock = field(default_factory=SystemClock)
    is_gate_open: bool = True
    """Whether the gateway takes turns from the start."""


@dataclass
class Colleague:
    """One profile under test, and the people around it."""

    sandbox: Sandbox
    url: str
    state_path: Path
    script: Script
    faults: AgentFaults
    clock: ShiftedClock
    """The server's."""
    tasks: TaskGroup
    """Runs the scripted agent."""
    ids: Mapping[str, str]
    """User IDs by login."""
    rooms: dict[str, str] = field(default_factory=dict)
    """Room IDs by name."""
    sessions: dict[str, Session] = field(default_factory=dict)
    """The gateway's conversations; they outlive the process."""
    _people: dict[str, ChattoServer] = field(default_factory=dict)
    _gateway: ScriptedGateway | None = None
    _desk: SessionsDesk | None = None

    @property
    def gateway(self) -> ScriptedGateway:
        """The gateway of the newest start. Raises: LookupError."""
        if self._gateway is None:
            raise LookupError(NOT_STARTED)
        return self._gateway

    @property
    def desk(self) -> SessionsDesk:
        """The sessions of the present start. Raises: LookupError."""
        if self._desk is None:
            raise LookupError(NOT_STARTED)
        return self._desk

    @property
    def agent_id(self) -> str:
        """The user ID of the agent's account."""
        return self.ids[self.script.login]

    async def starts(self, script: Script | None = None) -> None:
        """Start the profile on its state file; None: set up as before."""
        self.script = script or self.script
        gateway = ScriptedGateway(self.tasks, self.script.agent, sessions=self.sessions)
        if not self.script.is_gate_open:
            gateway.shut_gate()
        server = ChattoServer(self.url, self.script.credential, self.script.edge)
        equipment = Equipment(
            scope=self.script.scope,
            server_url=self.url,
            server=self.script.around(server),
            rooms=server.rooms,
            policy=self.script.policy,
            context=self.script.context,
            limits=self.script.limits,
            open_state=self._open_state,
            clock=self.script.clock,
            hold_state=lambda: hold_folder(self.state_path.parent),
            source=self.script.source,
        )
        desk = SessionsDesk(equipment, gateway)
        gateway.serve(desk)
        self._gateway, self._desk = gateway, desk
        await desk.start()

    def _open_state(self) -> Database:
        db = open_database(self.state_path, now=datetime.now(UTC)).db
        self.script.opened(db)
        return db

    async def stops(self) -> None:
        """Stop the profile in order; does nothing when it does not run.

        Raises:
            RuntimeError: it had ended before, by a defect.
        """
        desk, self._desk = self._desk, None
        if desk is None:
            return
        await desk.stop()
        if self.gateway.crashes:
            message = "the sessions ended by a defect"
            raise RuntimeError(message) from self.gateway.crashes[0]

    async def dies(self) -> None:
        """End the profile where it stands: nothing is finished, the rows stay as they are."""
        hosts = [task for task in asyncio.all_tasks() if task.get_name() == HOST]
        for host in hosts:
            host.cancel()
        await asyncio.wait(hosts)
        self._desk = None
        self.gateway.dies()

    async def restarts_server(self) -> None:
        """Stop the server in order, and start it again at the same address."""
        await self.sandbox.__aexit__(None, None, None)
        await self.sandbox.__aenter__()

    def cuts_stream(self) -> None:
        """End the agent's stream as a broken network does: without a word."""
        for stream in self.sandbox.world.feed.of_user(self.agent_id):
            stream.end(Ending.CUT)

    # --- people -------------------------------------------------------------------------------

    def person(self, login: str) -> ChattoServer:
        """Return the server as a person sees it."""
        if login not in self._people:
            credential = Password(login, f"{login}-pass-1")
            self._people[login] = ChattoServer(self.url, credential)
        return self._people[login]

    async def says(
        self,
        login: str,
        body: str,
        *,
        room: str = "R1",
        thread: str | None = None,
        reply_to: str | None = None,
    ) -> str:
        """Let a person post, give everybody else a turn, and return the message's ID."""
        message_id = self.posts(
            login, body, room=room, thread=thread or "", reply_to=reply_to or ""
        )
        await anyio.lowlevel.checkpoint()
        return message_id

    def posts(  # noqa: PLR0913 - each is something a message may have
        self,
        login: str,
        body: str,
        *,
        room: str = "R1",
        thread: str = "",
        reply_to: str = "",
        echo: bool = False,
    ) -> str:
        """Let a message stand on the server, without a call or a wait; return its ID."""
        world = self.sandbox.world
        draft = Draft(
            room_id=self.rooms.get(room, room),
            body=body,
            thread_root_id=thread,
            in_reply_to=reply_to,
            wants_echo=echo,
        )
        return Posting(world).post(world.accounts.require(self.ids[login]), draft).id

    def tells_room(self, login: str, kind: str, *, room: str = "R1", **payload: str) -> None:
        """Let the server tell a room of something somebody did."""
        world = self.sandbox.world
        place = world.rooms.require(self.rooms.get(room, room))
        world.feed.tell_room(place, Event(kind, self.ids[login], {"room_id": place.id, **payload}))

    async def opens_dm(self, login: str, *others: str) -> str:
        """Let a person open a direct conversation with the agent, and return its room."""
        members = (self.ids[login], self.agent_id, *(self.ids[name] for name in others))
        return Membership(self.sandbox.world).start_dm(members).id

    async def deletes(self, login: str, message_id: str) -> None:
        """Let a person delete a message."""
        self._editing.delete(self._account(login), self._message(message_id))

    def retracts(self, message_id: str) -> None:
        """Delete a message on the server; its author did it."""
        message = self._message(message_id)
        author = self.sandbox.world.accounts.require(message.actor_id)
        self._editing.delete(author, message)

    async def edits(self, login: str, message_id: str, body: str) -> None:
        """Let a person edit a message, as a moderator where it is somebody else's."""
        message, editor = self._message(message_id), self._account(login)
        if message.actor_id != editor.id:
            editor.roles.add("moderator")
        self._editing.update(editor, message, body=body, echo=None)

    def rewrites(self, message_id: str, body: str) -> None:
        """Change a message without a word to anybody, as if the stream had lost the event."""
        message = self._message(message_id)
        message.body, message.updated_ns = body, self.sandbox.world.clock.now_ns()

    def reactions(self, message_id: str) -> list[str]:
        """Return what the agent shows on a message."""
        shown = self.sandbox.world.reactions.on(message_id)
        return [emoji for emoji, users in shown.items() if self.agent_id in users]

    @property
    def _editing(self) -> Editing:
        world = self.sandbox.world
        return Editing(world, Posting(world))

    def _account(self, login: str) -> Account:
        return self.sandbox.world.accounts.require(self.ids[login])

    def _message(self, message_id: str) -> Message:
        row = self.sandbox.world.log.any(message_id)
        if not isinstance(row, Message):
            raise KeyError(message_id)
        return row

    def renames(self, login: str, display_name: str) -> None:
        """Give an account another name for people to see."""
        self.sandbox.world.accounts.require(self.ids[login]).display_name = display_name

    async def token_of(self, login: str) -> str:
        """Return a bearer token of a person."""
        world = self.sandbox.world
        return world.credentials.mint_token(world.accounts.require(self.ids[login]))

    # --- what became of it --------------------------------------------------------------------

    def rows(self, sql: str, *params: object) -> list[tuple[object, ...]]:
        """Read the state file as an operator would: from outside."""
        with closing(Database(self.state_path)) as db:
            return db.execute(sql, params).fetchall()

    def write(self, sql: str, *params: object) -> None:
        """Change the state file from outside: what another process, or a broken disk, may do."""
        with closing(Database(self.state_path)) as db, db.conn:
            db.execute(sql, params)

    def state_of(self, message_id: str) -> str | None:
        """Return the state of a turn; None: the message has no row."""
        found = self.rows("select state from turns where message_id = ?", message_id)
        return str(found[0][0]) if found else None

    def story(self, message_id: str) -> list[str]:
        """Return the steps of a turn's own machine."""
        sql = "select step from turn_story where message_id = ? and machine = 'turn' order by seq"
        return [str(step) for (step,) in self.rows(sql, message_id)]

    def answers(self) -> list[Posted]:
        """Return what the agent's account posted, in the order of the server's rows."""
        rows = self.sandbox.world.log.messages_by(self.agent_id)
        return [
            Posted(row.room.id, row.thread_root_id, row.in_reply_to, row.body, row.id)
            for row in sorted(rows, key=lambda row: row.sequence)
        ]

    async def until(self, claim: Callable[[], bool], within_s: float = 10.0) -> None:
        """Wait until something is true; fails when it does not become true."""
        with anyio.fail_after(within_s):
            while not claim():  # noqa: ASYNC110 - rows are read from outside: they tell nobody
                await anyio.sleep(0.02)

    async def until_state(self, message_id: str, state: str) -> None:
        """Wait until a turn is in a state."""
        await self.until(lambda: self.state_of(message_id) == state)


@asynccontextmanager
async def colleague(  # noqa: PLR0913 - each is something a scenario may change
    tmp_path: Path,
    *,
    agent: Agent = first_words,
    policy: Policy = POLICY,
    limits: Limits | None = None,
    context: ContextLimits | None = None,
    rooms: Sequence[str] = ("R1", "R2"),
    script: Script | None = None,
    faults: AgentFaults | None = None,
    timing: Timing | None = None,
    is_started: bool = True,
) -> AsyncIterator[Colleague]:
    """Start server, sessions and scripted agent; stop them in order.

    Args:
        tmp_path: the state file is made there.
        agent: what the agent does.
        policy: what the operator decided.
        limits: None: the defaults.
        context: None: the defaults.
        rooms: names of the rooms that everybody is in.
        script: None: made of the three above.
        faults: what stands between the server and the agent; None: nothing yet.
        timing: of the server's streams; None: its own.
        is_started: whether the profile runs from the start.
    """
    faults = faults or AgentFaults()
    clock = ShiftedClock()
    sandbox = Sandbox(faults=faults, timing=timing, clock=clock)
    accounts = {login: sandbox.add_account(login) for login in PEOPLE}
    made = {name: sandbox.add_room(name, *accounts.values()).id for name in rooms}
    faults.agent_id = accounts["hermes"].id
    ids = {login: account.id for login, account in accounts.items()}
    script = script or Script(
        agent=agent,
        policy=policy,
        limits=limits or Limits(),
        context=context or ContextLimits(),
    )
    async with sandbox as url, anyio.create_task_group() as tasks:
        state_path = tmp_path / "chatto" / "state.db"
        stage = Colleague(sandbox, url, state_path, script, faults, clock, tasks, ids, made)
        try:
            if is_started:
                await stage.starts()
            yield stage
        finally:
            await stage.stops()
            tasks.cancel_scope.cancel()


Open = Callable[..., AbstractAsyncContextManager[Colleague]]
"""`async with open_colleague(agent=…, policy=…) as colleague`: the stage of one test."""
