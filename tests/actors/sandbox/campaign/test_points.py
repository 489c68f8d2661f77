"""A watched loop knows where its tasks wait, and ends its process there."""

import asyncio
import signal
import subprocess
import sys

from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.campaign.points import Edge, Point, WatchedLoop, Watcher

PROGRAM = """
import asyncio
from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.campaign.points import Point, WatchedLoop, Watcher

async def main():
    for number in range(3):
        print(number, flush=True)
        await SystemClock().sleep(0)

watcher = Watcher(lambda point: print(point.edge.value, flush=True))
{arm}
with asyncio.Runner(loop_factory=lambda: WatchedLoop(watcher)) as runner:
    runner.run(main())
print("through", flush=True)
"""


def passed() -> Watcher:
    """Return the watcher of a loop that waited three times in our code."""
    watcher = Watcher(print)

    async def main() -> None:
        for _ in range(3):
            await SystemClock().sleep(0)

    with asyncio.Runner(loop_factory=lambda: WatchedLoop(watcher)) as runner:
        runner.run(main())
    return watcher


def place_of_sleep() -> str:
    """Return the place of the clock's await."""
    (place,) = {point.place for point in passed().passed if "clock.py" in point.place}
    return place


def test_both_sides_of_an_await_are_counted() -> None:
    """Where a task begins to wait, and where it goes on."""
    watcher = passed()
    place = place_of_sleep()

    assert watcher.passed[Point(Edge.WAITS, place)] == 3
    assert watcher.passed[Point(Edge.GOES_ON, place)] == 3


def end_of(arm: str) -> str:
    """Return what a process says that ends itself as it is told."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(arm=arm)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    return ended.stdout


def test_the_process_ends_at_the_point_and_not_before() -> None:
    """The second time it passes; nothing of ours runs after it has said where it ends."""
    known = [Point(edge, place_of_sleep()) for edge in Edge]
    for edge in Edge:
        arm = f"watcher.arm(Point.read({edge.value!r}, {place_of_sleep()!r}), 2, SPARED)"
        spared = [point.words for point in known]

        said = end_of(arm.replace("SPARED", f"[Point.read(*words) for words in {spared!r}]"))

        assert said == f"0\n1\n{edge.value}\n"


def test_the_process_ends_where_nobody_is_spared() -> None:
    """The first point it comes by that nobody knows of."""
    assert end_of("watcher.arm(None, 1, [])") == f"0\n{Edge.WAITS.value}\n"


def test_a_disarmed_watcher_ends_nothing() -> None:
    """The process runs through."""
    watcher = Watcher(print)
    watcher.arm(Point(Edge.WAITS, place_of_sleep()), 1, [])
    watcher.disarm()

    async def main() -> str:
        await SystemClock().sleep(0)
        return "through"

    with asyncio.Runner(loop_factory=lambda: WatchedLoop(watcher)) as runner:
        assert runner.run(main()) == "through"
