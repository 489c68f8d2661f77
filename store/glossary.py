"""The table `glossary`: what the words in the other tables mean, for whoever reads them.

The words are those of the charts and the sessions, and so are their meanings; the store keeps
them so that its views can say in words what a state or a reason is.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sqlite_utils import Database

from .rows import fetch_all, insert

__all__ = ["EntryRow", "is_told", "save"]


class EntryRow(NamedTuple):
    """One word and its meaning."""

    kind: str
    """Name of the machine whose state it is, or `reason`."""
    word: str
    """As it stands in the column; of a reason, what stands before a colon."""
    meaning: str


def is_told(db: Database, entries: Collection[EntryRow]) -> bool:
    """Tell whether the glossary says exactly this already."""
    written = fetch_all(db, EntryRow, "glossary", "true", ())
    return len(written) == len(entries) and set(written) == set(entries)


def save(db: Database, entries: Iterable[EntryRow]) -> None:
    """Replace the glossary.

    Raises:
        sqlite3.IntegrityError: a word of one kind is there twice.
    """
    db.conn.execute("delete from glossary")
    for entry in entries:
        insert(db, "glossary", entry)
