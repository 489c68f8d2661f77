"""A whole profile on an embedded server, with a scripted agent instead of the gateway."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from hermes_chatto.actors.chatto.client import ChattoServer
from hermes_chatto.actors.chatto.credential import Password
from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.scripted_gateway import Agent, ScriptedGateway, first_words
from hermes_chatto.actors.sandbox.server.sandbox import Sandbox
from hermes_chatto.actors.sessions.desk import Equipment, SessionsDesk
from hermes_chatto.actors.sessions.policy import Policy
from hermes_chatto.actors.sessions.ports import Post
from hermes_chatto.actors.sessions.services import Limits
from hermes_chatto.store.database import open_database
from sqlite_utils import Database

PEOPLE = ("alice", "bob", "carol", "hermes")
POLICY = Policy(allowed_user_entries=("alice", "bob"))


@dataclass
class Colleague:
    """One profile under test, and the people around it."""

    sandbox: Sandbox
    url: str
    state_path: Path
    gateway: ScriptedGateway
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
            while not claim():
                await anyio.sleep(0.01)

    async def until_state(self, message_id: str, state: str) -> None:
        """Wait until a turn is in a state."""
        await self.until(lambda: self.state_of(message_id) == state)

    def posts_of(self, login: str) -> list[tuple[str, str | None, str | None, str]]:
        """Return room, thread root, pointer and body of what somebody posted, in order."""
        return [
            (row.room_id, row.thread_root_id or None, row.in_reply_to or None, row.body or "")
            for row in self.sandbox.messages_of(self.ids[login])
        ]


Open = Callable[..., AsyncIterator[Colleague]]


@asynccontextmanager
async def colleague(
    tmp_path: Path,
    *,
    agent: Agent = first_words,
    policy: Policy = POLICY,
    limits: Limits | None = None,
    rooms: Sequence[str] = ("R1", "R2"),
) -> AsyncIterator[Colleague]:
    """Start server, sessions and scripted agent; stop them in order."""
    sandbox = Sandbox()
    accounts = {login: sandbox.add_account(login) for login in PEOPLE}
    made = {name: sandbox.add_room(name, *accounts.values()).id for name in rooms}
    state_path = tmp_path / "chatto" / "state.db"
    async with sandbox as url, anyio.create_task_group() as tasks:
        gateway = ScriptedGateway(tasks, agent)
        equipment = Equipment(
            scope="default",
            server_url=url,
            server=ChattoServer(url, Password("hermes", "hermes-pass-1")),
            policy=policy,
            limits=limits or Limits(),
            open_state=lambda: open_database(state_path, now=datetime.now(UTC)).db,
            clock=SystemClock(),
        )
        desk = SessionsDesk(equipment, gateway)
        gateway.serve(desk)
        await desk.start()
        ids = {login: account.id for login, account in accounts.items()}
        yield Colleague(sandbox, url, state_path, gateway, ids, made)
        await desk.stop()
        tasks.cancel_scope.cancel()
        assert gateway.crashes == []


@pytest.fixture
def open_colleague(tmp_path: Path) -> Callable[..., object]:
    """Return what starts a profile in this test's folder."""
    return lambda **options: colleague(tmp_path, **options)
