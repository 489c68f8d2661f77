"""Where a text may be cut so that no character, as people see it, is torn."""

from wcwidth import iter_graphemes

__all__ = ["last_boundary"]


def last_boundary(text: str, at: int) -> int:
    """Return the last place up to `at` that lies between two grapheme clusters.

    A cluster is what people take for one character: a letter with its accents, an emoji made of
    several, a flag. Reads from the beginning, since what a cluster is depends on what is before.

    Args:
        text: the text.
        at: where it would be cut, in characters.

    Returns:
        0 where the first cluster reaches beyond `at`.

    Source: Unicode Standard Annex 29, as wcwidth reads it.
    """
    end = 0
    # One character more: it may belong to the cluster before it.
    for cluster in iter_graphemes(text[: at + 1]):
        if end + len(cluster) > at:
            break
        end += len(cluster)
    return end
