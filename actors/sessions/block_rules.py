"""Where the blocks of a message body begin, and which lines go on with them.

Rules of the Chatto server's parser, its oddities included, since they decide who is mentioned: a
tab that is counted from another column, an empty item that ends its list, a fence that is looked
for behind a tab.

Source: goldmark 1.8.2, the block parsers in its folder parser; which of them the server asks:
Chatto 0.4.20, cli/internal/core/mentions.go (no HTML blocks).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple

from .line_reader import LineReader, indent_end, indent_width
from .link_parts import BLANKS, take_definitions

__all__ = ["CONTAINERS", "Block", "BlockRules", "Kind", "is_blank"]

CODE_INDENT: Final = 4  # columns
MAX_MARKER_BLANKS: Final = 4  # columns; with more, the text of an item is code
MAX_LEVEL: Final = 6
MIN_FENCE: Final = 3
MIN_RULE: Final = 3

_ITEM: Final = re.compile(r"( {0,3})(?:[-*+]|(\d{1,9})[.)])(?=[ \t\n]|\Z)", re.ASCII)
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)[ \t\r\n]*\Z")
_HASHES: Final = re.compile(r"#+")
_RUN: Final = re.compile(r"(.)\1*")


class Kind(Enum):
    """What a block is."""

    DOCUMENT = auto()
    LIST = auto()
    ITEM = auto()
    QUOTE = auto()
    CODE = auto()
    FENCE = auto()
    RULE = auto()
    HEADING = auto()
    PARAGRAPH = auto()


CONTAINERS: Final = frozenset({Kind.LIST, Kind.ITEM, Kind.QUOTE})


@dataclass(slots=True, eq=False)
class Block:
    """One block, and what its rules have to remember of it."""

    kind: Kind
    marker: str = ""
    """What the items of a list begin with, or the ends of a fence consist of."""
    width: int = 0
    """Columns by which an item indents its content; characters of a fence."""
    lines: list[str] = field(default_factory=list)
    """Of a paragraph or a heading."""
    parent: "Block | None" = None
    is_quoted: bool = False
    is_empty: bool = True
    """True while no block was opened inside."""
    begins_blank: bool = False
    """True of an item with nothing behind its marker."""
    last_item: "Block | None" = None
    """Of a list."""


class _Start(NamedTuple):
    """Where a block may begin."""

    line: str
    width: int
    """Columns of blanks in front."""
    text: str
    """The line without them."""
    parent: Block


_Begins = Callable[[_Start], Block | None]


def is_blank(line: str) -> bool:
    """Tell whether a line shows nothing, by the server's four blanks."""
    return not line.strip(BLANKS)


def _is_rule(line: str, column: int) -> bool:
    width, start = indent_width(line, column)
    mark = line[start : start + 1]
    if width >= CODE_INDENT or mark not in ("*", "-", "_"):
        return False
    return not line.strip(mark + BLANKS) and line.count(mark) >= MIN_RULE


class BlockRules:
    """The rules, over one body and the blocks of it that are open."""

    def __init__(self, reader: LineReader) -> None:
        """Begin where the reader is, with nothing open."""
        self._reader = reader
        self.document = Block(Kind.DOCUMENT)
        self.open: list[Block] = []
        """Outermost first."""
        self.labels: set[str] = set()
        """Of the link definitions so far."""
        self._item_follows = False
        """Set where an item ended because another begins."""
        self._has_blank_item = False
        """Set where a blank line follows an item without content."""
        lists = (self._list, self._item)
        self._beginnings: Mapping[str, tuple[_Begins, ...]] = {
            "-": (self._underline, self._rule, *lists),
            "*": (self._rule, *lists),
            "_": (self._rule,),
            "=": (self._underline,),
            "#": (self._heading,),
            "`": (self._fence,),
            "~": (self._fence,),
            ">": (self._quote,),
            **dict.fromkeys("+0123456789", lists),
        }
        """What may begin with a character, in the server's order."""

    def last(self) -> Block:
        """Return the innermost open block."""
        return self.open[-1] if self.open else self.document

    def finish(self, paragraph: Block) -> None:
        """Take its link definitions out of a paragraph, and the blanks around its lines."""
        lines = take_definitions(paragraph.lines, self.labels)
        lines = [line.lstrip(BLANKS) for line in lines]
        paragraph.lines = [*lines[:-1], lines[-1].rstrip(BLANKS)] if lines else []

    def take_line(self, paragraph: Block) -> None:
        """Let the rest of the line be one of a paragraph."""
        paragraph.lines.append(self._reader.line())
        self._reader.skip_line()

    def begin(self, parent: Block, *, is_within_paragraph: bool) -> Block | None:
        """Return the block that begins at the reader's place, and step over what shows it.

        Args:
            parent: what it would be in.
            is_within_paragraph: the line may as well go on with the open paragraph.

        Returns:
            The open paragraph itself, closed, if the line would make a heading of it and there is
            nothing but link definitions in it; None if the line is no block or goes on with one.
        """
        line = self._reader.line()
        if not line or line.startswith("\n"):
            return None
        width, begin = indent_width(line, self._reader.column())
        start = _Start(line, width, line[begin:], parent)
        if width < CODE_INDENT:
            for begins in self._beginnings.get(start.text[:1], ()):
                if block := begins(start):
                    return block
        if is_within_paragraph or is_blank(line):
            return None
        if width >= CODE_INDENT:
            self._reader.skip_line()
            return Block(Kind.CODE)
        paragraph = Block(Kind.PARAGRAPH)
        self.take_line(paragraph)
        return paragraph

    def _underline(self, start: _Start) -> Block | None:
        paragraph = self._paragraph_in(start.parent)
        if not paragraph or not _UNDERLINE.match(start.line):
            return None
        self.open.pop()
        self.finish(paragraph)
        if not paragraph.lines:
            return paragraph
        heading = Block(Kind.HEADING, lines=paragraph.lines)
        paragraph.lines = []
        return heading

    def _paragraph_in(self, parent: Block) -> Block | None:
        last = self.last()
        is_inside = last.kind is Kind.PARAGRAPH and last.parent is parent
        return last if is_inside else None

    def _rule(self, start: _Start) -> Block | None:
        if not _is_rule(start.line, self._reader.column()):
            return None
        self._reader.skip_line()
        return Block(Kind.RULE)

    def _list(self, start: _Start) -> Block | None:
        if self.last().kind is Kind.LIST or self._item_follows:
            self._item_follows = False
            return None
        item = _ITEM.match(start.line)
        if not item:
            return None
        if self._paragraph_in(start.parent) and (
            int(item[2] or 1) != 1 or is_blank(start.line[item.end() :])
        ):
            return None
        self._has_blank_item = False
        return Block(Kind.LIST, marker=start.line[item.end() - 1])

    def _item(self, start: _Start) -> Block | None:
        item = _ITEM.match(start.line) if start.parent.kind is Kind.LIST else None
        before = start.parent.last_item
        if not item or len(item[1]) - (before.width if before else 0) >= CODE_INDENT:
            return None
        self._has_blank_item = False
        end, text = item.end(), start.line[item.end() :]
        if is_blank(text):
            return Block(Kind.ITEM, width=end + 1, begins_blank=True)
        blanks, _ = indent_width(text, end)
        blanks = blanks if blanks <= MAX_MARKER_BLANKS else 1
        characters, padding = indent_end(text, end, blanks)
        self._reader.step(end + characters, padding)
        return Block(Kind.ITEM, width=end + blanks)

    def _heading(self, start: _Start) -> Block | None:
        hashes = _HASHES.match(start.text)
        if not hashes or start.width >= len(start.line) or len(hashes[0]) > MAX_LEVEL:
            return None
        text = start.text[hashes.end() :]
        if text and text[0] not in BLANKS:
            return None
        self._reader.skip_line()
        return Block(Kind.HEADING, lines=[text.strip(BLANKS)])

    def _fence(self, start: _Start) -> Block | None:
        # The server takes columns for characters here: behind a tab it looks too far.
        run = _RUN.match(start.line, start.width)
        if not run or len(run[0]) < MIN_FENCE:
            return None
        if run[1] == "`" and "`" in start.line[run.end() :]:
            return None
        return Block(Kind.FENCE, marker=run[1], width=len(run[0]))

    def _quote(self, _start: _Start) -> Block | None:
        return Block(Kind.QUOTE) if self._steps_over_quote_marker() else None

    def goes_on(self, block: Block) -> bool:
        """Tell whether the line belongs to an open block, and step over what shows it."""
        line = self._reader.line()
        match block.kind:
            case Kind.LIST:
                return self._list_goes_on(block, line)
            case Kind.ITEM:
                return self._item_goes_on(block, line)
            case Kind.QUOTE:
                return self._steps_over_quote_marker()
            case Kind.CODE:
                return self._code_goes_on(line)
            case Kind.FENCE:
                return self._fence_goes_on(block, line)
        return False

    def _list_goes_on(self, block: Block, line: str) -> bool:
        item = block.last_item or block  # a list has one as long as its lines are read
        if is_blank(line):
            self._has_blank_item |= item.is_empty
            return True
        width, _ = indent_width(line, self._reader.column())
        if width >= item.width and not item.is_empty:
            return not self._has_blank_item
        found = _ITEM.match(line) if width < CODE_INDENT else None
        if found and len(found[1]) - item.width < CODE_INDENT:
            return self._is_next_item(block, line[found.end() - 1 :])
        return item.is_empty and width >= item.width and not self._has_blank_item

    def _is_next_item(self, block: Block, line: str) -> bool:
        if line[0] != block.marker:
            return False
        is_underline = (
            self.last().kind is Kind.PARAGRAPH and line[0] == "-" and _UNDERLINE.match(line)
        )
        return bool(is_underline) or not _is_rule(line, 0)

    def _item_goes_on(self, block: Block, line: str) -> bool:
        if is_blank(line):
            self._reader.skip_line()
            return True
        last = block.parent.last_item if block.parent else None
        content = last.width if last else 0
        column = self._reader.column()
        width, _ = indent_width(line, column)
        is_empty = block.is_empty and self._has_blank_item
        if (is_empty or width < content) and width < CODE_INDENT and _ITEM.match(line):
            self._item_follows = True
            return False
        self._reader.step(*indent_end(line, column, content))
        return True

    def _steps_over_quote_marker(self) -> bool:
        line = self._reader.line()
        width, begin = indent_width(line, self._reader.column())
        if width >= CODE_INDENT or not line.startswith(">", begin):
            return False
        self._reader.step(begin + 1)
        behind = line[begin + 1 : begin + 2]
        if behind == " ":
            self._reader.step(1)
        elif behind == "\t":
            self._reader.step(1, self._reader.tab_width() - 1)
        return True

    def _code_goes_on(self, line: str) -> bool:
        if is_blank(line):
            return True
        if indent_width(line, self._reader.column())[0] < CODE_INDENT:
            return False
        self._reader.skip_line()
        return True

    def _fence_goes_on(self, block: Block, line: str) -> bool:
        width, begin = indent_width(line, self._reader.column())
        self._reader.skip_line()
        behind = line[begin:].lstrip(block.marker)
        is_end = len(line) - begin - len(behind) >= block.width and is_blank(behind)
        return width >= CODE_INDENT or not is_end
