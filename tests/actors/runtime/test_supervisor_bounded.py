"""Supervisor under random load: what must hold whatever happens."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import anyio
import anyio.lowlevel
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.runtime.supervisor import Address, Kind, Stats, Supervisor


@dataclass(slots=True)
class World:
    """Rows that outlive the actors, and the chance that makes them fail."""

    seed: int
    crash_rate: float
    poison: frozenset[int]
    handled: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    dead: list[int] = field(default_factory=list)
    chance: random.Random = field(init=False)
    at_work: set[str] = field(default_factory=set)
    collisions: int = 0
    """How often two handlers of one key ran at once."""
    stats: Stats = field(default_factory=Stats)

    def __post_init__(self) -> None:
        """Make chance repeatable."""
        self.chance = random.Random(self.seed)  # noqa: S311 - guards no secret

    async def build(self, key: str) -> "Worker":
        """Make the actor of a key; now and then its row cannot be read."""
        await anyio.lowlevel.checkpoint()
        self.maybe_crash()
        return Worker(key, self)

    async def bury(self, _address: Address, mails: Sequence[Any], _error: Exception) -> None:
        """Note what was given up."""
        self.dead.extend(mails)

    def maybe_crash(self) -> None:
        """Fail by chance."""
        if self.chance.random() < self.crash_rate:
            message = "by chance"
            raise RuntimeError(message)


@dataclass(slots=True)
class Worker:
    """Records a batch all or nothing, the way a transaction does."""

    key: str
    world: World

    async def handle(self, mails: Sequence[int]) -> None:
        """Record the mails unless one is poison or chance says no."""
        self.world.collisions += self.key in self.world.at_work
        self.world.at_work.add(self.key)
        try:
            await anyio.lowlevel.checkpoint()
            self.world.maybe_crash()
            if self.world.poison.intersection(mails):
                message = "poison"
                raise LookupError(message)
            self.world.handled[self.key].extend(mails)
        finally:
            self.world.at_work.remove(self.key)


async def play(world: World, mails: dict[int, str], batch: int, limit: int) -> None:
    """Tell all mails to their keys and wait until they are done with."""
    async with anyio.create_task_group() as tasks:
        supervisor = Supervisor(
            tasks,
            {"worker": Kind(world.build, batch=batch, mailbox_limit=limit)},
            clock=SystemClock(),
            waits=lambda: repeat(0.0),
            on_dead=world.bury,
            awake_limit=3,
        )
        for number, key in mails.items():
            await supervisor.send(Address("worker", key), number)
        await supervisor.settled()
        world.stats = supervisor.stats


@dataclass(frozen=True, slots=True)
class Weather:
    """The bounds and the chances of one run."""

    poison: frozenset[int]
    batch: int
    limit: int
    crash_rate: float
    seed: int


WEATHERS = st.builds(
    Weather,
    poison=st.frozensets(st.integers(0, 119), max_size=4),
    batch=st.integers(1, 7),
    limit=st.integers(1, 20),
    crash_rate=st.sampled_from([0.0, 0.1, 0.4]),
    seed=st.integers(0, 2**16),
)


@settings(max_examples=40, deadline=None)
@given(keys=st.lists(st.sampled_from("abcdefgh"), max_size=120), weather=WEATHERS)
def test_nothing_is_lost_doubled_or_out_of_order(keys: list[str], weather: Weather) -> None:
    """Every mail is handled once, in the order of its key, or given up once."""
    world = World(weather.seed, weather.crash_rate, weather.poison)
    mails = dict(enumerate(keys))

    anyio.run(play, world, mails, weather.batch, weather.limit)

    handled = [number for numbers in world.handled.values() for number in numbers]
    assert sorted(handled + world.dead) == list(mails)
    assert all(numbers == sorted(numbers) for numbers in world.handled.values())
    assert all(mails[number] == key for key, row in world.handled.items() for number in row)
    assert weather.poison.intersection(mails) <= set(world.dead)
    assert world.collisions == 0
    assert world.stats.waiting == 0
    assert world.stats.dead == len(world.dead)


def test_without_crashes_only_poison_is_given_up() -> None:
    """Its neighbours in a batch never are."""
    world = World(1, 0.0, frozenset({50, 51, 700}))
    mails = {number: f"key-{number % 30}" for number in range(1_000)}

    anyio.run(play, world, mails, 5, 256)

    assert sorted(world.dead) == [50, 51, 700]
