"""Where a text may be cut so that no character, as people see it, is torn."""

from wcwidth import iter_graphemes

__all__ = ["last_boundary"]


def last_boundary(text: str, at: int) -> int:
    """Return the last place up to `at` that lies between two grapheme clusters.

    A cluster is what people take for one character: a letter with its accents, an emoji made of
    several, a flag.

    Args:
        text: the text.
        at: where it would be cut, in characters.

    Returns:
        0 where the first cluster reaches beyond `at`.

    Source: Unicode Standard Annex 29, as wcwidth reads it.
    """
    if at >= len(text):
        return len(text)
    start = _certain_boundary(text, at)
    end = start
    # A few characters more: what follows may belong to the cluster that ends there.
    for cluster in iter_graphemes(text[start : at + 1]):
        if end + len(cluster) > at:
            return end
        end += len(cluster)
    return end


def _certain_boundary(text: str, at: int) -> int:
    """Return a place before `at` that is a boundary whatever stands around it.

    Between two plain characters there is always one, but for CR LF; what lies before it need
    not be read.
    """
    while at > 1 and not (_is_plain(text[at - 2]) and _is_plain(text[at - 1])):
        at -= 1
    return at - 1 if at > 1 else 0


def _is_plain(char: str) -> bool:
    return " " <= char <= "~"
