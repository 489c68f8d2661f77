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
from .talk import Arm, Die, Ended, Live, Mail, Passed, Ready, Struck, Tell
from .tally import StuckError, Tally
from .targets import Target, Targets

__all__ = ["Hosted", "hosted"]

MEMORY: Final = Path("/dev/shm")  # noqa: S108 - its folders are made as all temporary ones
REST_WITHIN_S: Final = 25.0
LOOK_EVERY_S: Final = 0.02
LATEST_MOMENT_S: Final = 0.25  # a question takes about so long
BESIDE: Final = 0.3  # of the questions have another one beside them
KILLED_AGAIN: Final = 0.7  # of the starts, where they come by a point that is left
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
    _armed: Targets = field(default_factory=Targets)
    """Where the life that runs is to be killed."""
    _struck: Point | None = None
    """Where it was; None: it was not, or from outside."""

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
        """Take down what questions of each kind, and a start, pass undisturbed."""
        await self._passed()
        for kind in range(KINDS):
            self.scene.ask(kind)
            self._targets.learn(await self._settle() or (), kind, is_usual=True)
        await self.host.tell(Die())
        await self._settle(has_to_end=True)
        self._count("at a moment")
        await self._start(is_calm=True)
        self._compare()

    # --- one kill -------------------------------------------------------------------------------

    async def _once(self) -> None:
        """Ask, kill, start again until it is at rest, and compare."""
        chance = self.scene.chance
        self.scene.disturb()
        is_aimed = chance.random() > 0.2  # noqa: PLR2004 - the others hit whatever is going on
        target = self._targets.next(chance) or self._targets.again(chance) if is_aimed else None
        if is_aimed:
            await self._arm(self._targets, target)
        self.scene.ask(None if target is None else target.kind)
        if chance.random() < BESIDE:
            self.scene.ask()
        if not is_aimed:
            await anyio.sleep(chance.uniform(0, LATEST_MOMENT_S))
            await self.host.tell(Die())
        before = self.tally.killed
        passed = await self._settle(has_to_end=not is_aimed)
        while passed is None:
            await self._go_on()
            passed = await self._settle()
        if self.tally.killed == before:
            self.tally.not_reached += 1
            self._targets.miss(target)
        self.scene.board.clear()
        self._targets.learn(passed)
        self._compare()

    async def _settle(self, *, has_to_end: bool = False) -> Sequence[tuple[Point, int]] | None:
        """Wait until all is at rest and return what was passed; None: it was killed before."""
        if await self._until_killed_or_at_rest(has_to_end=has_to_end):
            return None
        return await self._passed()

    async def _go_on(self) -> None:
        """Count a kill and start again; now and then kill that start before it is through.

        What it does from there on it may do in no other life: see `Targets`.
        """
        chance = self.scene.chance
        self._count("at a moment" if self._struck is None else "at an await")
        while True:
            if chance.random() < ALL_IS_WELL_AGAIN:
                self.scene.board.clear()
            if await self._start(is_killed=chance.random() < KILLED_AGAIN):
                break
            self._count("while starting")
        await self._arm(self._targets)

    async def _start(self, *, is_killed: bool = False, is_calm: bool = False) -> bool:
        """Start a life; tell whether it came up, and was not killed before.

        Args:
            is_killed: whether it is to be killed on its way, if that comes by a target.
            is_calm: whether nothing is wrong, and all it passes is usual.

        Raises:
            StuckError: neither.
        """
        live = Live(self.scene.url, self.folder, self.scene.chance.choice(SLOW_DISKS))
        await self.host.tell(live)
        target = self._recoveries.next(self.scene.chance) if is_killed else None
        if is_killed:
            await self._arm(self._recoveries, target)
        with anyio.move_on_after(REST_WITHIN_S):
            while True:
                match await self._hear():
                    case Ended():
                        return False
                    case Ready():
                        break
                    case _:
                        pass
            passed = await self._passed()
            if passed is None:
                return False
            self._recoveries.miss(target)
            self._recoveries.learn(passed, is_usual=is_calm)
            return True
        message = f"the plugin did not start within {REST_WITHIN_S:.0f} s"
        raise StuckError(message)

    async def _arm(self, targets: Targets, target: Target | None = None) -> None:
        """Have the life killed at a point, or at one that nobody was killed at yet."""
        self._armed = targets
        words = [] if target is None else target.point.words
        nth = 1 if target is None else target.nth
        spared = [point.words for point in targets.spared]
        await self.host.tell(Arm(words, nth, spared))

    def _count(self, kind: str) -> None:
        self.tally.kills[kind] += 1
        if self._struck is not None:
            self._armed.strike(self._struck)
        self._struck = None

    async def _passed(self) -> Sequence[tuple[Point, int]] | None:
        """Return what was passed, and arm nothing any more; None: it was killed just before."""
        await self.host.tell(Tell())
        while True:
            match await self._hear():
                case Passed(points):
                    return [
                        (Point.read(str(edge), str(place)), int(count))
                        for edge, place, count in points
                    ]
                case Ended():
                    return None
                case _:
                    pass

    async def _hear(self) -> Mail:
        """Return what is said next, and remember where the life says that it ends.

        Raises:
            StuckError: it ended otherwise.
            HostGoneError: nobody is left to say anything.
        """
        heard = await self.host.hear()
        match heard:
            case Struck(edge, place):
                self._struck = Point.read(edge, place)
            case Ended(status) if status != -signal.SIGKILL:
                message = f"the plugin's process ended by itself ({status})"
                raise StuckError(message)
            case _:
                pass
        return heard

    # --- rest -----------------------------------------------------------------------------------

    async def _until_killed_or_at_rest(self, *, has_to_end: bool) -> bool:
        """Wait for the end of the process, or until there is nothing left to be killed at."""
        with anyio.move_on_after(REST_WITHIN_S):
            while has_to_end or self._open_things():
                with anyio.move_on_after(LOOK_EVERY_S):
                    if isinstance(await self._hear(), Ended):
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
        tally.points_left = [*self._targets.left, *self._recoveries.left]

    @property
    def _lasting(self) -> Lasting:
        return Lasting(lasting_path(self.folder))


@asynccontextmanager
async def hosted(seed: str) -> AsyncIterator[Hosted]:
    """Set up a campaign; leave no process and no folder."""
    # A kill takes nothing from what the kernel has, so the disk plays no part: do without it.
    memory = str(MEMORY) if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="hermes-chatto-campaign-", dir=memory) as folder:
        async with open_scene(seed) as scene, hosting(clean_environment()) as host:
            yield Hosted(scene, host, folder)
