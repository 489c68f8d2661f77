"""The table `transitions`: every step of every machine, never message text."""

from typing import NamedTuple

from sqlite_utils import Database

from .rows import insert

__all__ = ["TransitionRow", "add", "newest_at"]


class TransitionRow(NamedTuple):
    """One step of one machine; `seq` is the order in which they were decided."""

    scope: str
    at: str
    machine: str
    key: str
    message_id: str | None
    """The message the step is about, across machines; None where it is about none."""
    event: str
    from_state: str | None
    """None: the row begins here."""
    to_state: str
    reason: str | None
    detail: str | None
    """Columns the step changed, as JSON; None: none but the state."""


def add(db: Database, row: TransitionRow) -> None:
    """Append one step."""
    insert(db, "transitions", row)


def newest_at(db: Database) -> str | None:
    """Return when the newest step was taken; None: there was none."""
    sql = "select at from transitions where seq = (select max(seq) from transitions)"
    found = db.conn.execute(sql).fetchone()
    return str(found[0]) if found else None
