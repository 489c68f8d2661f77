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

watcher = Watcher()
watcher.arm(Point.read({edge!r}, {place!r}), 2)
with asyncio.Runner(loop_factory=lambda: WatchedLoop(watcher)) as runner:
    runner.run(main())
print("through", flush=True)
"""


def passed() -> Watcher:
    """Return the watcher of a loop that waited three times in our code."""
    watcher = Watcher()

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


def test_the_process_ends_at_the_point_and_not_before() -> None:
    """The second time it passes; nothing of ours runs after that."""
    for edge in Edge:
        program = PROGRAM.format(edge=edge.value, place=place_of_sleep())
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )

        assert ended.returncode == -signal.SIGKILL, ended.stderr
        assert ended.stdout == "0\n1\n"


def test_a_disarmed_watcher_ends_nothing() -> None:
    """The process runs through."""
    watcher = Watcher()
    watcher.arm(Point(Edge.WAITS, place_of_sleep()), 1)
    watcher.disarm()

    async def main() -> str:
        await SystemClock().sleep(0)
        return "through"

    with asyncio.Runner(loop_factory=lambda: WatchedLoop(watcher)) as runner:
        assert runner.run(main()) == "through"
