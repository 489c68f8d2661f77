"""What stands within a line of Markdown and belongs together: code, links, addresses.

A reader for cutting and shaping. It need not be exact: what it misses is cut or left as it is.
Where it matters what counts, for mentions, `mentions` reads by the server's own rules.
"""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["PIECE", "paragraphs", "unbreakable"]

_LABEL: Final = r"\[(?:[^\[\]\\]|\\.|\[[^\[\]]*\])*\]"  # one label may hold another: a picture
_TARGET: Final = (
    r"\(\s*(?:<[^<>\n]*>|(?:[^()\s\\]|\\.|\([^()\s]*\))*)"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)

PIECE: Final = re.compile(
    rf"""
      (?P<escape> \\ (?: [!-/:-@\[-`{{-~] | (?=\n) ) )
    | (?P<code> (?<!`) (?P<ticks>`+) (?!`) .{{1,5000}}? (?<!`) (?P=ticks) (?!`) )
    | (?P<link> (?P<picture>!?) (?P<label>{_LABEL}) (?P<target>{_TARGET}) )
    | (?P<angle> <[A-Za-z][A-Za-z0-9.+-]*:[^<>\s]*> )
    | (?P<address> (?<![A-Za-z0-9])(?:https?://|www\.)[^\s<>]+ )
    | (?P<handle> (?<![A-Za-z0-9]) @ (?P<name>[A-Za-z0-9_-]+ (?:\.[A-Za-z0-9_-]+)*) )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""One piece of a paragraph; what is none of these is plain text."""

_BLANK_LINES: Final = re.compile(r"\n(?:[ \t]*\n)+")


def paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each stretch without a blank line begins and ends; no piece goes beyond."""
    start = 0
    for gap in _BLANK_LINES.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def unbreakable(text: str) -> list[tuple[int, int]]:
    """Return where code spans, links and addresses begin and end, in order."""
    return [
        piece.span()
        for start, end in paragraphs(text)
        for piece in PIECE.finditer(text, start, end)
        if piece.lastgroup not in {"escape", "handle"}
    ]
