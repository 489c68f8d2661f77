"""Time as something that is handed in, so that nothing under test ever waits.

`SystemClock` is the real one; `ManualClock` stands still until it is moved.
"""

import bisect
import itertools
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

import anyio
import anyio.lowlevel

__all__ = ["Clock", "ManualClock", "SystemClock", "utc_text"]


class Clock(Protocol):
    """Tell the time and wait."""

    def now(self) -> datetime:
        """Return the time of day, aware and in UTC. It may jump in either direction."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment. They never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait.

        Args:
            seconds: how long; zero or less only lets other tasks run.
        """
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Return the time of day, aware and in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`; zero or less only lets other tasks run."""
        await anyio.sleep(max(seconds, 0))


class ManualClock:
    """A clock that moves only when it is told to.

    For tests and for the sandbox. Everything runs in one event loop; it is not
    for several threads.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        """Stand still at a moment.

        Args:
            start: what `now` says before the first `advance`; aware.
        """
        self._start = start.astimezone(UTC)
        self._elapsed_s = 0.0
        self._numbers = itertools.count()
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._fell_asleep = anyio.Event()

    @property
    def sleepers(self) -> int:
        """How many tasks wait for this clock."""
        return len(self._sleepers)

    def now(self) -> datetime:
        """Return the moment the clock stands at, aware and in UTC."""
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """Return the seconds it has been moved so far."""
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved by `seconds`; zero or less only yields."""
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        sleeper = (self._elapsed_s + seconds, next(self._numbers), anyio.Event())
        bisect.insort(self._sleepers, sleeper)
        self._fell_asleep.set()
        self._fell_asleep = anyio.Event()
        try:
            await sleeper[2].wait()
        finally:
            if sleeper in self._sleepers:  # cancelled before its time
                self._sleepers.remove(sleeper)

    async def until_sleeping(self, count: int = 1) -> None:
        """Wait until at least `count` tasks sleep: only then is moving the clock of use."""
        while len(self._sleepers) < count:
            await self._fell_asleep.wait()

    def advance(self, seconds: float) -> None:
        """Move the clock and wake who is due, the earliest first.

        All of them wake into the new time: who sleeps again sleeps from there.

        Args:
            seconds: how far, not negative.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            message = f"a clock does not go back, not by {-seconds} s"
            raise ValueError(message)
        self._elapsed_s += seconds
        while self._sleepers and self._sleepers[0][0] <= self._elapsed_s:
            _, _, due = self._sleepers.pop(0)
            due.set()


def utc_text(moment: datetime) -> str:
    """Write a moment as ISO 8601 in UTC, with milliseconds and a `Z`.

    All results have the same length, so they sort as text the way the moments do.

    Args:
        moment: aware; finer parts than a millisecond are cut off.

    Raises:
        ValueError: `moment` has no time zone, so nobody knows which moment it is.
    """
    if moment.utcoffset() is None:
        message = f"{moment.isoformat()} has no time zone"
        raise ValueError(message)
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
