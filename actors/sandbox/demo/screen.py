"""What the reader sees: lines that stay, and one that shows that something slow is alive."""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Final, TextIO

__all__ = ["Screen"]

PLAIN_EVERY_S: Final = 5.0  # a log that is read later wants few lines, a reader a sign of life
CLEAR_LINE: Final = "\r\x1b[K"


class Screen:
    """Writes to one stream; on a terminal the newest line may be renewed."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Write nothing yet.

        Args:
            out: where to.
            clock: seconds, from any origin.
        """
        self._out = out
        self._clock = clock
        self._is_terminal = out.isatty()
        self._began = clock()
        self._drawn = clock()
        self._what = ""
        self._prompt = ""

    def say(self, text: str = "") -> None:
        """Write lines that stay."""
        self._clear()
        self._out.write(f"{text}\n")
        self._draw_prompt()
        self._out.flush()

    @contextlib.contextmanager
    def during(self, what: str, *, is_step: bool = True) -> Iterator[None]:
        """Show what is going on, and for how long.

        Args:
            what: what the reader waits for.
            is_step: whether lines about its beginning and its end stay.
        """
        self._what, self._began = what, self._clock()
        self._drawn = self._began
        if is_step and not self._is_terminal:
            self.say(f"{what} ...")
        self.tick()
        try:
            yield
        finally:
            self._what = ""
            self._clear()
        if is_step:
            self.say(f"{what}: {self._clock() - self._began:.1f} s")

    def tick(self) -> None:
        """Show for how long it has been going on, when that is due; call it often."""
        if not self._what:
            return
        if self._is_terminal:
            self._draw()
        elif self._clock() - self._drawn >= PLAIN_EVERY_S:
            self._drawn = self._clock()
            self.say(f"{self._what} ... {self._drawn - self._began:.0f} s")

    def ask(self, prompt: str) -> None:
        """Keep a prompt at the bottom of a terminal; nothing: no more."""
        self._clear()
        self._prompt = prompt
        self._draw_prompt()
        self._out.flush()

    def _draw(self) -> None:
        text = f"{self._what} ... {self._clock() - self._began:.0f} s"
        width = shutil.get_terminal_size().columns - 1
        self._out.write(f"{CLEAR_LINE}{text[:width]}")
        self._out.flush()

    def _draw_prompt(self) -> None:
        if self._is_terminal:
            self._out.write(self._prompt)

    def _clear(self) -> None:
        if self._is_terminal:
            self._out.write(CLEAR_LINE)
