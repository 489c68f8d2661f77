"""Cut a long answer into parts the server takes."""

from .characters import has_visible

__all__ = ["PART_BYTES", "split"]

PART_BYTES = 9_900  # of UTF-8; the server takes 10,000 bytes, the rest is room for later marks


def split(text: str, limit: int = PART_BYTES) -> list[str]:
    """Return the text in parts of at most `limit` bytes of UTF-8.

    Cuts at the last line end that fits, else at the last blank, else between characters. What
    a cut falls on (one line end or blank) is dropped; nothing else is.

    Args:
        text: the answer; a lone surrogate becomes the replacement character.
        limit: bytes of one part, at least 4.

    Returns:
        The parts in order; none of them is empty, none for a text without visible characters.
    """
    rest = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    parts: list[str] = []
    while len(rest.encode()) > limit:
        head = rest.encode()[:limit].decode("utf-8", "ignore")
        cut, skip = _last_break(head)
        if cut <= 0:
            cut, skip = len(head), 0
        parts.append(rest[:cut])
        rest = rest[cut + skip :]
    parts.append(rest)
    return [part for part in parts if has_visible(part)]


def _last_break(head: str) -> tuple[int, int]:
    """Return where to cut and how many characters the cut swallows."""
    for mark in ("\n", " "):
        at = head.rfind(mark)
        if at > 0:
            return at, 1
    return 0, 0
