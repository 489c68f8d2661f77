"""Shows that something slow is alive: which step it is in, and for how many seconds."""

import shutil
import time
from collections.abc import Callable
from typing import TextIO

__all__ = ["Progress"]

PLAIN_EVERY_S = 5.0  # a log that is read later wants few lines, a reader wants a sign of life
REDRAW_EVERY_S = 0.5


class Progress:
    """One line that renews itself on a terminal, a plain line every few seconds elsewhere."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the clock.

        Args:
            out: where the lines go.
            clock: seconds, from any origin.
        """
        self._out = out
        self._clock = clock
        self._live = out.isatty()
        self._began = clock()
        self._drawn = self._began - PLAIN_EVERY_S
        self._step = ""
        self._detail = ""

    def step(self, name: str) -> None:
        """Name the step that begins now and show it at once."""
        self._step, self._detail = name, ""
        self._draw()

    def tick(self, detail: str = "") -> None:
        """Show the elapsed time when it is due.

        Args:
            detail: what the step is busy with; empty keeps the last one.
        """
        self._detail = detail or self._detail
        due = REDRAW_EVERY_S if self._live else PLAIN_EVERY_S
        if self._clock() - self._drawn >= due:
            self._draw()

    def finish(self, closing: str) -> None:
        """End with a line that stays."""
        self._step, self._detail = closing, ""
        self._draw()
        self.release()

    def release(self) -> None:
        """Leave the renewed line as it is, so that what is printed next has its own."""
        if self._live:
            self._out.write("\n")
            self._out.flush()

    def _draw(self) -> None:
        self._drawn = self._clock()
        text = f"dev: {self._drawn - self._began:3.0f} s  {self._step}"
        if self._detail:
            text = f"{text}: {self._detail}"
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._out.write(f"\r\x1b[K{text[:width]}")
        else:
            self._out.write(f"{text}\n")
        self._out.flush()
