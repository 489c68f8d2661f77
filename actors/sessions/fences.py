"""Fenced code in a text: where it stands, and what closes and reopens it."""

import re
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["Fence", "fences_in", "line_starts"]

MAX_NESTING: Final = 20  # lists and quotes; what lies deeper is read as text
MAX_INDENT: Final = 3  # columns; more would make it indented code
_MARKERS: Final = re.compile(r"[^\s>]")


@dataclass(frozen=True, slots=True)
class Fence:
    """One block of fenced code."""

    start: int
    """Where its first line begins, in characters."""
    end: int
    """Behind its last line; the end of the text where it is not closed."""
    opening: str
    """Its first line, without the line end."""
    markup: str
    """The run of backticks or tildes it begins with."""

    @property
    def closing(self) -> str:
        """A line that ends it at any place, in the same quote or list."""
        return self._prefix + self.markup

    @property
    def reopening(self) -> str:
        """A line that begins it again in another text: same language, run and quote.

        The list it may stand in is not there any more, so that it is no deeper than a block of
        its own may be.
        """
        prefix = self._prefix[self._excess :]
        return prefix + self.opening[self.opening.index(self.markup) :]

    def alone(self, text: str) -> str:
        """Return a text that begins with it as it is read without the list it stands in."""
        indent = self.opening[: self.opening.index(self.markup)]
        is_deep = indent.isspace() and self._excess > 0
        return self.reopened(text[len(self.opening) :]) if is_deep else text

    def reopened(self, rest: str) -> str:
        """Return how a text goes on with what is left of it.

        Args:
            rest: from the line end, or from within the line, at which it was cut.
        """
        if self._excess and (end := self._end_line.search(rest)):
            # What is left stands in no list any more: its indentation was the list's.
            indent = re.compile(rf"^ {{1,{self._excess}}}", re.MULTILINE)
            rest = indent.sub("", rest[: end.end()]) + rest[end.end() :]
        return self.reopening + rest

    def ends_at(self, text: str, at: int) -> int | None:
        """Return what follows its end where that is the line at `at`; None: it is not."""
        found = self._end_line.match(text, at)
        return found.end() if found else None

    @property
    def _end_line(self) -> re.Pattern[str]:
        run, one = re.escape(self.markup), re.escape(self.markup[0])
        return re.compile(rf"^[ \t>]*{run}{one}*[ \t]*(?:\n|\Z)", re.MULTILINE)

    @property
    def _excess(self) -> int:
        """How many columns deeper it stands than a block of its own may."""
        return 0 if ">" in self._prefix else max(0, len(self._prefix) - MAX_INDENT)

    @property
    def _prefix(self) -> str:
        """What stands before the run on each of its lines: quote marks and indentation."""
        return _MARKERS.sub(" ", self.opening[: self.opening.index(self.markup)])


def fences_in(text: str) -> list[Fence]:
    """Return the fenced code of a text, in order, as its readers' programs find it."""
    if "```" not in text and "~~~" not in text:
        return []
    tokens: list[Token] = []
    _READER.block.parse(text, _READER, {}, tokens)
    starts = line_starts(text)
    return [
        _fence(text, starts, token.map, token.markup)
        for token in tokens
        if token.type == "fence" and token.map is not None
    ]


def line_starts(text: str) -> list[int]:
    """Return where each line begins, and the end of the text."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return [*starts, len(text)]


def _fence(text: str, starts: list[int], lines: list[int], markup: str) -> Fence:
    start = starts[lines[0]]
    end = starts[min(lines[1], len(starts) - 1)]
    opening = text[start : starts[lines[0] + 1]].rstrip("\n")
    return Fence(start, end, opening, markup)


def _reader() -> MarkdownIt:
    reader = MarkdownIt("zero", {"maxNesting": MAX_NESTING})
    reader.enable(["blockquote", "code", "fence", "list"])
    reader.block.ruler.getRules("")  # sorts the rules now: later use only reads
    return reader


_READER: Final = _reader()
"""Built once and safe in any thread: parsing keeps its state in objects of its own."""
