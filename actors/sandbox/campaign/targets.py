"""Which points are known, which were killed at, and which is next."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from .points import Point

__all__ = ["Target", "Targets"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where to kill: when a point is passed for the n-th time."""

    point: Point
    nth: int
    kind: int | None
    """The kind of question that passes it; None: none for sure."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a point."""

    most: int
    """How often it was passed at most."""
    kind: int | None


class Targets:
    """The points of one stretch of a life, each gone through before any comes again."""

    def __init__(self) -> None:
        """Know none yet."""
        self._known: dict[Point, Known] = {}
        self._hit: set[Point] = set()
        self._waiting: list[Point] = []

    def __len__(self) -> int:
        """Return how many points are known."""
        return len(self._known)

    @property
    def hit(self) -> int:
        """At how many of them somebody was killed."""
        return len(self._hit)

    def learn(self, passed: Iterable[tuple[Point, int]], kind: int | None = None) -> None:
        """Take down points that were passed, and how often.

        Args:
            passed: the points and counts.
            kind: of the one question that passed them, undisturbed; None: of several, or none.
        """
        for point, count in passed:
            known = self._known.get(point)
            if known is None:
                self._waiting.append(point)
            if known is None or kind is not None:
                self._known[point] = Known(count, kind)

    def next(self, chance: Random) -> Target | None:
        """Return a target; None: no point is known."""
        if not self._waiting:
            self._waiting = [point for point in self._known if point not in self._hit]
        if not self._waiting:
            self._waiting = list(self._known)
        if not self._waiting:
            return None
        point = self._waiting.pop(chance.randrange(len(self._waiting)))
        known = self._known[point]
        # Mostly an early pass: later ones may not come this time.
        nth = min(chance.randint(1, known.most), chance.randint(1, known.most))
        return Target(point, nth if point in self._hit else 1, known.kind)

    def strike(self, point: Point) -> None:
        """Take down that somebody was killed there."""
        self._hit.add(point)
