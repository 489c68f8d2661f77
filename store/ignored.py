"""The table `ignored`: how many messages were not for the agent, per room and cause."""

from collections.abc import Mapping

from sqlite_utils import Database

__all__ = ["add", "are_idle", "forget_idle"]

ADD = """
    insert into ignored (scope, room_id, cause, messages, last_at) values (?, ?, ?, ?, ?)
    on conflict (scope, room_id, cause)
    do update set messages = messages + excluded.messages, last_at = excluded.last_at
"""


def add(db: Database, *, scope: str, counts: Mapping[tuple[str, str], int], at: str) -> None:
    """Add to the counters.

    Args:
        db: the state file.
        scope: the profile.
        counts: messages per room ID and cause.
        at: time of the newest of them.
    """
    db.conn.executemany(
        ADD, [(scope, room_id, cause, count, at) for (room_id, cause), count in counts.items()]
    )


def are_idle(db: Database, scope: str, before: str) -> bool:
    """Tell whether there are counters that `forget_idle` would remove."""
    sql = "select exists (select 1 from ignored where scope = ? and last_at < ?)"
    return bool(db.conn.execute(sql, (scope, before)).fetchone()[0])


def forget_idle(db: Database, scope: str, before: str) -> int:
    """Remove the counters of what was not passed over since then; return how many went."""
    sql = "delete from ignored where scope = ? and last_at < ?"
    return db.conn.execute(sql, (scope, before)).rowcount
