"""Take out of a damaged state file what can still be read."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sqlite_utils import Database

from .database import transaction
from .state_errors import is_damage, not_writable

__all__ = ["salvage"]

HEADER_BYTES = 100  # Source: https://sqlite.org/fileformat2.html#the_database_header
PAGE_SIZE = 4_096
DIRECTIONS = ("asc", "desc")  # from both ends: what is newest stands at one of them


def salvage(damaged: Path, fresh: Database) -> int:
    """Copy every row that can be read into a fresh file, and return how many there were.

    A header that was written over is replaced by that of an empty file, in a copy: it holds
    nothing that the rows need.

    Args:
        damaged: the file that was set aside; it is left as it is.
        fresh: a new state file; rows it has already are kept.

    Raises:
        sqlite3.Error: the fresh file cannot be written; nothing was copied.
        FolderNotWritableError: nor can another beside it.
    """
    with transaction(fresh):
        found = _copy(damaged, fresh)
        if not found:
            found = _copy_without_header(damaged, fresh)
    return found


def _copy(damaged: Path, fresh: Database) -> int:
    address = f"{damaged.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as old:
        old.text_factory = _decoded
        return sum(_copy_table(old, fresh, table) for table in _tables(fresh))


def _copy_without_header(damaged: Path, fresh: Database) -> int:
    copy = damaged.with_name(f"{damaged.name}.readable")
    try:
        content = damaged.read_bytes()
        copy.touch(mode=0o600)
        copy.write_bytes(_empty_header() + content[HEADER_BYTES:])
        return _copy(copy, fresh)
    except OSError as error:
        raise not_writable(copy, error) from error
    finally:
        copy.unlink(missing_ok=True)


def _empty_header() -> bytes:
    """Return the header of a file whose length is taken from the file system."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.execute(f"pragma page_size = {PAGE_SIZE}")
        empty.execute("create table empty (id)")
        header = bytearray(empty.serialize()[:HEADER_BYTES])
    header[24:28] = (1).to_bytes(4, "big")  # another count of changes than that of the length
    header[92:96] = bytes(4)
    return bytes(header)


def _tables(fresh: Database) -> list[str]:
    names = fresh.conn.execute(
        "select name from sqlite_schema where type = 'table' and name not like '%sqlite%'"
    )
    return [name for (name,) in names]


def _copy_table(old: sqlite3.Connection, fresh: Database, table: str) -> int:
    facts = fresh.conn.execute(f"pragma table_info({table})").fetchall()
    columns = ", ".join(fact[1] for fact in facts)
    marks = ", ".join("?" * len(facts))
    insert = f"insert or ignore into {table} ({columns}) values ({marks})"  # noqa: S608
    copied = 0
    for row in _readable(old, table, columns, _key(facts)):
        try:
            copied += fresh.conn.execute(insert, row).rowcount
        except sqlite3.IntegrityError:
            continue  # a value that no such column can have: the row is noise
    return copied


def _key(facts: list[tuple[object, ...]]) -> list[str]:
    """Return the columns of a table's primary key in order."""
    keyed = [fact for fact in facts if fact[5]]
    return [str(fact[1]) for fact in sorted(keyed, key=lambda fact: str(fact[5]))]


def _readable(
    old: sqlite3.Connection, table: str, columns: str, key: list[str]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows up to the damage, from the front and then from the back."""
    for direction in DIRECTIONS:
        order = ", ".join(f"{name} {direction}" for name in key)
        sql = f"select {columns} from {table} not indexed order by {order}"  # noqa: S608
        try:
            yield from old.execute(sql)
        except sqlite3.DatabaseError as error:
            if not is_damage(error) and not isinstance(error, sqlite3.OperationalError):
                raise
        else:
            return


def _decoded(value: bytes) -> str:
    return value.decode("utf-8", "replace")
