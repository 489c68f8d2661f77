"""A whole profile on an embedded server, with a scripted agent instead of the gateway.

What the scenarios of the suite are played on: people, rooms, the agent, the state file.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx
from sqlite_utils import Database

from ...store.database import open_database
from ..chatto.client import ChattoServer
from ..chatto.credential import Password
from ..runtime.clock import SystemClock
from ..sessions.desk import Equipment, SessionsDesk
from ..sessions.policy import ContextLimits, Policy
from ..sessions.ports import Post
from ..sessions.services import Limits
from .scripted_gateway import Agent, ScriptedGateway, first_words
from .server.faults import Call, NoFaults
from .server.pb import Proto
from .server.refusals import Code, RefusedError
from .server.sandbox import Sandbox

__all__ = ["Colleague", "Open", "Posted", "colleague"]

PEOPLE = ("alice", "bob", "carol", "hermes")
POLICY = Policy(allowed_user_entries=("alice", "bob"))


@dataclass(frozen=True)
class Posted:
    """A message as it stands on the server."""

    room_id: str
    thread_root_id: str
    in_reply_to: str
    body: str
    message_id: str


class PostFaults(NoFaults):
    """Answers posts of the agent otherwise than the server would, once each, in order."""

    def __init__(self) -> None:
        """Disturb nothing yet."""
        self.before: list[Code] = []
        """Refusals without anything being posted."""
        self.after: list[Code] = []
        """Refusals although the message was posted."""
        self.agent_id = ""

    async def applying(self, call: Call, apply: Callable[[], Awaitable[Proto]]) -> Proto:
        """Refuse before or after the post, if that is planned."""
        if call.name != "MessageService/CreateMessage" or call.user_id != self.agent_id:
            return await apply()
        if self.before:
            raise RefusedError(self.before.pop(0), "planned")
        answer = await apply()
        if self.after:
            raise RefusedError(self.after.pop(0), "planned")
        return answer


@dataclass
class Colleague:
    """One profile under test, and the people around it."""

    sandbox: Sandbox
    url: str
    state_path: Path
    gateway: ScriptedGateway
    faults: PostFaults
    ids: Mapping[str, str]
    """User IDs by login."""
    rooms: dict[str, str] = field(default_factory=dict)
    """Room IDs by name."""
    _people: dict[str, ChattoServer] = field(default_factory=dict)

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
        """Let a person post, and return the message's ID."""
        room_id = self.rooms.get(room, room)
        return await self.person(login).post(Post(room_id, thread, reply_to, body))

    def rows(self, sql: str, *params: object) -> list[tuple[object, ...]]:
        """Read the state file as an operator would: from outside."""
        db = Database(self.state_path)
        try:
            return db.execute(sql, params).fetchall()
        finally:
            db.close()

    def state_of(self, message_id: str) -> str | None:
        """Return the state of a turn; None: the message has no row."""
        found = self.rows("select state from turns where message_id = ?", message_id)
        return str(found[0][0]) if found else None

    def story(self, message_id: str) -> list[str]:
        """Return the steps of a turn's own machine."""
        sql = "select step from turn_story where message_id = ? and machine = 'turn' order by seq"
        return [str(step) for (step,) in self.rows(sql, message_id)]

    async def until(self, claim: Callable[[], bool], within_s: float = 5.0) -> None:
        """Wait until something is true; fails when it does not become true."""
        with anyio.fail_after(within_s):
            while not claim():  # noqa: ASYNC110 - rows are read from outside: they tell nobody
                await anyio.sleep(0.01)

    async def until_state(self, message_id: str, state: str) -> None:
        """Wait until a turn is in a state."""
        await self.until(lambda: self.state_of(message_id) == state)

    def answers(self) -> list[Posted]:
        """Return what the agent's account posted, in the order of the server's rows."""
        rows = self.sandbox.world.log.messages_by(self.ids["hermes"])
        return [
            Posted(row.room.id, row.thread_root_id, row.in_reply_to, row.body, row.id)
            for row in sorted(rows, key=lambda row: row.sequence)
        ]

    async def opens_dm(self, login: str, *others: str) -> str:
        """Let a person open a direct conversation with the agent, and return its room."""
        ids = [self.ids[name] for name in ("hermes", *others)]
        answer = await self._call(login, "RoomService/StartDM", {"participantIds": ids})
        return str(answer["room"]["id"])

    async def deletes(self, login: str, message_id: str, *, room: str = "R1") -> None:
        """Let a person delete a message."""
        room_id = self.rooms.get(room, room)
        fields = {"roomId": room_id, "eventId": message_id}
        await self._call(login, "MessageService/DeleteMessage", fields)

    def renames(self, login: str, display_name: str) -> None:
        """Give an account another name for people to see."""
        self.sandbox.world.accounts.require(self.ids[login]).display_name = display_name

    async def _call(self, login: str, method: str, fields: object) -> Any:  # noqa: ANN401 - JSON
        async with httpx.AsyncClient(base_url=self.url) as http:
            answer = await http.post(
                f"/api/connect/chatto.api.v1.{method}",
                json=fields,
                headers={"authorization": f"Bearer {await self.token_of(login)}"},
            )
        answer.raise_for_status()
        return answer.json()

    async def token_of(self, login: str) -> str:
        """Return a bearer token of a person."""
        async with httpx.AsyncClient(base_url=self.url) as http:
            sent = {"login": login, "password": f"{login}-pass-1"}
            answer = await http.post("/auth/login", json=sent)
        return str(answer.json()["token"])


@asynccontextmanager
async def colleague(  # noqa: PLR0913  each is a choice of a scenario
    tmp_path: Path,
    *,
    agent: Agent = first_words,
    policy: Policy = POLICY,
    limits: Limits | None = None,
    context: ContextLimits | None = None,
    rooms: Sequence[str] = ("R1", "R2"),
) -> AsyncIterator[Colleague]:
    """Start server, sessions and scripted agent; stop them in order."""
    faults = PostFaults()
    sandbox = Sandbox(faults=faults)
    accounts = {login: sandbox.add_account(login) for login in PEOPLE}
    made = {name: sandbox.add_room(name, *accounts.values()).id for name in rooms}
    faults.agent_id = accounts["hermes"].id
    state_path = tmp_path / "chatto" / "state.db"
    async with sandbox as url, anyio.create_task_group() as tasks:
        gateway = ScriptedGateway(tasks, agent)
        equipment = Equipment(
            scope="default",
            server_url=url,
            server=ChattoServer(url, Password("hermes", "hermes-pass-1")),
            policy=policy,
            context=context or ContextLimits(),
            limits=limits or Limits(),
            open_state=lambda: open_database(state_path, now=datetime.now(UTC)).db,
            clock=SystemClock(),
        )
        desk = SessionsDesk(equipment, gateway)
        gateway.serve(desk)
        await desk.start()
        ids = {login: account.id for login, account in accounts.items()}
        yield Colleague(sandbox, url, state_path, gateway, faults, ids, made)
        await desk.stop()
        tasks.cancel_scope.cancel()
        if gateway.crashes:
            message = "the sessions ended by a defect"
            raise RuntimeError(message) from gateway.crashes[0]


Open = Callable[..., AbstractAsyncContextManager[Colleague]]
"""`async with open_colleague(agent=…, policy=…) as colleague`: the stage of one test."""
