"""Run code of others, which may fail in any way, and come back with its error."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from .clock import Clock

__all__ = ["LONGEST_OUTAGE_WAIT_S", "HandlerCancelledError", "error_after_outage", "error_of"]

LONGEST_OUTAGE_WAIT_S = 2.0  # what waits goes on soon after an outage is over


class HandlerCancelledError(Exception):
    """A handler waited for something that somebody else cancelled.

    Nobody cancelled the handler itself. Passed on as a cancellation it would end the
    task of its mailbox without a word.
    """


async def error_of(step: Callable[[], Awaitable[None]]) -> Exception | None:
    """Run code that may fail in any way, and return its error; None: it did not fail."""
    try:
        await step()
    except asyncio.CancelledError as cancelled:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        stray = HandlerCancelledError("what the handler waited for was cancelled")
        stray.__cause__ = cancelled
        return stray
    except Exception as error:  # noqa: BLE001
        # The one place that takes everything: an actor may fail in ways nobody thought
        # of, and neither its siblings nor the gateway may end with it. Nothing is lost
        # here: the supervisor logs it, tries again and counts.
        return error
    return None


async def error_after_outage(
    step: Callable[[], Awaitable[None]],
    is_outage: Callable[[Exception], bool],
    waits: Iterator[float],
    clock: Clock,
) -> Exception | None:
    """Run code again and again while an outage is in its way; then as `error_of`."""
    while (error := await error_of(step)) and is_outage(error):
        await clock.sleep(min(next(waits), LONGEST_OUTAGE_WAIT_S))
    return error
