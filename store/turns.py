"""The table `turns`: one row per message that could become a run of the agent."""

from collections.abc import Collection
from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_all, fetch_one, insert, update

__all__ = [
    "TurnRow",
    "find",
    "find_all",
    "in_lane",
    "last_answered",
    "last_before",
    "left_signs",
    "left_unsigned",
    "newest",
    "not_closed",
    "of_author",
    "questions_of",
    "receive",
    "save",
    "show",
]

KEYS = ("scope", "message_id")


class TurnRow(NamedTuple):
    """One turn."""

    scope: str
    message_id: str
    room_id: str
    room_name: str | None
    """As it was called at the receipt; None: a direct conversation, it has none."""
    room_kind: str
    """`channel` or `direct`."""
    thread_root_id: str | None
    """Root of the thread it is answered in; None in a direct conversation."""
    session_key: str
    author_id: str
    author_name: str
    body: str | None
    """What the person wrote; None once the turn is closed and nothing needs it any more."""
    digest: str
    """Of text and attachment IDs: tells whether an edit changed anything."""
    attachment_ids: str
    """JSON list."""
    in_reply_to: str | None
    posted_at: str
    """The server's time of the message."""
    received_at: str
    """Our time of the receipt."""
    lane_order: int
    """Order of receipt over all lanes; given by `receive`, never changed."""
    state: str
    reason: str | None
    cause: str | None
    attempt: int
    carrier_id: str | None
    ends_as: str | None
    ended_by: str | None
    ended_with: str | None
    thread_before: str | None
    """State of the thread before this turn's hand-over; None: not handed over yet."""
    frontier_before: str | None
    """Frontier of the thread before this turn's hand-over; None: none was known."""
    holding_before: str | None
    """What else the thread's row said then, as JSON; undoing the hand-over puts it back."""
    session_token: str | None
    """The conversation that holds it; None: none does (not handed over, or that was undone)."""
    command: str | None
    """Name of the command it is, with its slash; None: it is none."""
    asks: int
    """1: it is a command that has the agent run, so a question as far as limits go; else 0."""
    sign: str | None
    """The reaction that shows on the message; None: none."""
    let_in_by: str | None
    """Which entry or rule let its author in; None: none did, it is the gateway's to answer."""
    updated_at: str
    closed_at: str | None
    """When it came to rest; None while something is still to be done about it."""


def receive(db: Database, row: TurnRow) -> None:
    """Write the receipt of a message, with the next place in the order of receipt.

    Raises:
        sqlite3.IntegrityError: the message has a row already.
    """
    insert(db, "turns", row, but=("lane_order",))


def save(db: Database, row: TurnRow) -> None:
    """Give the row of a turn these values.

    Raises:
        MissingRowError: the message has no receipt.
    """
    update(db, "turns", row, KEYS, but=("lane_order", "sign"))


def show(db: Database, scope: str, message_id: str, sign: str | None) -> None:
    """Note which reaction shows on a message."""
    sql = "update turns set sign = ? where scope = ? and message_id = ?"
    db.conn.execute(sql, (sign, scope, message_id))


def of_author(db: Database, scope: str, author_id: str) -> list[TurnRow]:
    """Return the turns of an author that are not at rest, in order of receipt."""
    where = "scope = ? and author_id = ? and closed_at is null order by lane_order"
    return fetch_all(db, TurnRow, "turns", where, (scope, author_id))


def questions_of(db: Database, scope: str, author_id: str, since: str) -> tuple[int, int]:
    """Count the questions of an author: those that wait, and those received since a moment.

    What was refused is no question, nor is a command unless it has the agent run; what still
    runs does not wait. What such a command asked waits, at the gateway, as long as a turn of its
    lane that came before it is open.
    """
    of_author = "select count(*) from turns as t where author_id = ? and scope = ? and "
    is_behind = (
        "exists (select 1 from turns as b where b.scope = t.scope and b.closed_at is null "
        "and b.session_key = t.session_key and b.lane_order < t.lane_order)"
    )
    waiting = f"""{of_author} (
        (closed_at is null and state in ('received', 'admitted', 'queued'))
        or (asks = 1 and state in ('held', 'bypassed') and {is_behind})
    )"""
    recent = f"""{of_author} received_at >= ? and state <> 'refused'
        and (asks = 1 or state not in ('held', 'bypassed'))"""
    (waits,) = db.conn.execute(waiting, (author_id, scope)).fetchone()
    (count,) = db.conn.execute(recent, (author_id, scope, since)).fetchone()
    return int(waits), int(count)


def last_before(db: Database, row: TurnRow) -> TurnRow | None:
    """Return the question of the same author that was received right before one, or None."""
    where = (
        "author_id = ? and scope = ? and received_at <= ? and message_id <> ? "
        "and state <> 'bypassed' order by received_at desc, lane_order desc"
    )
    values = (row.author_id, row.scope, row.received_at, row.message_id)
    return fetch_one(db, TurnRow, "turns", where, values)


def left_signs(db: Database, scope: str) -> list[TurnRow]:
    """Return the turns at rest on whose message a reaction shows."""
    where = "scope = ? and sign is not null and closed_at is not null"
    return fetch_all(db, TurnRow, "turns", where, (scope,))


def left_unsigned(db: Database, scope: str, since: str) -> list[TurnRow]:
    """Return the turns that ended without an answer since then, and show no reaction."""
    # The list of states stands like this in the index `turns_unsigned`.
    where = (
        "scope = ? and closed_at >= ? and sign is null "
        "and state in ('failed', 'cancelled', 'expired', 'refused')"
    )
    return fetch_all(db, TurnRow, "turns", where, (scope, since))


def find(db: Database, scope: str, message_id: str) -> TurnRow | None:
    """Return the turn of a message, or None."""
    return fetch_one(db, TurnRow, "turns", "scope = ? and message_id = ?", (scope, message_id))


def find_all(db: Database, scope: str, message_ids: Collection[str]) -> dict[str, TurnRow]:
    """Return the turns these messages have, by message ID."""
    marks = ", ".join("?" * len(message_ids))
    where = f"scope = ? and message_id in ({marks})"
    rows = fetch_all(db, TurnRow, "turns", where, (scope, *message_ids))
    return {row.message_id: row for row in rows}


def held_among(
    db: Database, scope: str, session_key: str, session_token: str, message_ids: Collection[str]
) -> frozenset[str]:
    """Return which of these messages are not told to a conversation beside another.

    Its own triggers, also those that wait: told now, their words would stay in the transcript
    when they are changed or deleted before their run. And commands: they ran, and are no part of
    any conversation.
    """
    marks = ", ".join("?" * len(message_ids))
    sql = (
        f"select message_id from turns where scope = ? and message_id in ({marks}) "  # noqa: S608
        "and session_key = ? "
        "and (session_token = ? or state in ('bypassed', 'held', 'admitted', 'queued'))"
    )
    found = db.conn.execute(sql, (scope, *message_ids, session_key, session_token))
    return frozenset(message_id for (message_id,) in found)


def last_command(
    db: Database, scope: str, session_key: str, names: Collection[str]
) -> TurnRow | None:
    """Return the newest command of a session key with one of these names, or None.

    Args:
        db: the state file.
        scope: the profile.
        session_key: the gateway's key.
        names: in lower case, with their slash.
    """
    marks = ", ".join("?" * len(names))
    where = (
        "scope = ? and session_key = ? and state = 'bypassed' "
        f"and lower(command) in ({marks}) order by lane_order desc"
    )
    return fetch_one(db, TurnRow, "turns", where, (scope, session_key, *names))


def gave_commands(
    db: Database, scope: str, session_key: str, since: int, but: Collection[str]
) -> frozenset[str]:
    """Return whose commands of a session key were received after a turn.

    Args:
        db: the state file.
        scope: the profile.
        session_key: the gateway's key.
        since: `lane_order` of the turn.
        but: commands that do not count, in lower case, with their slash.
    """
    marks = ", ".join("?" * len(but))
    sql = (
        "select distinct author_id from turns where scope = ? and session_key = ? "  # noqa: S608
        f"and state = 'bypassed' and lane_order > ? and lower(command) not in ({marks})"
    )
    found = db.conn.execute(sql, (scope, session_key, since, *but))
    return frozenset(author_id for (author_id,) in found)


def newest_held(db: Database, scope: str, session_key: str, session_token: str) -> int:
    """Return the `lane_order` of the newest turn a conversation holds; 0: it holds none."""
    sql = (
        "select coalesce(max(lane_order), 0) from turns "
        "where scope = ? and session_key = ? and session_token = ?"
    )
    found = db.conn.execute(sql, (scope, session_key, session_token)).fetchone()
    return int(found[0])


def in_lane(db: Database, scope: str, session_key: str) -> list[TurnRow]:
    """Return the turns of a session key that are not closed, in order of receipt."""
    where = "scope = ? and session_key = ? and closed_at is null order by lane_order"
    return fetch_all(db, TurnRow, "turns", where, (scope, session_key))


def newest(db: Database, scope: str) -> TurnRow | None:
    """Return the turn that was received last, or None."""
    where = "lane_order > 0 and scope = ? order by lane_order desc"
    return fetch_one(db, TurnRow, "turns", where, (scope,))


def not_closed(db: Database, scope: str) -> list[TurnRow]:
    """Return all turns that are not closed, in order of receipt."""
    where = "scope = ? and closed_at is null order by lane_order"
    return fetch_all(db, TurnRow, "turns", where, (scope,))


def last_answered(
    db: Database, scope: str, session_key: str, *, until: str | None = None
) -> TurnRow | None:
    """Return the newest turn of a session key that was answered, or None.

    Args:
        db: the state file.
        scope: the profile.
        session_key: the gateway's key.
        until: the latest time its message was posted; None: any.
    """
    # The list of states stands like this in the index `turns_answered`, or SQLite walks the lane.
    where = (
        "scope = ? and session_key = ? and state in ('answered', 'silent') "
        "and (? is null or posted_at <= ?) order by lane_order desc"
    )
    return fetch_one(db, TurnRow, "turns", where, (scope, session_key, until, until))
