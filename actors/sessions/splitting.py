"""Cut a long answer into parts the server takes."""

from .characters import has_visible

__all__ = ["PART_BYTES", "split"]

PART_BYTES = 9_900  # of UTF-8; the server takes 10,000 bytes, the rest is room for later marks
LONGEST_CHARACTER = 4  # bytes of UTF-8


def split(text: str, limit: int = PART_BYTES) -> list[str]:
    """Return the text in parts of at most `limit` bytes of UTF-8.

    Cuts at the last line end that fits, else at the last blank, else between characters. What
    a cut falls on (one line end or blank) is dropped, and so is a part without a visible
    character, which the server would refuse; nothing else is.

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
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    parts: list[str] = []
    start = 0
    while start < len(whole):
        end = start + _fitting(whole[start : start + limit], limit)
        cut, following = _cut(whole, start, end)
        parts.append(whole[start:cut])
        start = following
    return [part for part in parts if has_visible(part)]


def _fitting(head: str, limit: int) -> int:
    """Return how many characters of a text fit into a part."""
    return len(head.encode()[:limit].decode("utf-8", "ignore"))


def _cut(whole: str, start: int, end: int) -> tuple[int, int]:
    """Return where a part that may reach up to `end` ends, and where the next one begins."""
    if end == len(whole):
        return end, end
    for mark in ("\n", " "):
        # A mark right behind the part is as good as one within it.
        at = whole.rfind(mark, start + 1, end + 1)
        if at > 0:
            return at, at + 1
    return end, end
