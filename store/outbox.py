"""The table `outbox`: the parts of everything the plugin posts, confirmed or not."""

from collections.abc import Collection
from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_all, fetch_one, insert, update

__all__ = [
    "PartRow",
    "TextRow",
    "add",
    "answers_at",
    "find",
    "not_closed",
    "of_delivery",
    "of_turn",
    "own_among",
    "posted_in",
    "save",
]

KEYS = ("scope", "outbox_id")


class PartRow(NamedTuple):
    """One part of one delivery."""

    scope: str
    outbox_id: str
    """Delivery ID and part number."""
    delivery_id: str
    turn_id: str | None
    """Trigger of the turn it belongs to; None: posted outside a turn."""
    kind: str
    """`answer` (ends the turn), `interim` (during a turn), `other` (outside one)."""
    part: int
    """From 1."""
    parts: int
    room_id: str
    thread_root_id: str | None
    in_reply_to: str | None
    body: str | None
    """What is posted; None once it was delivered."""
    bytes: int
    """Length of the body in UTF-8."""
    digest: str
    """SHA-256 of the body, hexadecimal."""
    state: str
    reason: str | None
    attempt: int
    message_id: str | None
    created_at: str
    updated_at: str
    text_bytes: int | None = None
    """Length in UTF-8 of the whole text it is a part of, as it was handed over; None: not kept."""
    text_digest: str | None = None
    """SHA-256 of that text, hexadecimal; None: not kept."""


class TextRow(NamedTuple):
    """A text that was handed over, without its words."""

    delivery_id: str
    text_bytes: int
    text_digest: str


def add(db: Database, row: PartRow) -> None:
    """Write a new part.

    Raises:
        sqlite3.IntegrityError: this part of the delivery is there already.
    """
    insert(db, "outbox", row)


def save(db: Database, row: PartRow) -> None:
    """Give the row of a part these values.

    Raises:
        MissingRowError: there is no such part.
    """
    update(db, "outbox", row, KEYS)


def find(db: Database, scope: str, outbox_id: str) -> PartRow | None:
    """Return a part, or None."""
    return fetch_one(db, PartRow, "outbox", "scope = ? and outbox_id = ?", (scope, outbox_id))


def of_delivery(db: Database, scope: str, delivery_id: str) -> list[PartRow]:
    """Return the parts of a delivery, in order."""
    where = "scope = ? and delivery_id = ? order by part"
    return fetch_all(db, PartRow, "outbox", where, (scope, delivery_id))


def of_turn(db: Database, scope: str, turn_id: str) -> list[PartRow]:
    """Return what was posted for a turn, in order of making."""
    where = "scope = ? and turn_id = ? order by seq"
    return fetch_all(db, PartRow, "outbox", where, (scope, turn_id))


def answers_at(  # noqa: PLR0913 - a place and a time are four columns
    db: Database, scope: str, room_id: str, thread_root_id: str | None, *, since: str, opened: str
) -> list[TextRow]:
    """Return the answers of a place that may be handed over once more, newest first, at most 200.

    Args:
        db: the state.
        scope: the profile.
        room_id: the room.
        thread_root_id: the thread; None: the room itself, or a direct conversation.
        since: no older ones.
        opened: when this process began: of what was planned since then, whoever wanted it was
            told when it was out as a whole, so only what is not counts.
    """
    rows = db.conn.execute(
        "select delivery_id, text_bytes, text_digest from outbox "
        "where scope = ? and room_id = ? and thread_root_id is ? and kind = 'answer' "
        "and created_at >= ? and text_digest is not null "
        "group by delivery_id having min(created_at) < ? or sum(state != 'delivered') > 0 "
        "order by min(seq) desc limit 200",
        (scope, room_id, thread_root_id, since, opened),
    )
    return [TextRow(*row) for row in rows]


def not_closed(db: Database, scope: str) -> list[PartRow]:
    """Return the parts that are neither delivered nor superseded, in order of making."""
    where = "scope = ? and state not in ('delivered', 'superseded') order by seq"
    return fetch_all(db, PartRow, "outbox", where, (scope,))


def own_among(db: Database, scope: str, message_ids: Collection[str]) -> frozenset[str]:
    """Return which of these messages are parts of ours."""
    marks = ", ".join("?" * len(message_ids))
    rows = db.conn.execute(
        f"select message_id from outbox where scope = ? and message_id in ({marks})",  # noqa: S608
        (scope, *message_ids),
    )
    return frozenset(message_id for (message_id,) in rows)


def spoken_among(
    db: Database, scope: str, session_key: str, session_token: str, message_ids: Collection[str]
) -> frozenset[str]:
    """Return which of these messages a conversation's own turns posted: it holds them."""
    marks = ", ".join("?" * len(message_ids))
    sql = (
        "select outbox.message_id from outbox "  # noqa: S608
        "join turns on turns.scope = outbox.scope and turns.message_id = outbox.turn_id "
        f"where outbox.scope = ? and outbox.message_id in ({marks}) "
        "and outbox.kind != 'other' and turns.session_key = ? and turns.session_token = ?"
    )
    found = db.conn.execute(sql, (scope, *message_ids, session_key, session_token))
    return frozenset(message_id for (message_id,) in found)


def posted_in(db: Database, scope: str, room_id: str) -> frozenset[str]:
    """Return the messages of a room that parts became; the newest thousand."""
    rows = db.conn.execute(
        "select message_id from outbox where scope = ? and room_id = ? "
        "and message_id is not null order by seq desc limit 1000",
        (scope, room_id),
    )
    return frozenset(message_id for (message_id,) in rows)
