"""Characters nobody sees."""

import unicodedata

__all__ = ["has_visible", "trim"]


def trim(text: str) -> str:
    """Cut white space and invisible characters off both ends."""
    start, end = 0, len(text)
    while start < end and _is_invisible(text[start]):
        start += 1
    while end > start and _is_invisible(text[end - 1]):
        end -= 1
    return text[start:end]


def has_visible(text: str) -> bool:
    """Tell whether the server would take this as a body.

    Source: Chatto 0.4.20, cli/internal/core/validation.go: white space, format (Cf) and control
    (Cc) characters do not count.
    """
    return any(not _is_invisible(char) for char in text)


def _is_invisible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in {"Cf", "Cc"}
