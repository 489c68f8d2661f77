"""One life of the process that hosts the plugin: sessions, store and a scripted gateway."""

import asyncio
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from sqlite_utils import Database

from ....store.database import open_database
from ....store.folder_lock import hold_folder
from ...chatto.client import ChattoServer
from ...chatto.credential import Password
from ...runtime.clock import SystemClock
from ...sessions.desk import Equipment, SessionsDesk
from ...sessions.policy import ContextLimits, Policy
from ...sessions.services import Limits
from ..slow_disk import slow_down
from .gateway import LastingGateway
from .lasting import Lasting
from .points import Point, WatchedLoop, Watcher
from .questions import reply_to
from .talk import Arm, Live, Mail, Passed, Ready, Struck, Tell, read, write

__all__ = ["LIMITS", "live", "state_path"]

LIMITS: Final = Limits(
    busy_wait_s=10.0,
    late_looks_s=(0.05,),
    first_wait_s=0.05,
    reconnect_first_s=0.05,
    reconnect_longest_s=0.5,
    repair_wait_s=0.05,
    owed_look_s=0.1,
    owed_wait_s=5.0,
)
"""Short waits: a campaign has hundreds of lives."""
THINKS_S: Final = 0.01
FORMAT: Final = "%(asctime)s %(process)d %(name)s %(message)s"


def state_path(folder: str) -> Path:
    """Return where the plugin's state is, below the folder of a campaign."""
    return Path(folder) / "chatto" / "state.db"


def lasting_path(folder: str) -> Path:
    """Return where the gateway keeps what it has to remember."""
    return Path(folder) / "gateway.json"


def live(order: Live, commands: int, say: Callable[[bytes], object]) -> None:
    """Live until killed, or until nobody gives commands any more.

    Args:
        order: what to live on.
        commands: file descriptor of the commands, one a line.
        say: takes a line for whoever gives them.
    """
    watcher = Watcher(lambda point: say(write(Struck(*point.words))))
    logging.basicConfig(filename=Path(order.folder, "life.log"), level=logging.INFO, format=FORMAT)
    with asyncio.Runner(loop_factory=lambda: WatchedLoop(watcher)) as runner:
        runner.run(_Life(order, watcher, say).live(commands))


class _Life:
    def __init__(self, order: Live, watcher: Watcher, say: Callable[[bytes], object]) -> None:
        self._order = order
        self._watcher = watcher
        self._say = say

    async def live(self, commands: int) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._obey, commands, tasks.cancel_scope.cancel)
            lasting = Lasting(lasting_path(self._order.folder))
            gateway = LastingGateway(tasks, _answer, lasting)
            gateway.takes_stock()
            desk = SessionsDesk(self._equipment(), gateway)
            gateway.serve(desk)
            await desk.start()
            await gateway.boots()
            self._tell(Ready())
            await anyio.sleep_forever()

    def _equipment(self) -> Equipment:
        path = state_path(self._order.folder)

        def open_state() -> Database:
            db = open_database(path, now=datetime.now(UTC)).db
            if self._order.commit_s:
                slow_down(db, lambda: self._order.commit_s)
            return db

        server = ChattoServer(self._order.url, Password("hermes", "hermes-pass-1"))
        return Equipment(
            scope="default",
            server_url=self._order.url,
            server=server,
            rooms=server.rooms,
            policy=Policy(allowed_user_entries=("alice", "bob")),
            context=ContextLimits(),
            limits=LIMITS,
            open_state=open_state,
            clock=SystemClock(),
            hold_state=lambda: hold_folder(path.parent),
        )

    async def _obey(self, commands: int, end: Callable[[], None]) -> None:
        rest = b""
        while True:
            await anyio.wait_readable(commands)
            got = os.read(commands, 65_536)
            if not got:
                return end()
            *lines, rest = (rest + got).split(b"\n")
            for line in lines:
                self._follow(read(line))

    def _follow(self, mail: Mail) -> None:
        match mail:
            case Arm():
                target = Point.read(*mail.target) if mail.target else None
                spared = {Point.read(*words) for words in mail.spared}
                self._watcher.arm(target, mail.nth, spared)
            case Tell():
                self._watcher.disarm()
                passed = self._watcher.passed
                points = [[each.edge.value, each.place, count] for each, count in passed.items()]
                passed.clear()
                self._tell(Passed(points))
            case _:
                message = f"no command for a life: {mail}"
                raise ValueError(message)

    def _tell(self, mail: Mail) -> None:
        self._say(write(mail))


async def _answer(text: str) -> str:
    await anyio.sleep(THINKS_S)
    return reply_to(text)
