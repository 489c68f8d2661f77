"""The table `transitions`: every step of every machine, never message text."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from sqlite_utils import Database

from .rows import insert

__all__ = ["TransitionRow", "add", "detail_of"]


class TransitionRow(NamedTuple):
    """One step of one machine; `seq` is the order in which they were decided."""

    scope: str
    at: str
    machine: str
    key: str
    message_id: str | None
    """The message the step is about, across machines; None where it is about none."""
    event: str
    from_state: str
    to_state: str
    reason: str | None
    detail: str | None
    """Columns the step changed, as JSON; None: none but the state."""


def detail_of(changed: Mapping[str, object]) -> str | None:
    """Return the columns a step changed as JSON, or None when it changed none."""
    return json.dumps(dict(changed), separators=(",", ":")) if changed else None


def add(db: Database, row: TransitionRow) -> None:
    """Append one step."""
    insert(db, "transitions", row)
