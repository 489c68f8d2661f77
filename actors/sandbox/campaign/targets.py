"""Which points are known, which were killed at, and which is next."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from .points import Point

__all__ = ["MISSES", "Target", "Targets"]

MISSES = 3  # of a point that was aimed at: then it is not as usual as it seemed


@dataclass(frozen=True, slots=True)
class Target:
    """Where to kill: when a point is passed for the n-th time."""

    point: Point
    nth: int
    kind: int | None
    """The kind of question that passes it; None: any."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a point."""

    most: int
    """How often it was passed at most."""
    kind: int | None
    is_usual: bool
    """Whether it is passed undisturbed; the others come when something went wrong before."""


class Targets:
    """The points of one stretch of a life, each gone through before any comes again.

    A usual point can be aimed at. One that comes only now and then cannot: somebody has to be
    killed there the first time it comes. So nobody is spared there until then.
    """

    def __init__(self) -> None:
        """Know none yet."""
        self._known: dict[Point, Known] = {}
        self._hit: set[Point] = set()
        self._waiting: list[Point] = []
        self._misses: Counter[Point] = Counter()

    def __len__(self) -> int:
        """Return how many points are known."""
        return len(self._known)

    @property
    def left(self) -> Sequence[Point]:
        """The points that are known, and where nobody was killed yet."""
        return [point for point in self._known if point not in self._hit]

    @property
    def spared(self) -> Collection[Point]:
        """The points where nobody is killed who was not aimed at there."""
        return [
            point for point, each in self._known.items() if each.is_usual or point in self._hit
        ]

    def learn(
        self,
        passed: Iterable[tuple[Point, int]],
        kind: int | None = None,
        *,
        is_usual: bool = False,
    ) -> None:
        """Take down points that were passed, and how often.

        Args:
            passed: the points and counts.
            kind: of the one question that passed them; None: of several, or none.
            is_usual: whether nothing had been disturbed.
        """
        for point, count in passed:
            known = self._known.get(point)
            if known is None or is_usual:
                self._known[point] = Known(count, kind, is_usual)

    def next(self, chance: Random) -> Target | None:
        """Return a usual point where nobody was killed yet; None: there is none left."""
        left = [point for point in self._usual() if point not in self._hit]
        self._waiting = [point for point in self._waiting if point in left] or left
        if not left:
            return None
        point = self._waiting.pop(chance.randrange(len(self._waiting)))
        return Target(point, 1, self._known[point].kind)

    def again(self, chance: Random) -> Target | None:
        """Return any usual point, and which of its passes; None: there is none."""
        usual = self._usual()
        if not usual:
            return None
        point = chance.choice(usual)
        known = self._known[point]
        # Mostly an early pass: later ones may not come this time.
        nth = min(chance.randint(1, known.most), chance.randint(1, known.most))
        return Target(point, nth, known.kind)

    def _usual(self) -> list[Point]:
        return [point for point, known in self._known.items() if known.is_usual]

    def miss(self, target: Target | None) -> None:
        """Take down that nobody came by a target; None: there was none."""
        if target is None or target.point in self._hit:
            return
        self._misses[target.point] += 1
        if self._misses[target.point] == MISSES:
            self._known[target.point] = replace(self._known[target.point], is_usual=False)

    def strike(self, point: Point) -> None:
        """Take down that somebody was killed there."""
        self._known.setdefault(point, Known(1, None, is_usual=False))
        self._hit.add(point)
