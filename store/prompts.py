"""The table `prompts`: the questions that runs ask the person whose turn waits."""

from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_all, fetch_one, insert, update

__all__ = ["PromptRow", "add", "find", "not_closed", "of_turn", "save"]

KEYS = ("scope", "outbox_id")
OPEN = "state in ('posting', 'open')"  # stands like this in the index `prompts_open`


class PromptRow(NamedTuple):
    """One question."""

    scope: str
    outbox_id: str
    """Its last part in the outbox: once that is posted, all of it is."""
    turn_id: str
    kind: str
    """`approval` or `choice`."""
    state: str
    reason: str | None
    message_id: str | None
    """The message it is shown as; None: not posted, or not known yet."""
    settled_by: str | None
    created_at: str
    updated_at: str


def add(db: Database, row: PromptRow) -> None:
    """Write a new prompt.

    Raises:
        sqlite3.IntegrityError: the part is a prompt already.
    """
    insert(db, "prompts", row)


def save(db: Database, row: PromptRow) -> None:
    """Give the row of a prompt these values.

    Raises:
        MissingRowError: there is no such prompt.
    """
    update(db, "prompts", row, KEYS)


def find(db: Database, scope: str, outbox_id: str) -> PromptRow | None:
    """Return the prompt that a part is, or None."""
    return fetch_one(db, PromptRow, "prompts", "scope = ? and outbox_id = ?", (scope, outbox_id))


def of_turn(db: Database, scope: str, turn_id: str) -> list[PromptRow]:
    """Return the prompts of a turn that nobody has settled yet, oldest first."""
    where = f"scope = ? and turn_id = ? and {OPEN} order by created_at"
    return fetch_all(db, PromptRow, "prompts", where, (scope, turn_id))


def not_closed(db: Database, scope: str) -> list[PromptRow]:
    """Return all prompts that nobody has settled yet."""
    return fetch_all(db, PromptRow, "prompts", f"scope = ? and {OPEN}", (scope,))
