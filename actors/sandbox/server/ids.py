"""Identifiers: a prefix letter and fourteen characters of `0-9A-Za-z`.

On a real server they are random and tell nothing of the order in which things were made. The
default source here goes one step further: message IDs sort **against** time, so that code
which orders messages by ID fails at once instead of now and then.

Source: Chatto 0.4.20, docs/adr/ADR-022, docs/adr/ADR-026.
"""

import random
from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in sort order
LENGTH = 14  # characters after the prefix
LEADING = 6  # of them count down in message IDs, the rest is random


class IdKind(StrEnum):
    """What an ID names; messages and other events share the prefix `E`."""

    USER = "user"
    ROOM = "room"
    GROUP = "group"
    MESSAGE = "message"
    EVENT = "event"
    NOTIFICATION = "notification"
    ASSET = "asset"


PREFIXES: Mapping[IdKind, str] = {
    IdKind.USER: "U",
    IdKind.ROOM: "R",
    IdKind.GROUP: "G",
    IdKind.MESSAGE: "E",
    IdKind.EVENT: "E",
    IdKind.NOTIFICATION: "N",
    IdKind.ASSET: "A",
}


class IdSource(Protocol):
    """Where the server takes its identifiers from."""

    def new(self, kind: IdKind) -> str:
        """Return an ID never given before."""
        ...


class DescendingIds:
    """IDs that look random; those of messages sort against the time they were made.

    Those of joins and of the room's own life stay random, so a whole timeline sorts neither
    way, as on a real server.
    """

    def __init__(self, seed: int | None = None) -> None:
        """Start a sequence of IDs.

        Args:
            seed: the same seed gives the same IDs; None gives different ones every time.
        """
        self._random = random.Random(seed)  # noqa: S311  # names, not secrets
        ceiling = len(ALPHABET) ** LEADING
        self._countdown = self._random.randrange(ceiling // 2, ceiling)

    def new(self, kind: IdKind) -> str:
        """Return an ID never given before (with fourteen random characters: almost surely)."""
        if kind is not IdKind.MESSAGE:
            return PREFIXES[kind] + self._characters(LENGTH)
        self._countdown -= 1
        leading = _in_alphabet(self._countdown, LEADING)
        return PREFIXES[kind] + leading + self._characters(LENGTH - LEADING)

    def _characters(self, count: int) -> str:
        return "".join(self._random.choices(ALPHABET, k=count))


def _in_alphabet(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
