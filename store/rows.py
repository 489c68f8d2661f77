"""Read and write rows as NamedTuples, in plain SQL: the hot path of every step."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeVar

from sqlite_utils import Database

__all__ = ["MissingRowError", "fetch_all", "fetch_one", "insert", "update", "upsert"]

RowT = TypeVar("RowT", bound=NamedTuple)


class MissingRowError(LookupError):
    """The row to be changed is not there: it was never written, or somebody deleted it."""


def insert(db: Database, table: str, row: NamedTuple, *, but: Collection[str] = ()) -> None:
    """Insert one row.

    Args:
        db: the state file.
        table: its name.
        row: the values.
        but: columns that SQLite fills by itself, whatever the row says.

    Raises:
        sqlite3.IntegrityError: the key is there already.
    """
    columns = [name for name in row._fields if name not in but]
    db.conn.execute(_insert_sql(table, columns), [getattr(row, name) for name in columns])


def update(
    db: Database, table: str, row: NamedTuple, keys: Sequence[str], *, but: Collection[str] = ()
) -> None:
    """Give an existing row these values.

    Args:
        db: the state file.
        table: its name.
        row: the values.
        keys: columns that say which row it is.
        but: columns that never change.

    Raises:
        MissingRowError: there is no such row; nothing was written.
    """
    names = [name for name in row._fields if name not in keys and name not in but]
    changes = ", ".join(f"{name} = ?" for name in names)
    where = " and ".join(f"{name} = ?" for name in keys)
    values = [getattr(row, name) for name in (*names, *keys)]
    found = db.conn.execute(f"update {table} set {changes} where {where}", values)  # noqa: S608
    if found.rowcount == 0:
        which = ", ".join(f"{name} {getattr(row, name)}" for name in keys)
        message = f"no row in {table} with {which}"
        raise MissingRowError(message)


def upsert(db: Database, table: str, row: NamedTuple, keys: Sequence[str]) -> None:
    """Insert one row, or give an existing one these values; its key stays."""
    others = [name for name in row._fields if name not in keys]
    changes = ", ".join(f"{name} = excluded.{name}" for name in others)
    sql = _insert_sql(table, row._fields)
    db.conn.execute(f"{sql} on conflict ({', '.join(keys)}) do update set {changes}", row)


def fetch_one(
    db: Database, kind: type[RowT], table: str, where: str, params: Sequence[object]
) -> RowT | None:
    """Return the first row that fits, or None."""
    found = fetch_all(db, kind, table, f"{where} limit 1", params)
    return found[0] if found else None


def fetch_all(
    db: Database, kind: type[RowT], table: str, where: str, params: Sequence[object]
) -> list[RowT]:
    """Return all rows that fit; `where` may go on with `order by`."""
    columns = ", ".join(kind._fields)
    found = db.conn.execute(f"select {columns} from {table} where {where}", params)  # noqa: S608
    return [kind._make(values) for values in found]


def _insert_sql(table: str, columns: Sequence[str]) -> str:
    # Table and column names are those of our own NamedTuples, never data.
    marks = ", ".join("?" * len(columns))
    return f"insert into {table} ({', '.join(columns)}) values ({marks})"  # noqa: S608
