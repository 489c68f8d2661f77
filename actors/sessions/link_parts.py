r"""Parts of Markdown links as the Chatto server reads them: labels, targets, titles, definitions.

A text is what a paragraph or a heading holds: its lines, without what they are nested in. Blanks
are the four the server knows; a no-break space or a form feed is a character like any other.

Source: goldmark 1.8.2, parser/link.go and parser/link_ref.go.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

__all__ = [
    "BLANKS",
    "MAX_LABEL",
    "Targets",
    "byte_length",
    "is_known",
    "label_match",
    "space_end",
    "take_definitions",
    "title_end",
]

BLANKS: Final = " \t\r\n"
MAX_LABEL: Final = 999  # bytes

# Possessive quantifiers around characters only, never around groups: Python 3.11.2, the one of
# Debian 12, matches `(?:.x)*+` wrongly when it has to give a part back.
_ESCAPE: Final = r"\\[!-/:-@\[-`{-~]?+"
_SPACES: Final = re.compile(r"[ \t\r\n]++")
_LINE_REST: Final = re.compile(r"[ \t\r]*+(?:\n|\Z)")
_LABEL: Final = re.compile(rf"\[((?:[^\[\]\\]++|{_ESCAPE})*)\]")
_ANGLE_TARGET: Final = re.compile(rf"<(?:[^>\n\\]++|{_ESCAPE})*>")
_PARENTHESIS: Final = re.compile(rf"[()]|{_ESCAPE}")
_TITLES: Final[Mapping[str, re.Pattern[str]]] = {
    '"': re.compile(rf'"(?:[^"\\]++|{_ESCAPE})*"'),
    "'": re.compile(rf"'(?:[^'\\]++|{_ESCAPE})*'"),
    "(": re.compile(rf"\((?:[^()\\]++|{_ESCAPE})*\)"),
}
_OPEN_TITLE: Final = re.compile(rf"\((?:[^()\\]++|{_ESCAPE})*(?=\()")  # stops at another one


class Definition(NamedTuple):
    """One `[label]: target "title"`."""

    label: str
    lines: tuple[int, int]
    """Its first line, and the one behind its last."""
    next_place: int
    """Where the next one is looked for."""
    is_titled: bool = False


class Targets:
    """Where the link targets of one text end, with all its parentheses looked at once.

    Were each target to count its own, `[](` again and again would take quadratic time.
    """

    def __init__(self, text: str) -> None:
        """Look at the parentheses that are not escaped."""
        self._text = text
        marks = [found for found in _PARENTHESIS.finditer(text) if found[0] in "()"]
        self._places = [found.start() for found in marks]
        depths = [0]
        for found in marks:
            depths.append(depths[-1] + (1 if found[0] == "(" else -1))
        closers: list[int] = []
        next_closer: dict[int, int] = {}
        for found, depth in zip(reversed(marks), depths[-2::-1], strict=True):
            if found[0] == ")":
                next_closer[depth] = found.start()
            closers.append(next_closer.get(depth, len(text)))
        self._closers = closers[::-1]  # of each, the first that closes more than was opened since

    def end(self, start: int) -> int | None:
        """Return where the target that begins here ends; None if there is none.

        One closing parenthesis too many ends it, one too few does not matter.
        """
        if self._text.startswith("<", start):
            angle = _ANGLE_TARGET.match(self._text, start)
            return angle.end() if angle else None
        space = _SPACES.search(self._text, start)
        end = space.start() if space else len(self._text)
        following = bisect_left(self._places, start)
        if following < len(self._places):
            end = min(end, self._closers[following])
        return end if end > start else None


def byte_length(text: str) -> int:
    """Count the bytes of a text as the server does; half a character counts as one of its own."""
    return len(text.encode(errors="surrogatepass"))


def label_match(text: str, start: int) -> re.Match[str] | None:
    """Match a `[label]`, given as group 1; a bracket in it has to be escaped."""
    return _LABEL.match(text, start)


def is_known(label: str, labels: frozenset[str]) -> bool:
    """Tell whether a label is one of those that `take_definitions` found."""
    return byte_length(label) <= MAX_LABEL and _key(label) in labels


def space_end(text: str, start: int) -> int:
    """Return where the blanks and line ends that begin here end."""
    space = _SPACES.match(text, start)
    return space.end() if space else start


def title_end(text: str, start: int) -> int | None:
    """Return where the quoted title that begins here ends; None if there is none."""
    title = _TITLES.get(text[start : start + 1])
    closed = title.match(text, start) if title else None
    return closed.end() if closed else None


def take_definitions(lines: list[str], labels: set[str]) -> list[str]:
    """Note the link definitions of a paragraph; return its lines without them.

    Args:
        lines: of the paragraph, each with its end.
        labels: of all definitions so far, as they are compared; added to.
    """
    if not lines[0].lstrip(BLANKS).startswith("["):
        return lines
    left, taken_to = lines, 0
    for definition in _definitions("".join(lines)):
        labels.add(_key(definition.label))
        first, behind = definition.lines
        # As on the server: a line that stayed between two definitions is not counted.
        left = left[: first - taken_to] + left[behind - taken_to :]
        taken_to = behind
    return left


def _key(label: str) -> str:
    """Return what labels are compared by."""
    return _SPACES.sub(" ", label.strip(BLANKS).casefold())


def _definitions(text: str) -> Iterator[Definition]:
    targets = Targets(text)
    place = 0
    while found := _definition(text, targets, space_end(text, place)):
        yield found
        place = found.next_place


def _definition(text: str, targets: Targets, start: int) -> Definition | None:
    label = _LABEL.match(text, start)
    if not label or not label[1].strip(BLANKS) or not text.startswith(":", label.end()):
        return None
    target = targets.end(space_end(text, label.end() + 1))
    if target is None:
        return None
    ends_line = _LINE_REST.match(text, target) is not None
    place = space_end(text, target)
    lines = (_line(text, start), _line(text, target) + 1)
    if text[place : place + 1] not in _TITLES:
        return Definition(label[1], lines, place) if ends_line else None
    titled = _titled(text, Definition(label[1], lines, place)) if place > target else None
    return titled if ends_line or (titled and titled.is_titled) else None


def _titled(text: str, definition: Definition) -> Definition:
    """Give a definition its title, if what looks like one is."""
    (first, behind), place = definition.lines, definition.next_place
    title = title_end(text, place)
    if title is None:
        return definition._replace(next_place=_next_line(text, _OPEN_TITLE.match(text, place)))
    if _LINE_REST.match(text, title):
        lines = (first, _line(text, title) + 1)
        return Definition(definition.label, lines, title, is_titled=True)
    # Something stands behind it, so it is none; the server then leaves the target's line, too.
    return Definition(definition.label, (first, max(behind - 1, first + 1)), title)


def _next_line(text: str, unclosed: re.Match[str] | None) -> int:
    """Return where the server goes on behind a title that is not closed."""
    line_end = text.find("\n", unclosed.end()) if unclosed else -1
    return line_end + 1 if line_end >= 0 else len(text)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place)
