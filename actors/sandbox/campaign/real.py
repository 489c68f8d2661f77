"""The smaller part of the campaign: the real gateway is killed while it is at several runs."""

import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Final

import anyio

from ..gateway_process import GatewayProcess, GatewaySetup
from ..model import Request, ScriptedModel
from .judge import Store, judge
from .questions import is_question, reply_to
from .scene import AGENT, ASKERS, Scene, open_scene
from .tally import StuckError, Tally

__all__ = ["Real", "real"]

CONFIG: Final[Mapping[str, object]] = {
    # Each life of the campaign is short and ends badly; the gateway would take that for a loop.
    "gateway": {"restart_loop_guard": {"max_restarts": 0}},
    "display": {"busy_input_mode": "queue"},
}
NEW_MESSAGE: Final = "[New message]\n"
THINKS: Final = "{{wait 0.6}}"
AT_ONCE: Final = 6  # questions between two kills
LIVE_WITHIN_S: Final = 90.0
REST_WITHIN_S: Final = 90.0
LOOK_EVERY_S: Final = 0.1
LATEST_MOMENT_S: Final = 6.0  # the first runs of a process take four seconds
KILLED_AGAIN: Final = 0.1  # of the starts
LATEST_START_S: Final = 8.0

AT_GATEWAY: Final = """
    select count(*) from turns
    where state in ('handed', 'processing', 'delivering', 'interrupted')
"""
OWED: Final = """
    select count(*) from delivery_obligations where state in ('pending', 'attempting')
"""
EXCHANGES: Final = """
    select platform_message_id, count(*) from messages
    where role = 'user' and platform_message_id is not null group by platform_message_id
"""


@dataclass
class Real:
    """One campaign with the real gateway."""

    scene: Scene
    gateway: GatewayProcess
    tally: Tally = field(default_factory=Tally)

    @property
    def folder(self) -> str:
        """Where the gateway lives."""
        return str(self.gateway.state.path.parent.parent)

    async def play(self, kills: int, progress: Callable[[Tally], None]) -> Tally:
        """Kill the gateway so often, and compare after each; see `Hosted.play`."""
        try:
            await self._until_live(0)
            while self.tally.killed < kills and self.tally.is_clean:
                await self._once()
                progress(self.tally)
            await self._until_at_rest()
            self._compare()
        except StuckError as error:
            self.tally.stuck.append(str(error))
        return self.tally

    async def _once(self) -> None:
        """Ask several things, kill at some moment, start again until it is at rest, compare."""
        chance = self.scene.chance
        self.scene.disturb()
        for _ in range(AT_ONCE):
            self.scene.ask()
        await anyio.sleep(chance.uniform(0, LATEST_MOMENT_S))
        await self._kill("at a moment")
        while True:
            before = self._newest_step()
            await self.gateway.start_again()
            if chance.random() >= KILLED_AGAIN:
                break
            await anyio.sleep(chance.uniform(0, LATEST_START_S))
            await self._kill("while starting")
        self.scene.board.clear()
        await self._until_live(before)
        await self._until_at_rest()
        self._compare()

    async def _kill(self, kind: str) -> None:
        self.tally.runs += self._count(AT_GATEWAY)
        await self.gateway.kill()
        self.tally.kills[kind] += 1

    def _count(self, sql: str) -> int:
        try:
            found = self.gateway.state.rows(sql)
        except sqlite3.OperationalError:
            return 0  # just being written, or half written by one that was killed
        return int(found[0][0]) if found else 0

    def _newest_step(self) -> int:
        return self._count("select coalesce(max(seq), 0) from transitions")

    async def _until_live(self, before: int) -> None:
        """Wait until the plugin of the newest start is connected.

        Args:
            before: the newest step of the starts before.
        """
        sql = (
            "select count(*) from transitions where machine = 'connection' "  # noqa: S608
            f"and to_state = 'live' and seq > {before}"
        )
        with anyio.move_on_after(LIVE_WITHIN_S):
            while not self._count(sql):  # noqa: ASYNC110 - a file tells nobody
                await anyio.sleep(LOOK_EVERY_S)
            return
        message = f"the gateway was not connected within {LIVE_WITHIN_S:.0f} s"
        raise StuckError(message)

    async def _until_at_rest(self) -> None:
        with anyio.move_on_after(REST_WITHIN_S):
            while self._open_things():  # noqa: ASYNC110 - files tell nobody
                await anyio.sleep(LOOK_EVERY_S)
            return
        raise StuckError("; ".join(self._open_things()))

    def _open_things(self) -> Sequence[str]:
        store = Store(self.gateway.state.path)
        found: list[str] = []
        try:
            found += self.scene.not_received(store.turns())
            found += store.open_things()
            if self._of_gateway(OWED)[0][0]:
                found.append("the gateway owes something")
        except sqlite3.OperationalError as error:
            found.append(f"a state file cannot be read: {error}")
        return found

    def _compare(self) -> None:
        try:
            asked = Counter({str(key): int(count) for key, count in self._of_gateway(EXCHANGES)})
            turns = Store(self.gateway.state.path).turns()
        except sqlite3.OperationalError as error:
            raise StuckError(str(error)) from error
        scene = self.scene
        self.tally.verdict = judge(scene.questions, turns, scene.posts(), asked)
        self.tally.questions = len(scene.questions)

    def _of_gateway(self, sql: str) -> list[tuple[str | int, int]]:
        """Ask the gateway's own file."""
        path = self.gateway.state.path.parent.parent / "state.db"
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()


def answer(request: Request) -> str:
    """Answer the newest question of a conversation, also where the gateway asks to go on."""
    for each in reversed(request.messages):
        content = each.get("content")
        said = content if isinstance(content, str) else ""
        asked = said.rpartition(NEW_MESSAGE)[2]
        if each.get("role") == "user" and is_question(asked):
            return reply_to(asked)
    return reply_to(request.question)


@asynccontextmanager
async def real(seed: str) -> AsyncIterator[Real]:
    """Set up a campaign; leave no process and no folder."""
    async with open_scene(seed, THINKS) as scene:
        with ScriptedModel(answer) as model:
            variables = {
                "CHATTO_URL": scene.url,
                "CHATTO_LOGIN": AGENT,
                "CHATTO_PASSWORD": f"{AGENT}-pass-1",
                "CHATTO_ALLOWED_USERS": ",".join(ASKERS),
            }
            setup = GatewaySetup(model.base_url, variables, CONFIG)
            gateway = await GatewayProcess.start(setup)
            try:
                yield Real(scene, gateway)
            finally:
                await gateway.aclose()
