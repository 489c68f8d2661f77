"""Time as the server sees it: wall clock and waiting, both replaceable from outside."""

import asyncio
import time
from typing import Protocol

NANOSECONDS = 1_000_000_000  # in a second


class Clock(Protocol):
    """Where the server takes its times from and how it waits."""

    def now_ns(self) -> int:
        """Return nanoseconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return when this much of the clock's time has passed."""
        ...


class ShiftedClock:
    """The machine's clock, set wrong, or moved on by whoever cannot wait."""

    def __init__(self) -> None:
        """Start right."""
        self.ahead_s = 0.0

    def now_ns(self) -> int:
        """Return nanoseconds since 1970."""
        return time.time_ns() + int(self.ahead_s * NANOSECONDS)

    async def sleep(self, seconds: float) -> None:
        """Wait in the running event loop."""
        await asyncio.sleep(seconds)


class SystemClock:
    """The machine's own clock."""

    def now_ns(self) -> int:
        """Return nanoseconds since 1970."""
        return time.time_ns()

    async def sleep(self, seconds: float) -> None:
        """Wait in the running event loop."""
        await asyncio.sleep(seconds)
