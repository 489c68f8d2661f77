"""How a written setting becomes a value: one reader per kind, the same for every way.

A variable gives text, `config.yaml` gives whatever YAML made of it; both end here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

__all__ = ["JunkError", "Kind", "MalformedError", "Secret", "Value", "read_value"]

SHORTCODE = re.compile(r"[a-z0-9_+-]+")
WHOLE_NUMBER = re.compile(r"[0-9]{1,40}(?:\.0{1,40})?")
LARGEST = 1_000_000_000  # 30 years in seconds; far larger ones are no time the clock can tell
QUOTES = "\"'"
TRUE_WORDS = frozenset({"true", "yes", "on", "1"})
FALSE_WORDS = frozenset({"false", "no", "off", "0"})


class Kind(Enum):
    """What a setting may hold; the values are the words of the settings table."""

    TEXT = "text"
    SECRET = "secret"  # noqa: S105 - the name of a kind, not a secret
    BOOL = "bool"
    INT = "int"
    SECONDS = "seconds"
    CHOICE = "choice"
    LIST = "list"
    ROOM_MAP = "room map"
    EMOJI = "emoji"


class JunkError(ValueError):
    """The value is none of its kind; the text says what the kind takes."""


class MalformedError(ValueError):
    """The value has another structure than its kind; the text says which one it should have."""


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """Text that reaches no log, row, error text or command output."""

    _text: str

    def reveal(self) -> str:
        """Return the text, for the call that needs it and for nothing else."""
        return self._text

    def __repr__(self) -> str:
        """Return the same for every secret."""
        return "Secret(***)"


Value = str | int | bool | Secret | tuple[str, ...] | None


def read_value(kind: Kind, raw: object, choices: Sequence[str] = ()) -> Value:
    """Read what the operator wrote. Blanks around it never matter.

    Args:
        kind: what it should be.
        raw: text of a variable, or a value out of YAML.
        choices: for `Kind.CHOICE`, the words it takes, in lower case.

    Raises:
        JunkError: none of the kind; the default applies.
        MalformedError: another structure; nobody can tell what was meant.
    """
    value = raw.strip() if isinstance(raw, str) else raw
    if kind is Kind.CHOICE:
        return _choice(value, choices)
    return READERS[kind](value)


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        message = "a text"
        raise JunkError(message)
    return str(value)


def _secret(value: object) -> Secret:
    return Secret(_text(value))


def _bool(value: object) -> bool:
    word = str(value).strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    message = "true or false"
    raise JunkError(message)


def _int(value: object) -> int:
    if isinstance(value, str) and WHOLE_NUMBER.fullmatch(value):
        value = int(value.partition(".")[0])
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_in_range = 0 <= value <= LARGEST  # false for what is no number at all
        if is_in_range and value == int(value):
            return int(value)
    message = "a whole number, 0 or more, up to 1000000000"
    raise JunkError(message)


def _choice(value: object, choices: Sequence[str]) -> str:
    word = str(value).lower()
    if isinstance(value, bool) and not value:
        word = "off"  # YAML 1.1 reads a bare `off` as false
    if word not in choices:
        message = "one of " + ", ".join(choices)
        raise JunkError(message)
    return word


def _emoji(value: object) -> str | None:
    """Read the shortcode of an emoji; `off` is none."""
    if value is False:  # YAML 1.1 reads a bare `off` as false
        return None
    word = str(value).strip().strip(":").lower()
    if word == "off":
        return None
    if not SHORTCODE.fullmatch(word):
        message = "the shortcode of an emoji, for example eyes, or off"
        raise JunkError(message)
    return word


def _list(value: object) -> tuple[str, ...]:
    """Read a list; None (a key with nothing behind it) is a list without items."""
    if value is None:
        return ()
    if isinstance(value, str):
        inner = value[1:-1] if value[:1] == "[" and value[-1:] == "]" else value
        return _items(re.split(r"[,\n]", inner))
    if isinstance(value, Mapping) or not isinstance(value, Sequence):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return (str(value),)
        message = "a list: items with commas between them, or a YAML list"
        raise MalformedError(message)
    return _items([_list_item(item) for item in value])


def _list_item(item: object) -> str:
    if item is None:
        return ""
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        message = "a list of names, without lists or maps inside"
        raise MalformedError(message)
    return str(item)


def _items(parts: Sequence[str]) -> tuple[str, ...]:
    bare = (part.strip().strip(QUOTES).strip() for part in parts)
    return tuple(dict.fromkeys(item for item in bare if item))


READERS: Mapping[Kind, Callable[[object], Value]] = {
    Kind.TEXT: _text,
    Kind.SECRET: _secret,
    Kind.BOOL: _bool,
    Kind.INT: _int,
    Kind.SECONDS: _int,
    Kind.LIST: _list,
    Kind.EMOJI: _emoji,
}
