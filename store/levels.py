"""The table `levels`: how much of which rooms the account is told."""

from collections.abc import Mapping

from sqlite_utils import Database

__all__ = ["replace_all"]


def replace_all(db: Database, *, scope: str, levels: Mapping[str, str], at: str) -> None:
    """Keep these levels and no others.

    Args:
        db: the state file.
        scope: the profile.
        levels: by room ID; an empty ID stands for all rooms without a level of their own.
        at: when they were read.
    """
    db.conn.execute("delete from levels where scope = ?", (scope,))
    db.conn.executemany(
        "insert into levels (scope, room_id, level, read_at) values (?, ?, ?, ?)",
        [(scope, room_id, level, at) for room_id, level in levels.items()],
    )
