"""The table `transitions`: every step of every machine, never message text."""

from typing import NamedTuple

from sqlite_utils import Database

from .rows import insert

__all__ = ["TransitionRow", "add"]


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
