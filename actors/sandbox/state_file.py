"""The plugin's state file, read as an operator reads it: from outside, while it is written."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["Health", "StateFile", "Step", "StoryLine"]

WAIT_FOR_WRITER_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Health:
    """The view `health`, as far as somebody who waits needs it."""

    connection: str
    reason: str | None
    open_turns: int
    parts_under_way: int
    """Of answers, on their way into a room."""


@dataclass(frozen=True, slots=True)
class Step:
    """One transition of one machine."""

    seq: int
    at: str
    machine: str
    key: str
    message_id: str | None
    event: str
    step: str
    """From and to."""
    reason: str | None


@dataclass(frozen=True, slots=True)
class StoryLine:
    """One line of the view `turn_story`."""

    after_s: float
    """Since the message was received."""
    machine: str
    step: str
    reason: str
    """Empty: none was noted."""
    meaning: str
    """What the state it came into means, in a sentence."""


class StateFile:
    """Read-only; each question opens the file anew, since it may be set aside meanwhile."""

    def __init__(self, path: Path) -> None:
        """Look at nothing yet: the file may not exist."""
        self.path = path

    def health(self) -> Health | None:
        """Return how it goes; None: nothing is written yet."""
        sql = """
            select connection, reason, open_turns,
                   (select count(*) from outbox where state in ('pending', 'sending', 'uncertain'))
            from health
        """
        rows = self.rows(sql)
        return Health(*rows[0]) if rows else None

    def steps_after(self, seq: int) -> Sequence[Step]:
        """Return the transitions written since."""
        sql = """
            select seq, at, machine, key, message_id, event,
                   coalesce(from_state || ' -> ', '') || to_state, reason
            from transitions where seq > ? order by seq
        """
        return [Step(*row) for row in self.rows(sql, seq)]

    def story(self, message_id: str) -> Sequence[StoryLine]:
        """Return the whole life of one message, from the view `turn_story`."""
        sql = """
            select after_s, machine, step, coalesce(reason, ''), coalesce(meaning, '')
            from turn_story where message_id = ? order by seq
        """
        return [StoryLine(*row) for row in self.rows(sql, message_id)]

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask anything; as long as the file or its views are not made yet, there are no rows."""
        if not self.path.exists():
            return []
        with closing(self._open()) as db:
            made = db.execute("select 1 from sqlite_master where name = 'health'").fetchone()
            return db.execute(sql, values).fetchall() if made else []

    def copy_to(self, target: Path) -> None:
        """Write a whole and consistent copy, also while the plugin writes on."""
        target.unlink(missing_ok=True)
        with closing(self._open()) as db, closing(sqlite3.connect(target)) as copy:
            db.backup(copy)

    def _open(self) -> sqlite3.Connection:
        # Not read-only: a process that was killed in the middle of a commit leaves half of it,
        # which whoever opens the file next has to take back.
        address = f"{self.path.resolve().as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, timeout=WAIT_FOR_WRITER_S)
