"""Try something again as long as what is in its way may pass, within a bound."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from .clock import Clock

__all__ = ["patiently"]

ResultT = TypeVar("ResultT")


async def patiently(
    step: Callable[[], Awaitable[ResultT]],
    patience_s: float,
    waits: Iterator[float],
    clock: Clock,
    passes: Callable[[Exception], bool],
) -> ResultT:
    """Run a step until nothing is in its way that passes.

    Args:
        step: what to do.
        patience_s: how long it is tried again, in seconds of the clock.
        waits: between two attempts.
        clock: waits.
        passes: tells whether an error may pass; asked, and so told, of each.

    Raises:
        Exception: the step's, when it does not pass, or not in time.
    """
    give_up_at = clock.monotonic() + patience_s
    while True:
        try:
            return await step()
        except Exception as error:
            left_s = give_up_at - clock.monotonic()
            if left_s <= 0 or not passes(error):
                raise
        await clock.sleep(min(next(waits), left_s))
