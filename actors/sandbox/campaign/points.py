"""Await points: where a process can be killed, and the event loop that kills itself there.

Between two steps of a task nothing of ours happens in its thread. So the moments at which a kill
can make a difference are the beginnings and the ends of steps: a step ends where a task begins to
wait (the disk, the server, the gateway may not have begun), and the next begins where it goes on
(they are through, and nobody knows it yet).
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable, Collection
from contextvars import Context
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Final

__all__ = ["Edge", "Point", "WatchedLoop", "Watcher"]

ROOT: Final = str(Path(__file__).parents[3]) + os.sep
BELOW: Final = (
    f"actors{os.sep}runtime",
    f"actors{os.sep}chatto",
    f"actors{os.sep}sessions{os.sep}journal.py",
    f"actors{os.sep}sessions{os.sep}services.py",
)
"""What everybody waits through; it says little about who waits."""
INNER: Final = ("cr_await", "gi_yieldfrom", "ag_await")
FRAMES: Final = ("cr_frame", "gi_frame", "ag_frame")


class Edge(Enum):
    """Which side of an await."""

    WAITS = "waits"
    """The task has just begun to wait."""
    GOES_ON = "goes on"
    """What it waited for is there; it has not taken it yet."""


@dataclass(frozen=True, slots=True)
class Point:
    """One side of one await in our own code."""

    edge: Edge
    place: str
    """Files and lines of ours, as `_place_of` says it."""

    @classmethod
    def read(cls, edge: str, place: str) -> "Point":
        """Return the point of these words."""
        return cls(Edge(edge), place)

    @property
    def words(self) -> list[str]:
        """What `read` takes."""
        return [self.edge.value, self.place]


class Watcher:
    """Counts the points a process passes, and ends it at one of them."""

    def __init__(self, last_words: Callable[[Point], object]) -> None:
        """Count from here; kill nobody.

        Args:
            last_words: told where, just before the end.
        """
        self.passed: Counter[Point] = Counter()
        self._last_words = last_words
        self._target: Point | None = None
        self._left = 0
        self._spared: Collection[Point] | None = None

    def arm(self, target: Point | None, nth: int, spared: Collection[Point]) -> None:
        """End this process at a point, or earlier at one that nobody thought of.

        Args:
            target: where, when it is passed for the n-th time from now on; None: nowhere.
            nth: counts from 1.
            spared: the other points where it goes on; it ends at any that is not among them.
        """
        self._target, self._left, self._spared = target, nth, spared

    def disarm(self) -> None:
        """End it nowhere."""
        self._target = self._spared = None

    def step(self, callback: Callable[..., object], *args: object) -> None:
        """Run one step of the loop, and count the points at its beginning and its end."""
        task = getattr(callback, "__self__", None)
        if not isinstance(task, asyncio.Task):
            callback(*args)
            return
        self._pass(task, Edge.GOES_ON)
        callback(*args)
        if not task.done():
            self._pass(task, Edge.WAITS)

    def _pass(self, task: "asyncio.Task[Any]", edge: Edge) -> None:
        place = _place_of(task.get_coro())
        if not place:
            return
        point = Point(edge, place)
        self.passed[point] += 1
        if self._ends_at(point):
            self._last_words(point)
            os.kill(os.getpid(), signal.SIGKILL)

    def _ends_at(self, point: Point) -> bool:
        if point == self._target:
            self._left -= 1
            return self._left <= 0
        return self._spared is not None and point not in self._spared


class WatchedLoop(asyncio.SelectorEventLoop):
    """An event loop whose every step goes through a watcher."""

    def __init__(self, watcher: Watcher) -> None:
        """Run under a watcher."""
        super().__init__()
        self._watcher = watcher

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """Have a callback run under the watcher."""
        return super().call_soon(partial(self._watcher.step, callback), *args, context=context)


def _place_of(waiting: object) -> str:
    """Return where in our code a suspended task waits; empty: nowhere in it.

    That is the innermost line, and before it who wants something of the runtime or the wire.
    """
    place = caller = ""
    while waiting is not None:
        frame = _first(waiting, FRAMES)
        if frame is not None and frame.f_code.co_filename.startswith(ROOT):
            place = f"{frame.f_code.co_filename.removeprefix(ROOT)}:{frame.f_lineno}"
            if not place.startswith(BELOW):
                caller = place
        waiting = _first(waiting, INNER)
    return place if caller in {"", place} else f"{caller} > {place}"


def _first(thing: object, names: tuple[str, ...]) -> Any:  # noqa: ANN401 - frames and awaitables
    return next((found for name in names if (found := getattr(thing, name, None))), None)
