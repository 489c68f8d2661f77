"""Timelines: page cursors, and which rows a page holds.

Rooms and threads are lists by sequence, so every page is found by bisection and cut out.
Source: Chatto 0.4.20, cli/internal/core/room_events.go, cli/internal/core/threads.go,
cli/internal/connectapi/room_timeline.go.
"""

import base64
import binascii
import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from operator import attrgetter
from typing import Generic, TypeVar

from .refusals import Reason, invalid, refused
from .rows import Row

DEFAULT_LIMIT, MAX_LIMIT = 50, 500  # rows of a page
PREFIX, DECIMAL_PREFIX = "tl:", "seq:"
CURSOR_VERSION = 1
CURSOR_BYTES = 9  # version and a 64-bit sequence
LARGEST = 2**64 - 1

RowT = TypeVar("RowT", bound=Row)
_sequence = attrgetter("sequence")


class Direction(Enum):
    """Which way from its cursor a page lies."""

    NEWEST = auto()
    """No cursor was given: the end of the timeline."""
    BEFORE = auto()
    AFTER = auto()


@dataclass(frozen=True, slots=True)
class Position:
    """What a page request points at."""

    direction: Direction
    sequence: int = 0
    """0 is no bound, but for AFTER in a room: there it is the beginning."""


@dataclass(frozen=True, slots=True)
class Slice(Generic[RowT]):
    """The rows of a page, oldest first, and what lies beyond."""

    rows: Sequence[RowT]
    has_older: bool
    has_newer: bool
    target_index: int = 0
    """Where the anchor stands, for a window around one."""


def page_limit(asked: int) -> int:
    """Return how many rows a page may hold: 50 for nothing asked, 500 at most."""
    return min(asked, MAX_LIMIT) if asked > 0 else DEFAULT_LIMIT


def write_cursor(sequence: int) -> str:
    """Return the page cursor of a row."""
    raw = struct.pack(">BQ", CURSOR_VERSION, sequence)
    return PREFIX + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def read_cursor(cursor: str) -> int:
    """Return the sequence in a page cursor; an empty one is 0.

    Raises:
        RefusedError: it is no cursor; a message ID is none either.
    """
    if not cursor:
        return 0
    if cursor.startswith(DECIMAL_PREFIX):
        return _decimal(cursor.removeprefix(DECIMAL_PREFIX))
    if not cursor.startswith(PREFIX):
        raise refused(Reason.BAD_CURSOR)
    raw = _decoded(cursor.removeprefix(PREFIX))
    if len(raw) != CURSOR_BYTES or raw[0] != CURSOR_VERSION:
        raise refused(Reason.BAD_CURSOR)
    sequence: int = struct.unpack_from(">Q", raw, 1)[0]
    return sequence


def room_page(rows: Sequence[RowT], position: Position, limit: int) -> Slice[RowT]:
    """Cut a page out of a room."""
    if position.direction is Direction.AFTER:
        return _after(rows, position.sequence, limit)
    return _newest(rows, position, limit)


def thread_page(replies: Sequence[RowT], position: Position, limit: int) -> Slice[RowT]:
    """Cut a page out of the replies of a thread; here sequence 0 never is a bound."""
    if position.direction is Direction.AFTER and position.sequence:
        return _after(replies, position.sequence, limit)
    return _newest(replies, position, limit)


def around(rows: Sequence[RowT], anchor: Row, limit: int) -> Slice[RowT]:
    """Cut a window around a row; it is pushed inward at both ends, so that it stays full.

    Raises:
        RefusedError: the anchor does not stand in these rows.
    """
    index = bisect_left(rows, anchor.sequence, key=_sequence)
    if index == len(rows) or rows[index] is not anchor:
        raise refused(Reason.NO_MESSAGE)
    start = max(0, min(index - (limit - 1) // 2, len(rows) - limit))
    end = min(start + limit, len(rows))
    return Slice(rows[start:end], start > 0, end < len(rows), index - start)


def beginning(rows: Sequence[RowT], limit: int) -> Slice[RowT]:
    """Cut the first rows out."""
    return Slice(rows[:limit], has_older=False, has_newer=len(rows) > limit)


def take_out(rows: list[Row], row: Row) -> None:
    """Remove a row from a timeline it stands in."""
    del rows[bisect_left(rows, row.sequence, key=_sequence)]


def _after(rows: Sequence[RowT], sequence: int, limit: int) -> Slice[RowT]:
    start = bisect_right(rows, sequence, key=_sequence)
    has_newer = len(rows) > start + limit
    return Slice(rows[start : start + limit], has_older=True, has_newer=has_newer)


def _newest(rows: Sequence[RowT], position: Position, limit: int) -> Slice[RowT]:
    end = len(rows)
    if position.direction is Direction.BEFORE and position.sequence:
        end = bisect_left(rows, position.sequence, key=_sequence)
    start = max(0, end - limit)
    is_before = position.direction is Direction.BEFORE
    return Slice(rows[start:end], has_older=start > 0, has_newer=is_before)


def _decimal(digits: str) -> int:
    trouble = ""
    if not re.fullmatch(r"[0-9]+", digits):
        trouble = "invalid syntax"
    elif int(digits) > LARGEST:
        trouble = "value out of range"
    if trouble:
        text = f'invalid cursor sequence: strconv.ParseUint: parsing "{digits}": {trouble}'
        raise invalid(text)
    return int(digits)


def _decoded(text: str) -> bytes:
    """Decode unpadded base64; the refusal counts as the server's decoder does."""
    bad = re.search(r"[^A-Za-z0-9_-]", text)
    at = bad.start() if bad else len(text) - len(text) % 4
    if bad is None and len(text) % 4 != 1:
        try:
            return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except binascii.Error:
            at = 0
    text = f"invalid cursor encoding: illegal base64 data at input byte {at}"
    raise invalid(text)
