"""Cut a long answer into parts the server takes."""

from .characters import has_visible
from .fences import Fence, fences_in
from .graphemes import last_boundary
from .inline import unbreakable

__all__ = ["PART_BYTES", "split", "whole_characters"]

PART_BYTES = 9_900  # of UTF-8; the server takes 10,000 bytes
LONGEST_CHARACTER = 4  # bytes of UTF-8
LOOK_AHEAD = 2_048  # characters behind a part in which a link that begins in it may end

Span = tuple[int, int]


def split(text: str, limit: int = PART_BYTES) -> list[str]:
    """Return the text in parts of at most `limit` bytes of UTF-8.

    Cuts at the last line end that fits, else at the last blank, else between characters as
    people see them; never inside fenced code, a code span or a link while there is an earlier
    place. Fenced code that has to be cut is closed at the end of a line and reopened in the
    next part with its language. What a cut falls on (one line end or blank) is dropped, and so
    is a part without a visible character, which the server would refuse; nothing else is.

    Args:
        text: the answer; a lone surrogate becomes the replacement character.
        limit: bytes of one part.

    Returns:
        The parts in order; none of them is empty, none for a text without visible characters.

    Raises:
        ValueError: `limit` is below 4, so that a character may fit into no part.
    """
    if limit < LONGEST_CHARACTER:
        message = f"limit={limit}: a character may need {LONGEST_CHARACTER} bytes"
        raise ValueError(message)
    rest = whole_characters(text)
    parts: list[str] = []
    while len(rest) > limit or len(rest.encode()) > limit:
        part, rest = _take(rest, limit)
        parts.append(part)
    parts.append(rest)
    return [part for part in parts if has_visible(part)]


def whole_characters(text: str) -> str:
    """Join halves of characters; one that is alone becomes the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _take(text: str, limit: int) -> tuple[str, str]:
    """Take one part off a text that is longer than a part; return it and the rest."""
    room = _fitting(text, limit)
    line_end = text.find("\n", room, room + LOOK_AHEAD)
    window = text[: line_end + 1 if line_end >= 0 else room + LOOK_AHEAD]
    fences = fences_in(window)
    cut_fence = next((fence for fence in fences if fence.start < room < fence.end), None)
    if cut_fence is None:
        return _take_of_text(text, room, _protected(window, fences))
    before = text[: cut_fence.start]
    if has_visible(before):
        return before.removesuffix("\n"), cut_fence.alone(text[cut_fence.start :])
    return _take_of_fence(text[cut_fence.start :], cut_fence, limit)


def _take_of_text(text: str, room: int, protected: list[Span]) -> tuple[str, str]:
    """Take a part that ends outside of fenced code."""
    for mark in ("\n", " "):
        # A mark right behind the part is as good as one within it.
        at = text.rfind(mark, 1, room + 1)
        while at > 0 and (span := _around(at, protected)) is not None:
            at = text.rfind(mark, 1, span[0])
        if at > 0:
            return text[:at], text[at + 1 :]
    span = _around(room, protected)
    if span is not None and 0 < span[0] < room:
        room = span[0]
    cut = last_boundary(text, room) or room
    return text[:cut], text[cut:]


def _take_of_fence(text: str, fence: Fence, limit: int) -> tuple[str, str]:
    """Take a part of a text that begins with fenced code longer than a part."""
    closing = "\n" + fence.closing
    room = _fitting(text, limit - len(closing.encode()))
    body = len(fence.opening) + 1
    if room <= body:
        # The language's name fills the part: no code would ever follow it.
        return _take_of_text(text, _fitting(text, limit), [])
    at = text.rfind("\n", body, room + 1)
    if at < 0:
        at = max(last_boundary(text, room), body)
        at = at if at > body else room
        return text[:at] + closing, fence.reopened("\n" + text[at:])
    behind = fence.ends_at(text, at + 1)
    if behind is not None:
        return text[:at] + closing, text[behind:]
    return text[:at] + closing, fence.reopened(text[at:])


def _protected(window: str, fences: list[Fence]) -> list[Span]:
    """Return what is not cut while there is an earlier place."""
    spans: list[Span] = []
    start = 0
    for fence in fences:
        spans += _shifted(unbreakable(window[start : fence.start]), start)
        # The line end behind it is a good place.
        spans.append((fence.start, fence.end - 1))
        start = fence.end
    return spans + _shifted(unbreakable(window[start:]), start)


def _shifted(spans: list[Span], by: int) -> list[Span]:
    return [(start + by, end + by) for start, end in spans]


def _around(at: int, spans: list[Span]) -> Span | None:
    """Return the span that a place lies in; its own beginning is no place in it."""
    return next((span for span in spans if span[0] < at < span[1]), None)


def _fitting(text: str, limit: int) -> int:
    """Return how many characters of a text fit into so many bytes; 0: none."""
    if limit <= 0:
        return 0
    return len(text[:limit].encode()[:limit].decode("utf-8", "ignore"))
