"""Sessions that nothing was done about for long: found in batches, and forgotten with their turns.

A session's row says what its conversation holds, so it is needed as long as the gateway keeps the
conversation; whether it does only the gateway can say.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlite_utils import Database

from .retention import remove_turns

__all__ = ["Page", "find_idle", "forget_sessions"]

IDLE = """
    select session_key, updated_at < :before and to_follow_since is null
    from threads where session_key > :after and scope = :scope
    order by session_key limit :rows
"""

FORGET = """
    delete from threads
    where session_key = ? and scope = ?
      -- it may have been used since it was looked at
      and updated_at < ? and to_follow_since is null
"""


class Page(NamedTuple):
    """Some rows of sessions, in the order of their keys."""

    idle_keys: tuple[str, ...]
    """Those that nothing was done about since then."""
    last_key: str | None
    """Where the next page begins; None: there is none."""


def find_idle(db: Database, scope: str, *, before: str, after: str, rows: int) -> Page:
    """Look at the next sessions.

    Args:
        db: the state file.
        scope: the profile.
        before: nothing was done about them at this time or later.
        after: the key the page before this one ended with; empty: this is the first.
        rows: how many are looked at.
    """
    values = {"scope": scope, "before": before, "after": after, "rows": rows}
    found = db.conn.execute(IDLE, values).fetchall()
    idle = tuple(key for key, is_idle in found if is_idle)
    return Page(idle, found[-1][0] if len(found) == rows else None)


def forget_sessions(db: Database, scope: str, before: str, keys: Sequence[str]) -> int:
    """Remove sessions that are over, and their turns; return how many rows went.

    One that was used in the meantime, or of which something is open or young, stays as it is.
    """
    turns: dict[str, list[str]] = {key: [] for key in keys}
    for key, message_id, is_needed in _turns_of(db, scope, before, keys):
        if is_needed:
            turns.pop(key, None)
        elif key in turns:
            turns[key].append(message_id)
    removed = 0
    for key, message_ids in turns.items():
        if db.conn.execute(FORGET, (key, scope, before)).rowcount:
            removed += 1 + remove_turns(db, scope, message_ids)
    return removed


def _turns_of(
    db: Database, scope: str, before: str, keys: Sequence[str]
) -> Sequence[tuple[str, str, bool]]:
    """Return the turns of sessions: key, message and whether it is open or young.

    It walks the table, once for all of them: an index would cost every turn a write.
    """
    marks = ", ".join("?" * len(keys))
    sql = f"""
        select session_key, message_id,
               closed_at is null or closed_at >= ?
               or exists (select 1 from outbox as p
                          where p.turn_id = t.message_id and p.scope = t.scope
                            and (p.state in ('pending', 'sending', 'uncertain')
                                 or p.updated_at >= ?))
        from turns as t where scope = ? and session_key in ({marks})
    """  # noqa: S608 - our own words
    return db.conn.execute(sql, (before, before, scope, *keys)).fetchall()
