"""Tables as text in columns, for a chat that shows no tables."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from wcwidth import wcswidth

__all__ = ["columns"]

_TICKS: Final = re.compile("`+")
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_GAP: Final = "  "


def columns(tokens: Sequence[Token]) -> list[str]:
    """Return a table as lines of fenced code, its cells in columns.

    Emphasis, links and escapes are of no use in code: what they show stands there as plain text.

    Args:
        tokens: of the table, from its `table_open` to its `table_close`.
    """
    rows = list(_rows(tokens))
    alignments = [str(token.attrGet("style") or "") for token in tokens if token.type == "th_open"]
    widths = [max(map(_width, column)) for column in itertools.zip_longest(*rows, fillvalue="")]
    head, *body = [_line(row, widths, alignments) for row in rows]
    rule = _GAP.join("-" * max(width, 1) for width in widths)
    longest = max((len(run) for line in (head, *body) for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, head, rule, *body, fence]


def _rows(tokens: Sequence[Token]) -> Iterator[list[str]]:
    row: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(_plain(token.content))
        elif token.type == "tr_close":
            yield row


def _line(row: Sequence[str], widths: Sequence[int], alignments: Sequence[str]) -> str:
    cells = itertools.zip_longest(row, widths, alignments, fillvalue="")
    padded = [_padded(str(cell), int(width or 0), str(how)) for cell, width, how in cells]
    return _GAP.join(padded).rstrip()


def _padded(cell: str, width: int, alignment: str) -> str:
    missing = width - _width(cell)
    if "right" in alignment:
        return " " * missing + cell
    if "center" in alignment:
        left = missing // 2
        return " " * left + cell + " " * (missing - left)
    return cell + " " * missing


def _width(cell: str) -> int:
    """Return how many columns a cell takes where every character has one or two."""
    width = wcswidth(cell)
    return width if width >= 0 else len(cell)  # it holds a control character


def _plain(cell: str) -> str:
    """Return what a cell shows."""
    tokens: list[Token] = []
    _READER.inline.parse(_BREAK.sub(" ", cell), _READER, {}, tokens)
    return " ".join("".join(_shown(tokens)).split())


def _shown(tokens: Sequence[Token]) -> Iterator[str]:
    target, label = "", ""
    for token in tokens:
        match token.type:
            case "link_open":
                target, label = str(token.attrGet("href") or ""), ""
            case "link_close":
                yield f" ({target})" if target not in {label, f"mailto:{label}"} else ""
                target = ""
            case _:
                label += token.content
                yield token.content


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
    reader.disable("html_inline")
    for ruler in (reader.inline.ruler, reader.inline.ruler2):
        ruler.getRules("")  # sorts the rules now: later use only reads
    return reader


_READER: Final = _reader()
"""Built once and safe in any thread: parsing keeps its state in objects of its own."""
