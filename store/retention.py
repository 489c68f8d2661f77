"""Forget what is over for long enough and nothing needs any more, in small batches.

Each function looks at the next rows of a table, in the order in which they were written, removes
what may go and says where the next batch begins. It is meant for one transaction.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlite_utils import Database

__all__ = [
    "PART_ROWS",
    "STEP_ROWS",
    "TURN_ROWS",
    "Batch",
    "Stretch",
    "Table",
    "are_old",
    "newest_receipt",
    "prune_parts",
    "prune_steps",
    "prune_turns",
    "remove_turns",
]

TURNS = """
    select t.message_id,
           -- a part of it is on its way, or was posted so lately that it may be asked for again
           exists (select 1 from outbox as p
                   where p.turn_id = t.message_id and p.scope = t.scope
                     and (p.state in ('pending', 'sending', 'uncertain')
                          or p.updated_at >= :before))
           -- its session holds it, or its answer, behind the frontier: it would be told as news
           or exists (select 1 from threads as h
                      where h.session_key = t.session_key and h.scope = t.scope
                        and (h.frontier_id is null or t.posted_at >= h.frontier_at
                             or t.closed_at >= h.frontier_at))
           -- it says whose follow-ups count
           or t.lane_order = (select l.lane_order from turns as l
                              where l.session_key = t.session_key and l.scope = t.scope
                                and l.state in ('answered', 'silent')
                              order by l.lane_order desc limit 1)
    from turns as t
    where t.scope = :scope and t.lane_order > :after and t.lane_order <= :until
      and t.closed_at < :before
"""

STEPS = """
    delete from transitions
    where scope = :scope and seq > :after and seq <= :until and at < :before
      and not exists (select 1 from turns as t
                      where t.message_id = transitions.message_id and t.scope = transitions.scope
                        and t.closed_at is null)
"""

PARTS = """
    delete from outbox
    where scope = :scope and seq > :after and seq <= :until and updated_at < :before
      and state not in ('pending', 'sending', 'uncertain')
      and not exists (select 1 from turns as t
                      where t.message_id = outbox.turn_id and t.scope = outbox.scope)
"""


class Stretch(NamedTuple):
    """The next rows of a table, and what of them may be forgotten."""

    scope: str
    before: str
    """Nothing that happened at this time or later. At least as far back as edits, redeliveries
    and catching up reach."""
    after: int
    """Where the batch before this one ended; 0: this is the first."""
    rows: int
    """How many are looked at."""


class Table(NamedTuple):
    """Where a table says when a row was written, and in which order."""

    name: str
    key: str
    at: str


TURN_ROWS = Table("turns", "lane_order", "received_at")
PART_ROWS = Table("outbox", "seq", "updated_at")
STEP_ROWS = Table("transitions", "seq", "at")


class Batch(NamedTuple):
    """What one batch did."""

    removed: int
    """Rows of the table, and those that belong to them."""
    after: int | None
    """Where the next one begins; None: there is nothing older than the horizon any more."""


def newest_receipt(db: Database, scope: str) -> str | None:
    """Return when the newest turn was received; None: there is none."""
    sql = (
        "select received_at from turns where scope = ? and lane_order > 0 "
        "order by lane_order desc limit 1"
    )
    found = db.conn.execute(sql, (scope,)).fetchone()
    return str(found[0]) if found else None


def are_old(db: Database, table: Table, stretch: Stretch) -> bool:
    """Tell whether any of the next rows is older than the horizon, without a transaction."""
    sql = (
        f"select min({table.at}) < ? from "  # noqa: S608  our own names
        f"(select {table.at} from {table.name} where {table.key} > ? order by {table.key} limit ?)"
    )
    values = (stretch.before, stretch.after, stretch.rows)
    return bool(db.conn.execute(sql, values).fetchone()[0])


def prune_turns(db: Database, stretch: Stretch) -> Batch:
    """Remove turns at rest, with their parts, room sessions and prompts.

    What a duplicate check, a redelivery, an edit or the frontier of a session needs stays; only
    its words go.
    """
    until, after = _bounds(db, TURN_ROWS, stretch)
    found = db.conn.execute(TURNS, {**stretch._asdict(), "until": until}).fetchall()
    removed = remove_turns(db, stretch.scope, [id_ for id_, is_needed in found if not is_needed])
    _forget_words(db, stretch.scope, [id_ for id_, is_needed in found if is_needed])
    return Batch(removed, after)


def prune_parts(db: Database, stretch: Stretch) -> Batch:
    """Remove parts that belong to no turn and are not on their way."""
    until, after = _bounds(db, PART_ROWS, stretch)
    removed = db.conn.execute(PARTS, {**stretch._asdict(), "until": until})
    return Batch(removed.rowcount, after)


def prune_steps(db: Database, stretch: Stretch) -> Batch:
    """Remove transitions, but those of turns that are not at rest."""
    until, after = _bounds(db, STEP_ROWS, stretch)
    removed = db.conn.execute(STEPS, {**stretch._asdict(), "until": until})
    return Batch(removed.rowcount, after)


def _bounds(db: Database, table: Table, stretch: Stretch) -> tuple[int, int | None]:
    """Return the last key of the next rows, and where to go on.

    A row that is out of time, as a clock that jumped leaves it, ends nothing: only a whole batch
    of younger rows does.
    """
    name, key, at = table
    sql = (
        f"select max({key}), count(*), min({at}) from "  # noqa: S608  our own names
        f"(select {key}, {at} from {name} where {key} > ? order by {key} limit ?)"
    )
    until, count, oldest = db.conn.execute(sql, (stretch.after, stretch.rows)).fetchone()
    is_last = count < stretch.rows or oldest >= stretch.before
    return until or stretch.after, None if is_last else until


def remove_turns(db: Database, scope: str, message_ids: Sequence[str]) -> int:
    """Remove turns and all that belongs to them; return how many rows went."""
    if not message_ids:
        return 0  # SQLite would walk the tables for a list of nothing
    marks = ", ".join("?" * len(message_ids))
    removed = 0
    # A prompt has the key of the part that shows it.
    shown = f"select outbox_id from outbox where scope = ? and turn_id in ({marks})"  # noqa: S608
    prompts = f"delete from prompts where scope = ? and outbox_id in ({shown})"  # noqa: S608
    removed += db.conn.execute(prompts, (scope, scope, *message_ids)).rowcount
    for table, column in (
        ("outbox", "turn_id"),
        ("room_sessions", "message_id"),
        ("turns", "message_id"),
    ):
        sql = f"delete from {table} where scope = ? and {column} in ({marks})"  # noqa: S608
        removed += db.conn.execute(sql, (scope, *message_ids)).rowcount
    return removed


def _forget_words(db: Database, scope: str, message_ids: Sequence[str]) -> None:
    if not message_ids:
        return
    marks = ", ".join("?" * len(message_ids))
    for table, column, where in (
        ("turns", "message_id", ""),
        ("outbox", "turn_id", "and state not in ('pending', 'sending', 'uncertain')"),
    ):
        sql = (
            f"update {table} set body = null where scope = ? and {column} in ({marks}) "  # noqa: S608
            f"and body is not null {where}"
        )
        db.conn.execute(sql, (scope, *message_ids))
