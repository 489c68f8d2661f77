"""The larger part of the campaign: a process hosts the plugin's sessions, and is killed."""

import os
import signal
import sqlite3
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio

from ..gateway_process import clean_environment
from .hosting import HostGoneError, Hosting, hosting
from .judge import Store, judge
from .lasting import Lasting
from .life import lasting_path, state_path
from .points import Point
from .scene import KINDS, Scene, open_scene
from .talk import Arm, Die, Ended, Live, Passed, Ready, Tell
from .tally import StuckError, Tally
from .targets import Target, Targets

__all__ = ["Hosted", "hosted"]

MEMORY: Final = Path("/dev/shm")  # noqa: S108 - its folders are made as all temporary ones
REST_WITHIN_S: Final = 25.0
LOOK_EVERY_S: Final = 0.02
LATEST_MOMENT_S: Final = 0.25  # a question takes about so long
BESIDE: Final = 0.3  # of the questions have another one beside them
KILLED_AGAIN: Final = 0.3  # of the starts
ALL_IS_WELL_AGAIN: Final = 0.5  # of the starts, as far as the server is concerned
SLOW_DISKS: Final = (0.0, 0.0, 0.0, 0.005)  # seconds a commit waits


@dataclass
class Hosted:
    """One campaign with a hosted plugin."""

    scene: Scene
    host: Hosting
    folder: str
    tally: Tally = field(default_factory=Tally)
    _targets: Targets = field(default_factory=Targets)
    _recoveries: Targets = field(default_factory=Targets)

    async def play(self, kills: int, progress: Callable[[Tally], None]) -> Tally:
        """Kill so often, and compare after each.

        Args:
            kills: at least so many, unless something is found.
            progress: told after each.
        """
        try:
            await self._start()
            await self._learn()
            while self.tally.killed < kills and self.tally.is_clean:
                await self._once()
                progress(self.tally)
        except (StuckError, HostGoneError) as error:
            self.tally.stuck.append(str(error))
        return self.tally

    async def _learn(self) -> None:
        """Let questions of each kind be answered undisturbed, and take down what they pass."""
        await self._passed()
        for kind in range(KINDS):
            self.scene.ask(kind)
            self._targets.learn(await self._settle() or (), kind)
        self._compare()

    # --- one kill -------------------------------------------------------------------------------

    async def _once(self) -> None:
        """Ask, kill, start again until it is at rest, and compare."""
        chance = self.scene.chance
        self.scene.disturb()
        is_aimed = chance.random() > 0.2  # noqa: PLR2004 - the others hit whatever is going on
        target = self._targets.next(chance) if is_aimed else None
        if target is not None:
            await self.host.tell(_arm(target))
        self.scene.ask(None if target is None else target.kind)
        if chance.random() < BESIDE:
            self.scene.ask()
        if target is None:
            await anyio.sleep(chance.uniform(0, LATEST_MOMENT_S))
            await self.host.tell(Die())
        before = self.tally.killed
        passed = await self._settle(has_to_end=target is None)
        while passed is None:
            await self._go_on_after(target)
            passed = await self._settle()
        self.tally.not_reached += self.tally.killed == before
        self.scene.board.clear()
        self._targets.learn(passed)
        self._compare()

    async def _settle(self, *, has_to_end: bool = False) -> Sequence[tuple[Point, int]] | None:
        """Wait until all is at rest and return what was passed; None: it was killed before."""
        if await self._until_killed_or_at_rest(has_to_end=has_to_end):
            return None
        return await self._passed()

    async def _go_on_after(self, target: Target | None) -> None:
        """Count a kill and start again; now and then kill that start before it is through."""
        chance = self.scene.chance
        self._count("at a moment" if target is None else "at an await", target, self._targets)
        while True:
            again = self._recoveries.next(chance) if chance.random() < KILLED_AGAIN else None
            if chance.random() < ALL_IS_WELL_AGAIN:
                self.scene.board.clear()
            if await self._start(again):
                return
            self._count("while starting", again, self._recoveries)

    async def _start(self, target: Target | None = None) -> bool:
        """Start a life; tell whether it came up, and was not killed before.

        Raises:
            StuckError: neither.
        """
        live = Live(self.scene.url, self.folder, self.scene.chance.choice(SLOW_DISKS))
        await self.host.tell(live)
        if target is not None:
            await self.host.tell(_arm(target))
        heard = await self.host.hear_within(REST_WITHIN_S)
        if isinstance(heard, Ended):
            _expect_kill(heard)
            return False
        if not isinstance(heard, Ready):
            message = f"the plugin did not start within {REST_WITHIN_S:.0f} s: {heard}"
            raise StuckError(message)
        passed = await self._passed()
        if passed is not None:
            self._recoveries.learn(passed)
        return passed is not None

    def _count(self, kind: str, target: Target | None, targets: Targets) -> None:
        self.tally.kills[kind] += 1
        if target is not None:
            targets.strike(target.point)

    async def _passed(self) -> Sequence[tuple[Point, int]] | None:
        """Return what was passed, and arm nothing any more; None: it was killed just before."""
        await self.host.tell(Tell())
        while True:
            match await self.host.hear():
                case Passed(points):
                    return [
                        (Point.read(str(edge), str(place)), int(count))
                        for edge, place, count in points
                    ]
                case Ended() as ended:
                    _expect_kill(ended)
                    return None
                case _:
                    pass

    # --- rest -----------------------------------------------------------------------------------

    async def _until_killed_or_at_rest(self, *, has_to_end: bool) -> bool:
        """Wait for the end of the process, or until there is nothing left to be killed at."""
        with anyio.move_on_after(REST_WITHIN_S):
            while has_to_end or self._open_things():
                heard = await self.host.hear_within(LOOK_EVERY_S)
                if isinstance(heard, Ended):
                    _expect_kill(heard)
                    return True
            return False
        raise StuckError("; ".join(self._open_things()))

    def _open_things(self) -> Sequence[str]:
        store = Store(state_path(self.folder))
        found: list[str] = []
        try:
            # In the order of a question's way: what is looked at later cannot be behind.
            found += self.scene.not_received(store.turns())
            found += store.open_things()
        except sqlite3.OperationalError as error:
            # A killed writer leaves half a commit behind, which the next one takes back.
            found.append(f"the state file cannot be read: {error}")
        return found if self._lasting.is_at_rest else [*found, "the gateway is at work"]

    def _compare(self) -> None:
        exchanges = [
            exchange.message_id
            for conversation in self._lasting.conversations.values()
            for exchange in conversation.exchanges
        ]
        turns = Store(state_path(self.folder)).turns()
        scene, tally = self.scene, self.tally
        tally.verdict = judge(scene.questions, turns, scene.posts(), Counter(exchanges))
        tally.questions = len(scene.questions)
        tally.points = len(self._targets) + len(self._recoveries)
        tally.points_killed_at = self._targets.hit + self._recoveries.hit

    @property
    def _lasting(self) -> Lasting:
        return Lasting(lasting_path(self.folder))


def _arm(target: Target) -> Arm:
    return Arm(target.point.edge.value, target.point.place, target.nth)


def _expect_kill(ended: Ended) -> None:
    if ended.status != -signal.SIGKILL:
        message = f"the plugin's process ended by itself ({ended.status})"
        raise StuckError(message)


@asynccontextmanager
async def hosted(seed: str) -> AsyncIterator[Hosted]:
    """Set up a campaign; leave no process and no folder."""
    # A kill takes nothing from what the kernel has, so the disk plays no part: do without it.
    memory = str(MEMORY) if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="hermes-chatto-campaign-", dir=memory) as folder:
        async with open_scene(seed) as scene, hosting(clean_environment()) as host:
            yield Hosted(scene, host, folder)
