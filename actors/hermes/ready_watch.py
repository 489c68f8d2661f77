"""Notice when the gateway would run an event of a key again.

The gateway says when a run's hooks are over, and still holds the key for some milliseconds
after that; for the end of its start-up, a pause or a slot without a run it has no event at all.
So whoever waits is served by one task that looks again and again, as long as somebody waits.
Source: Hermes 0.22, gateway/platforms/base.py:_process_message_background (hook, then guard).
"""

import asyncio
from collections.abc import Callable

__all__ = ["ReadyWatch"]

LOOK_EVERY_S = 0.05  # a queued turn waits half of it on average; a look is a few dictionary reads


class ReadyWatch:
    """Tell once per waiting key that it is free. Lives in one event loop."""

    def __init__(
        self,
        is_free: Callable[[str], bool],
        tell: Callable[[str], None],
        *,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        """Wait for nothing yet.

        Args:
            is_free: whether an event of the key would run now; cheap.
            tell: called once for a key that became free.
            look_every_s: pause between two looks.
        """
        self._is_free = is_free
        self._tell = tell
        self._look_every_s = look_every_s
        self._waiting: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> tuple[str, ...]:
        """The keys somebody waits for, in the order they came."""
        return tuple(self._waiting)

    def wait_for(self, session_key: str) -> None:
        """Watch a key until it is free; a key that is watched already is watched once."""
        self._waiting[session_key] = None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())

    def close(self) -> None:
        """Stop looking; nobody is told anything any more."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._look_every_s)
            for key in [key for key in self._waiting if self._is_free(key)]:
                self._waiting.pop(key, None)
                self._tell(key)
