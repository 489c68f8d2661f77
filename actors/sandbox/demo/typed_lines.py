"""What the reader types, line by line, without keeping the program from its end."""

import asyncio
import contextlib
import threading
from typing import Final

__all__ = ["TypedLines"]

STANDARD_INPUT: Final = 0


class TypedLines:
    """Reads standard input in a thread of its own.

    The thread cannot be woken while it waits for a line, so it is one that the interpreter
    leaves behind at its end, and it reads below Python's buffer, whose lock it would hold then.
    """

    def __init__(self) -> None:
        """Start reading; call it in the event loop."""
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()

    async def next(self) -> str | None:
        """Return the next line without blanks around it; None: the input has ended."""
        return await self._lines.get()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        # The loop is closed when a line comes too late to matter.
        with contextlib.suppress(RuntimeError):
            # An input that is not open, or whose terminal is gone, has ended.
            with (
                contextlib.suppress(OSError),
                open(STANDARD_INPUT, "rb", buffering=0, closefd=False) as source,
            ):
                for line in iter(source.readline, b""):
                    text = line.decode("utf-8", "replace").strip()
                    loop.call_soon_threadsafe(self._lines.put_nowait, text)
            loop.call_soon_threadsafe(self._lines.put_nowait, None)
