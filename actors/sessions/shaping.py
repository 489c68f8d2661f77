"""What an agent writes, as a Chatto client shows it well and as it disturbs nobody.

Agents write Markdown for readers that know all of it. Chatto's client shows tables as raw pipes,
pictures as an exclamation mark and a link, and a backslash that escapes something as a backslash;
so these are written otherwise. And the server takes every `@all` for a call to everybody: whoever
is no person is made inert.

Source: the web client of Chatto 0.4.20, looked at; cli/internal/core/mentions.go for mentions.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .fences import line_starts
from .inline import PIECE, paragraphs
from .mentions import mentioned_handles
from .tables import columns

__all__ = ["handles_in", "inert", "shape"]

JOINER: Final = "\u2060"
"""Word joiner: nobody sees it, and nothing is a handle or begins a list behind it."""

MAX_NESTING: Final = 20  # lists and quotes; what lies deeper is left as it is

_HANDLE: Final = re.compile(r"(?<![A-Za-z0-9])@([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)")
_OF_INTEREST: Final = re.compile(r"[|\\@]|!\[")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_BLOCK_MARK: Final = re.compile(r"#{1,6}(?=\s|\Z)|>|[-+*](?=\s|\Z)|```|~~~")
_NUMBER: Final = re.compile(r"(?:^|\n)[ \t>]*\d{1,9}\Z")
_LINE_START: Final = re.compile(r"(?:^|\n)[ \t>]*\Z")
_MARKERS: Final = re.compile(r"[^\s>]")


def handles_in(text: str) -> list[str]:
    """Return every handle that may count as a mention, in lower case, each once.

    More than the server finds: where a text is cut, what stands in a quote or in code may
    stand outside of it in the next part.
    """
    return list(dict.fromkeys(found[1].lower() for found in _HANDLE.finditer(text)))


def shape(text: str, people: Collection[str] = ()) -> str:
    """Return a text as it is to be posted; code stays as it is.

    Args:
        text: what the agent wrote, in Markdown.
        people: logins in lower case of those who may be called; every other handle is made
            inert.
    """
    if not _OF_INTEREST.search(text):
        return text  # most texts: nothing to parse
    return "".join(_pieces(text, frozenset(people)))


def inert(part: str, people: Collection[str] = ()) -> str:
    """Return a part of a text that calls nobody but these people, wherever it was cut.

    Code that was cut open is the one place where a handle can stand that `shape` left alone.
    """
    if "@" not in part or not _callers(part, frozenset(people)):
        return part
    keep = frozenset(people)
    return _HANDLE.sub(
        lambda found: found[0] if found[1].lower() in keep else f"@{JOINER}{found[1]}", part
    )


def _callers(part: str, people: frozenset[str]) -> list[str]:
    return [name for name in mentioned_handles(part) if name.lower() not in people]


def _pieces(text: str, people: frozenset[str]) -> Iterator[str]:
    """Yield a text block by block: code as it is, tables as code, all else line by line."""
    starts = line_starts(text)
    done = 0
    for first, behind, tokens in _blocks(text):
        start, end = starts[first], starts[min(behind, len(starts) - 1)]
        yield from _shaped(text[done:start], people)
        yield _table(text[start:end], tokens) if tokens else text[start:end]
        done = end
    yield from _shaped(text[done:], people)


def _blocks(text: str) -> Iterator[tuple[int, int, list[Token]]]:
    """Yield first line, line behind, and tokens of each table; of code without tokens."""
    found: list[Token] = []
    _READER.block.parse(text, _READER, {}, found)
    lines = text.split("\n")
    for index, token in enumerate(found):
        if token.map is None:
            continue
        first, behind = token.map
        if token.type in {"fence", "code_block"}:
            yield first, behind, []
        elif token.type == "table_open":
            # A line without a bar right below is a row to the standard, and a sentence to people.
            behind = next((at for at in range(first + 2, behind) if "|" not in lines[at]), behind)
            yield first, behind, _rows_until(found, index, behind)


def _rows_until(tokens: list[Token], index: int, behind: int) -> list[Token]:
    """Return the tokens of the table at `index`, up to the row that begins at a line."""
    end = index
    while tokens[end].type != "table_close" and not _begins_at(tokens[end], behind):
        end += 1
    return tokens[index:end]


def _begins_at(token: Token, line: int) -> bool:
    """Tell whether this is the beginning of a row at a line, or after it."""
    return token.type == "tr_open" and token.map is not None and token.map[0] >= line


def _table(source: str, tokens: list[Token]) -> str:
    """Return a table in columns, in the quote or list it stands in."""
    first = source.split("\n", 1)[0]
    head = re.match(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*[ \t>]*", first)
    lead = head[0] if head else ""
    rest = _MARKERS.sub(" ", lead)
    lines = columns(tokens)
    written = [lead + lines[0], *(rest + line for line in lines[1:])]
    blank = "\n" if source.endswith("\n") else ""
    return "\n".join(written) + blank


def _shaped(text: str, people: frozenset[str]) -> Iterator[str]:
    """Yield a stretch without blocks of code, piece by piece."""
    done = 0
    for start, end in paragraphs(text):
        for piece in PIECE.finditer(text, start, end):
            yield text[done : piece.start()]
            yield _piece(text, piece, people)
            done = piece.end()
    yield text[done:]


def _piece(text: str, piece: re.Match[str], people: frozenset[str]) -> str:
    match piece.lastgroup:
        case "escape":
            return _unescaped(text, piece)
        case "link":
            return _link(piece, people)
        case "address":
            plain = _ESCAPE.sub(r"\1", piece[0])
            # A handle in an address counts; written like this it does not, and leads there too.
            return _HANDLE.sub(
                lambda found: found[0] if found[1].lower() in people else f"%40{found[1]}", plain
            )
        case "name" | "handle":
            is_person = piece["name"].lower() in people
            return piece[0] if is_person else f"@{JOINER}{piece['name']}"
        case _:
            return piece[0]


def _unescaped(text: str, piece: re.Match[str]) -> str:
    """Return an escaped character that shows as itself, and begins no list, heading or quote."""
    char = piece["escape"][1:]
    before = text[max(0, piece.start() - 40) : piece.start()]
    begins = _BLOCK_MARK.match(text, piece.start() + 1)
    is_mark = begins is not None and _LINE_START.search(before) is not None
    is_number = char in {".", ")"} and _NUMBER.search(before) is not None
    return JOINER + char if is_mark or is_number else char


def _link(piece: re.Match[str], people: frozenset[str]) -> str:
    """Return a link, a picture as a link to it."""
    label, target = piece["label"], piece["target"]
    if piece["picture"] and not label[1:-1].strip():
        return target[1:-1].strip().split()[0].strip("<>") if target[1:-1].strip() else ""
    inner = "".join(_shaped(label[1:-1], people))
    if inner.startswith(("[", "!")) or "\\" not in label:
        return f"[{inner}]{target}"
    # A bracket has to stay escaped: it would end the label.
    return f"[{re.sub(r'[][]', lambda found: chr(92) + found[0], inner)}]{target}"


def _reader() -> MarkdownIt:
    reader = MarkdownIt("zero", {"maxNesting": MAX_NESTING})
    reader.enable(["blockquote", "code", "fence", "list", "table"])
    reader.block.ruler.getRules("")  # sorts the rules now: later use only reads
    return reader


_READER: Final = _reader()
"""Built once and safe in any thread: parsing keeps its state in objects of its own."""
