"""The table `loops`: how many turns programs caused since a person wrote."""

from collections.abc import Collection
from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_all, upsert

__all__ = [
    "PAIR",
    "THREAD",
    "LoopRow",
    "are_idle",
    "forget",
    "forget_idle",
    "in_question",
    "save",
]

KEYS = ("kind", "key", "scope")
THREAD, PAIR = "thread", "pair"


class LoopRow(NamedTuple):
    """One counter: of a thread, or of the agent and one program wherever they meet."""

    scope: str
    kind: str
    key: str
    """Of a thread its session key, of a pair the user ID of the program."""
    room_id: str
    """Where the newest of its turns was."""
    turns: int
    last_at: str


def in_question(
    db: Database, scope: str, room_id: str, program_ids: Collection[str]
) -> list[LoopRow]:
    """Return the counters of a room, and those of programs that write in it."""
    here = fetch_all(db, LoopRow, "loops", "room_id = ? and scope = ?", (room_id, scope))
    marks = ", ".join("?" * len(program_ids))
    where = f"kind = ? and key in ({marks}) and scope = ? and room_id <> ?"
    there = fetch_all(db, LoopRow, "loops", where, (PAIR, *program_ids, scope, room_id))
    return here + there


def save(db: Database, row: LoopRow) -> None:
    """Give a counter these values."""
    upsert(db, "loops", row, KEYS)


def forget(db: Database, row: LoopRow) -> None:
    """Begin a counter anew: a person wrote there."""
    sql = "delete from loops where kind = ? and key = ? and scope = ?"
    db.conn.execute(sql, (row.kind, row.key, row.scope))


def are_idle(db: Database, scope: str, before: str) -> bool:
    """Tell whether there are counters that `forget_idle` would remove."""
    sql = "select exists (select 1 from loops where kind = ? and scope = ? and last_at < ?)"
    return bool(db.conn.execute(sql, (THREAD, scope, before)).fetchone()[0])


def forget_idle(db: Database, scope: str, before: str) -> int:
    """Remove the counters of threads no program wrote in since then; return how many went.

    Those of the programs stay, so nobody gets more turns by it.
    """
    sql = "delete from loops where kind = ? and scope = ? and last_at < ?"
    return db.conn.execute(sql, (THREAD, scope, before)).rowcount
