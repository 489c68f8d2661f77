"""The parts of a message body that are text, as the Chatto server cuts them out of it.

Each line first goes on with the blocks that are open, outermost first, and then opens new ones in
the last of them. Nothing here recurses: a body may nest as deep as its 10,000 bytes allow.

Source: goldmark 1.8.2, parser/parser.go.
"""

from enum import Enum, auto
from typing import NamedTuple

from .block_rules import CONTAINERS, Block, BlockRules, Kind, is_blank
from .line_reader import LineReader

__all__ = ["TextBlocks", "text_blocks"]


class TextBlocks(NamedTuple):
    """What of a body is text."""

    texts: list[str]
    """Paragraphs and headings outside of quotes, in their order, without what they are in."""
    labels: frozenset[str]
    """Of all link definitions, for `link_parts.is_known`."""


class _Opened(Enum):
    NOTHING = auto()
    BLOCKS = auto()
    MORE_OF_THE_PARAGRAPH = auto()


def text_blocks(source: str) -> TextBlocks:
    """Cut the text out of a body.

    Args:
        source: the body as the server gives it to its parser; only a line feed ends a line.
    """
    cutter = _Cutter(_without_blank_runs(source))
    cutter.cut()
    return cutter.found()


def _without_blank_runs(source: str) -> str:
    """Leave one blank line of several: a second says to no block what the first did not."""
    kept: list[str] = []
    was_blank = False
    for line in source.split("\n"):
        if not (was_blank and is_blank(line)):
            kept.append(line)
        was_blank = is_blank(line)
    return "\n".join(kept)


class _Cutter:
    def __init__(self, source: str) -> None:
        self._reader = LineReader(source)
        self._rules = BlockRules(self._reader)
        self._with_text: list[Block] = []

    def cut(self) -> None:
        """Read all lines."""
        while self._reader.skip_blank_lines():
            self._open_blocks(self._rules.document)
            self._reader.next_line()
            while self._rules.open:
                self._read_line()
                self._reader.next_line()

    def found(self) -> TextBlocks:
        """Return what was cut out."""
        texts = ["".join(block.lines) for block in self._with_text if not block.is_quoted]
        return TextBlocks(texts, frozenset(self._rules.labels))

    def _read_line(self) -> None:
        """Go on with what is open, or close it, and open what begins."""
        last, end = self._rules.open[-1], len(self._rules.open)
        for index in range(end):
            block = self._rules.open[index]
            if not self._reader.line():
                self._close(0, end)
                return
            if block.kind is not Kind.PARAGRAPH and self._rules.goes_on(block):
                if block is last and block.kind in CONTAINERS:
                    self._open_blocks(block)
                continue
            parent = self._rules.open[index - 1] if index else self._rules.document
            if self._open_blocks(parent) is not _Opened.MORE_OF_THE_PARAGRAPH:
                was_replaced = self._rules.open[end - 1 : end] != [last]
                self._close(index, end - was_replaced)
            return

    def _close(self, start: int, end: int) -> None:
        for block in self._rules.open[start:end]:
            if block.kind is Kind.PARAGRAPH:
                self._rules.finish(block)
        del self._rules.open[start:end]

    def _open_blocks(self, parent: Block) -> _Opened:
        """Open what begins at the reader's place, each block inside the one before."""
        last = self._rules.last()
        paragraph = last if last.kind is Kind.PARAGRAPH else None
        opened = _Opened.NOTHING
        while block := self._rules.begin(parent, is_within_paragraph=paragraph is not None):
            if block is paragraph:  # nothing but definitions: the line is no underline
                paragraph = None
                continue
            self._add(block, parent)
            opened, paragraph = _Opened.BLOCKS, None
            if block.kind not in CONTAINERS or block.begins_blank:
                break
            parent = block
        if paragraph and not is_blank(self._reader.line()):
            self._rules.take_line(paragraph)
            return _Opened.MORE_OF_THE_PARAGRAPH
        return opened

    def _add(self, block: Block, parent: Block) -> None:
        block.parent = parent
        block.is_quoted = parent.is_quoted or block.kind is Kind.QUOTE
        parent.is_empty = False
        if block.kind is Kind.ITEM:
            parent.last_item = block
        if block.kind in (Kind.PARAGRAPH, Kind.HEADING):
            self._with_text.append(block)
        self._rules.open.append(block)
