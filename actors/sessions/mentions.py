r"""Which handles a message mentions, by the rules of the Chatto server.

The server reads a body once, when it is posted, and tells nobody whom it found. Whoever wants to
know who is meant, or what an edit changed, has to read the body as the server does: Markdown first
(code, quotes and link targets hold no mentions), then `@` and a handle.

markdown-it-py finds the blocks, escapes and code spans; link brackets, link definitions and
autolinks have rules of their own here. Its own rules for those recurse once per bracket and nested
image, refuse targets the server takes (`javascript:`), and end a paragraph at a definition, which
changes the lines a quote swallows. Emphasis is off: it never decides whether a handle counts. HTML
and entities are off as on the server.

Differences that remain, in about one of a thousand random bodies made of block markers and in none
made of inline markup; each is left alone because its cure would be a block parser of our own:

- a tab behind a nested list or quote marker;
- a carriage return at the end of an empty list marker, or alone within a line;
- an empty item that begins another list item, with deeper text behind a blank line;
- a block marker indented by four columns or more on a line that continues a paragraph
  (`    >` below `> a`);
- `===` or `---` below a paragraph of link definitions only;
- three backslashes at the end of a line above `\@`;
- a link label with 998 bytes and more between two unclosed ones before it;
- what lies deeper than `MAX_NESTING` and `NESTED_LINES` allow: it counts as not mentioned, and so
  does what follows a list that deep.

A mention missed that way is still in the server's own notifications.

Source: Chatto 0.4.20, cli/internal/core/mentions.go; goldmark 1.8.2, its Markdown parser.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

__all__ = ["leading_mention_end", "mentioned_handles", "mentions"]

MAX_NESTING: Final = 40  # quotes, or half as many lists; two stack frames each
NESTED_LINES: Final = 20_000  # lines times nesting; markdown-it takes 6 µs for each of them
MAX_PARENTHESES: Final = 8  # in a link target; the server counts on, at a quadratic price
MAX_ANGLE_TARGET: Final = 2_048  # characters; as above
MAX_LABEL: Final = 999  # characters of a link label

# Possessive quantifiers around characters only, never around groups: Python 3.11.2, the one of
# Debian 12, matches `(?:.x)*+` wrongly when it has to give a part back.
_HANDLE: Final = r"@([A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)*)"
_MENTION: Final = re.compile(rf"(?<![A-Za-z0-9]){_HANDLE}")
_BEHIND: Final = r"[\s,:;.!?\u2026\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff1f]*+"
_LEADING: Final = re.compile(rf"\s*+{_HANDLE}{_BEHIND}")
_ESCAPE: Final = r"\\[!-/:-@\[-`{-~]?"
_SPACE: Final = re.compile(r"[ \t\r\n]*+")
_LINE_REST: Final = re.compile(r"[ \t\r]*+(?:\n|\Z)")
_LABEL: Final = re.compile(rf"\[((?:[^\[\]\\]++|{_ESCAPE})*)\]")
_ANGLE_TARGET: Final = re.compile(rf"<(?:[^>\n\\]++|{_ESCAPE})*>")
_PLAIN_TARGET: Final = re.compile(rf"(?:[^() \t\r\n\\]++|{_ESCAPE})+")
_TITLES: Final[Mapping[str, re.Pattern[str]]] = {
    '"': re.compile(rf'"(?:[^"\\]++|{_ESCAPE})*"'),
    "'": re.compile(rf"'(?:[^'\\]++|{_ESCAPE})*'"),
    "(": re.compile(rf"\((?:[^()\\]++|{_ESCAPE})*\)"),
}
_AUTOLINK: Final = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9.+-]{1,32}:[^<>\x00-\x20]*+"
    r"|[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]++@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*)>"
)


@dataclass(slots=True)
class _Brackets:
    """The open link and image labels of one text block, innermost last."""

    references: frozenset[str]
    """Normalised labels of the body's link definitions."""
    labels: list[tuple[int, bool]] = field(default_factory=list)
    """Where a label's text begins, and whether it is an image's."""
    last_link: int = -1
    """Where the label of the newest complete link begins: no link may hold another."""


def mentioned_handles(body: str) -> tuple[str, ...]:
    """Read the handles the server finds in a message body.

    Args:
        body: the text of a message as it was posted; any string is fine. 10,000 bytes, the most
            the server takes, need at worst 0.15 s (nested quotes); a usual message needs 0.1 ms.

    Returns:
        Handles without `@`, in order of appearance as written, each spelling once: `@Alice` and
        `@alice` are two, as on the server. Who they are (user, role, `all`, `here`, nobody) is not
        looked at.
    """
    if not _MENTION.search(body):
        return ()  # most messages: nothing to parse
    references, texts = _text_blocks(_source(body))
    return tuple(dict.fromkeys(handle for text in texts for handle in _handles(text, references)))


def mentions(body: str, login: str) -> bool:
    """Tell whether a body mentions exactly this handle, in any case.

    Args:
        body: as for `mentioned_handles`.
        login: a handle without `@`.
    """
    return login.lower() in (handle.lower() for handle in mentioned_handles(body))


def leading_mention_end(body: str, login: str) -> int:
    """Find what stands behind a mention at the very beginning (`@hermes: /status`).

    Args:
        body: as for `mentioned_handles`.
        login: a handle without `@`, compared in any case.

    Returns:
        Offset in characters behind the mention and the blanks and punctuation that follow it; 0
        when the body does not begin with a mention of exactly this handle.
    """
    found = _LEADING.match(body)
    if found and mentions(found[0], login):  # an indented one is code
        return found.end()
    return 0


def _source(body: str) -> str:
    """Prepare a body as the server does, and end its lines as markdown-it knows it."""
    # The server knows no escapes but cannot switch them off in its parser.
    source = body.replace("\\`", "`").replace("\\@", "\\\\@")
    # markdown-it would make a line's end of every carriage return, the server only of "\n".
    return "\n".join(line.rstrip(" \t\r") for line in source.split("\n"))


def _text_blocks(source: str) -> tuple[frozenset[str], list[str]]:
    """Split into text blocks outside of quotes and code; collect all link definitions."""
    references: set[str] = set()
    texts: list[str] = []
    quotes, markup = 0, ""
    for block in _blocks(source):
        match block.type:
            case "blockquote_open":
                quotes += 1
            case "blockquote_close":
                quotes -= 1
            case "inline":
                is_heading = markup.startswith("#")
                text = block.content if is_heading else _defined(block.content, references)
                texts += [text] if quotes == 0 else []
            case _:
                markup = block.markup
    return frozenset(references), texts


def _blocks(source: str) -> list[Token]:
    # Every line below a quote costs once per level of it, so many lines buy less depth.
    lines = sum(line != "" for line in source.split("\n"))
    reader = _READER
    if lines * MAX_NESTING > NESTED_LINES:
        reader = _reader(NESTED_LINES // lines)
    blocks: list[Token] = []
    reader.block.parse(source, reader, {}, blocks)
    return blocks


def _defined(text: str, references: set[str]) -> str:
    """Note the link definitions a paragraph begins with; return the rest of it."""
    end = 0
    while found := _definition(text, _space_end(text, end)):
        label, end = found
        references.add(label)
    return text[end:]


def _definition(text: str, start: int) -> tuple[str, int] | None:
    """Read one `[label]: target "title"`; label and end, None if there is none."""
    label = _LABEL.match(text, start)
    if not label or not label[1].strip() or not text.startswith(":", label.end()):
        return None
    target = _target_end(text, _space_end(text, label.end() + 1))
    if target is None:
        return None
    end = _LINE_REST.match(text, target)
    behind = _space_end(text, target)
    if title := _TITLES.get(text[behind : behind + 1]):
        if behind == target:
            return None
        closed = title.match(text, behind)
        # A title with something behind it is none, and the target has to end its line.
        end = (_LINE_REST.match(text, closed.end()) if closed else None) or end
    return (normalizeReference(label[1]), end.end()) if end else None


def _space_end(text: str, start: int) -> int:
    space = _SPACE.match(text, start)
    return space.end() if space else start


def _target_end(text: str, start: int) -> int | None:
    """Find the end of a link target; parentheses need not balance, as on the server."""
    if text.startswith("<", start):
        angle = _ANGLE_TARGET.match(text, start, start + MAX_ANGLE_TARGET)
        return angle.end() if angle else None
    end, depth = start, 0
    while depth <= MAX_PARENTHESES:
        if plain := _PLAIN_TARGET.match(text, end):
            end = plain.end()
        char = text[end : end + 1]
        if char not in ("(", ")") or (char == ")" and depth == 0):
            return end if end > start else None
        depth += 1 if char == "(" else -1
        end += 1
    return None


def _handles(text: str, references: frozenset[str]) -> Iterator[str]:
    if "@" not in text:
        return
    tokens: list[Token] = []
    _READER.inline.parse(text, _READER, {"brackets": _Brackets(references)}, tokens)
    yield from (token.content for token in tokens if token.type == "mention")


def _mention_rule(state: StateInline, _silent: object) -> bool:
    found = _MENTION.match(state.src, state.pos)
    if not found:
        return False
    state.push("mention", "", 0).content = found[1]
    state.pos = found.end()
    return True


def _autolink_rule(state: StateInline, _silent: object) -> bool:
    found = _AUTOLINK.match(state.src, state.pos)
    if not found:
        return False
    state.pos = found.end()
    return True


def _bracket_rule(state: StateInline, _silent: object) -> bool:
    """Step over a bracket, and over all that belongs to a link its `]` completes."""
    brackets: _Brackets = state.env["brackets"]
    is_image = state.src.startswith("![", state.pos)
    if is_image or state.src[state.pos] == "[":
        state.pos += 2 if is_image else 1
        brackets.labels.append((state.pos, is_image))
        return True
    if state.src[state.pos] != "]" or not brackets.labels:
        return False
    start, is_image = brackets.labels.pop()
    end = None
    if is_image or start > brackets.last_link:
        end = _link_end(state.src, start, state.pos, brackets.references)
    if end is not None and not is_image:
        brackets.last_link = start
    state.pos = end or state.pos + 1
    return True


def _link_end(text: str, start: int, close: int, references: frozenset[str]) -> int | None:
    """Find the end of the link whose label spans `start` to `close`; None if it is no link."""
    end = _inline_link_end(text, close + 1) if text.startswith("(", close + 1) else None
    if end is not None or not references:
        return end
    label, end = text[start:close], close + 1
    if full := _LABEL.match(text, end):
        label, end = full[1] if full[1].strip() else label, full.end()
    known = len(label) <= MAX_LABEL and normalizeReference(label) in references
    return end if known else None


def _inline_link_end(text: str, start: int) -> int | None:
    """Find the end of `(target "title")`; the title may follow its target without a blank."""
    end = _space_end(text, start + 1)
    if text.startswith(")", end):
        return end + 1
    target = _target_end(text, end)
    if target is None:
        return None
    end = _space_end(text, target)
    if title := _TITLES.get(text[end : end + 1]):
        closed = title.match(text, end)
        end = _space_end(text, closed.end()) if closed else end
    return end + 1 if text.startswith(")", end) else None


def _reader(nesting: int) -> MarkdownIt:
    reader = MarkdownIt("zero", {"maxNesting": nesting})
    reader.enable(["blockquote", "code", "fence", "heading", "hr", "lheading", "list"])
    reader.enable(["backticks", "escape"])
    reader.inline.ruler.push("autolink_target", _autolink_rule)
    reader.inline.ruler.push("bracket", _bracket_rule)
    reader.inline.ruler.push("mention", _mention_rule)
    for ruler in (reader.block.ruler, reader.inline.ruler):
        ruler.getRules("")  # sorts the rules now: later use only reads
    reader.inline.ruler2.getRules("")
    return reader


_READER: Final = _reader(MAX_NESTING)
"""Built once (0.3 ms, several messages' worth) and safe in any thread: parsing keeps its state in
objects of its own, and nothing writes to the rules after `_reader`."""
