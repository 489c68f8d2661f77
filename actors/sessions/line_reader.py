"""Reading a message body line by line, with the columns the Chatto server counts.

A tab goes on to the next multiple of four columns; where a block ends inside a tab, what is left
of it stands as blanks in front of the next one. A place may lie outside of its line: in one case
the server steps back over the beginning of one, and reads on from there.

Source: goldmark 1.8.2, text/reader.go; IndentWidth and IndentPosition in util/util.go.
"""

import re
from typing import Final

from .link_parts import BLANKS

__all__ = ["LineReader", "indent_end", "indent_width"]

TAB_WIDTH: Final = 4  # columns

_INDENT: Final = re.compile(r"[ \t]*+")


def indent_width(line: str, column: int) -> tuple[int, int]:
    """Measure the blanks and tabs a line begins with.

    Args:
        line: what is left of the line.
        column: where it begins.

    Returns:
        Columns, and characters.
    """
    found = _INDENT.match(line)
    blanks = found[0] if found else ""
    if "\t" not in blanks:
        return len(blanks), len(blanks)
    over = column % TAB_WIDTH
    return len((" " * over + blanks).expandtabs(TAB_WIDTH)) - over, len(blanks)


def indent_end(line: str, column: int, width: int) -> tuple[int, int]:
    """Find the end of an indent of some columns.

    Returns:
        Characters, and the columns left of a tab that reaches beyond; -1 and -1 if the line is
        indented less.
    """
    covered, end = 0, 0
    for blank in line[: len(line) - len(line.lstrip(" \t"))]:
        if covered >= width:
            break
        covered += _tab_width(column + covered) if blank == "\t" else 1
        end += 1
    return (end, covered - width) if covered >= width else (-1, -1)


def _tab_width(column: int) -> int:
    return TAB_WIDTH - column % TAB_WIDTH


class LineReader:
    """A place in a body, and the line it is in."""

    def __init__(self, source: str) -> None:
        """Begin at the first line."""
        self._source = source
        self._head = self._place = self._stop = 0
        self._padding = 0
        self.next_line()

    def line(self) -> str:
        """Return what is left of the line, with its end; nothing behind the last line."""
        if self._place >= len(self._source):
            return ""
        return " " * self._padding + self._source[self._place : self._stop]

    def column(self) -> int:
        """Return the column of the reader's place."""
        before = self._source[self._head : self._place]
        if "\t" in before:
            before = before.replace("\r", " ").expandtabs(
                TAB_WIDTH
            )  # Python begins anew at a "\r"
        return len(before) - self._padding

    def tab_width(self) -> int:
        """Return how many columns a tab takes here."""
        return _tab_width(self.column())

    def step(self, count: int, padding: int = 0) -> None:
        """Go on by some characters of `line()`, and leave some columns of the last as blanks."""
        if self._padding == 0 and count < self._stop - self._place:
            self._place += count
        else:
            for _ in range(count):
                self._step_one()
        self._padding = max(self._padding, padding)

    def _step_one(self) -> None:
        if self._padding:
            self._padding -= 1
        else:
            self._place += 1

    def skip_line(self) -> None:
        """Go to the end of the line, before its line feed."""
        end = self._source.find("\n", self._place)
        self._place = end if end >= 0 else len(self._source)
        self._padding = 0

    def next_line(self) -> None:
        """Go to the beginning of the next line."""
        self._head = self._place = self._stop
        self._padding = 0
        end = self._source.find("\n", self._place)
        self._stop = end + 1 if end >= 0 else len(self._source)

    def skip_blank_lines(self) -> bool:
        """Go to the next line that is not blank; False if there is none."""
        while line := self.line():
            if line.strip(BLANKS):
                return True
            self.next_line()
        return False
