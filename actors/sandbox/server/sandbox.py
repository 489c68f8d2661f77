"""The sandbox: a whole Chatto server in this process, for tests and the demo.

    async with Sandbox() as url:
        ...

It seeds what a fresh server has: the group "Lobby" with a universal room `announcements`, in
which people may only answer in threads, and a room `general`.
Source: Chatto 0.4.20, cli/internal/core/spaces.go.
"""

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Generator, Iterable
from types import TracebackType
from typing import Self

import anyio
import uvicorn

from .accounts import Account
from .app import Application, build
from .clock import Clock, SystemClock
from .faults import Faults, NoFaults
from .ids import DescendingIds, IdSource
from .membership import Membership
from .permissions import Permission
from .realtime import Timing
from .rooms import SYSTEM, Room
from .world import World

BACKLOG = 512  # connections that may wait to be accepted
GRACE_S = 1  # seconds a stop waits for calls that are being answered
LOOK_EVERY_S = 0.005  # whether they are
IDLE_S = 120  # how long a connection without a call is kept. Source: Chatto 0.4.20, server.go
MAX_CLIENT_FRAME = 64 * 1024  # bytes


class PortTakenError(Exception):
    """Another program listens where the server should."""


class Sandbox:
    """One server: its set-up, its life, its counters."""

    def __init__(
        self,
        *,
        address: tuple[str, int] = ("127.0.0.1", 0),
        clock: Clock | None = None,
        ids: IdSource | None = None,
        faults: Faults | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Prepare a server; it listens once entered.

        Args:
            address: IPv4 address and port to listen on; port 0 picks a free one.
            clock: None for the machine's.
            ids: None for IDs that sort against time.
            faults: what stands between server and clients; None for nothing.
            timing: time limits of realtime connections; None for the server's own.
        """
        self.host, self.port = address
        self.world = World(clock or SystemClock(), ids or DescendingIds())
        self._application = Application(self.world, faults or NoFaults(), timing or Timing())
        self._membership = Membership(self.world)
        self._lobby = self.world.rooms.add_group("Lobby")
        self._running: _Running | None = None
        self._seed()

    @property
    def calls(self) -> Counter[str]:
        """How often each RPC was called since the start, by `Service/Method`."""
        return self._application.calls

    @property
    def url(self) -> str:
        """The base URL; the port is known once the server is entered."""
        return f"http://{self.host}:{self.port}"

    # --- set-up ---------------------------------------------------------------------------

    def add_account(
        self, login: str, password: str = "", *, display_name: str = "", roles: Iterable[str] = ()
    ) -> Account:
        """Create an account.

        Args:
            login: unique; role names are taken.
            password: empty for `{login}-pass-1`.
            display_name: empty for the login with a capital letter.
            roles: of `moderator`, `admin`, `owner`.

        Raises:
            RefusedError: the login is malformed or taken.
        """
        account = self.world.accounts.add(
            login, password or f"{login}-pass-1", display_name=display_name
        )
        account.roles.update(roles)
        return account

    def add_room(self, name: str, *members: Account, universal: bool = False) -> Room:
        """Create a channel with members; in a universal one everybody is anyway.

        Raises:
            RefusedError: the name is taken.
        """
        room = self._membership.create_channel(SYSTEM, name, self._lobby, is_universal=universal)
        self.add_members(room, *members)
        return room

    def add_members(self, room: Room, *accounts: Account) -> None:
        """Let accounts into a channel, as if each had joined."""
        for account in accounts:
            self._membership.join(account, room)

    def room(self, name: str) -> Room:
        """Return the channel of this name.

        Raises:
            KeyError: there is none.
        """
        for room in self.world.rooms.all():
            if room.name == name:
                return room
        raise KeyError(name)

    # --- life -----------------------------------------------------------------------------

    async def __aenter__(self) -> str:
        """Listen, and return the base URL.

        Raises:
            PortTakenError: another program listens there.
        """
        listening = _listen(self.host, self.port)
        self.port = listening.getsockname()[1]
        self._running = await _Running.start(self._application, listening)
        return self.url

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop as a server does: streams are asked to come back, then everything closes."""
        if self._running is not None:
            await self._running.stop()
            self._running = None

    def _seed(self) -> None:
        announcements = self.add_room("announcements", universal=True)
        self.world.permissions.decide("everyone", Permission.POST, announcements.id, allowed=False)
        self.add_room("general")


class _Running:
    """A server that listens: its task, and what else runs beside it."""

    def __init__(self, application: Application) -> None:
        app, self._realtime = build(application)
        self._server = _Server(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                ws_max_size=MAX_CLIENT_FRAME,
                ws_ping_interval=None,
                ws_per_message_deflate=False,
                server_header=False,
                timeout_keep_alive=IDLE_S,
                date_header=False,
            )
        )
        self._presence = application.world.presence
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(cls, application: Application, listening: socket.socket) -> Self:
        running = cls(application)
        running._tasks = [
            asyncio.create_task(running._server.serve([listening])),
            asyncio.create_task(running._presence.announce_lapses()),
        ]
        await running._server.is_up.wait()
        return running

    async def stop(self) -> None:
        await self._realtime.stop()
        serving, announcing = self._tasks
        self._server.told_to_stop.set()
        announcing.cancel()
        await asyncio.wait({serving, announcing})
        serving.result()


class _Server(uvicorn.Server):
    """uvicorn, told when to stop by us and not by signals.

    It looks ten times a second whether it should stop, and then waits for a tenth more. A
    suite starts and stops hundreds of servers, so this one waits for what it waits for.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()
        self.told_to_stop = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals alone: they belong to the program, not to a server within it."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self.is_up.set()

    async def main_loop(self) -> None:
        """Serve until told to stop."""
        await self.on_tick(0)
        await self.told_to_stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and let those that are there end."""
        for listening in self.servers:
            listening.close()
        for each in sockets or []:
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with anyio.move_on_after(GRACE_S):
            state = self.server_state
            while state.connections or state.tasks:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(LOOK_EVERY_S)
        for task in self.server_state.tasks:
            task.cancel()
        for listening in self.servers:
            await listening.wait_closed()


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        PortTakenError: another program listens there.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # With the protocol named, asyncio switches Nagle off on what it accepts; without, every
    # answer waits 40 ms for the client's delayed acknowledgement.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise PortTakenError(port) from error
    listening.listen(BACKLOG)
    return listening
