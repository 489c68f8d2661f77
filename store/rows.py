"""Read and write rows as NamedTuples, in plain SQL: the hot path of every step."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from sqlite_utils import Database

__all__ = ["fetch_all", "fetch_one", "insert", "upsert"]

RowT = TypeVar("RowT", bound=NamedTuple)


def insert(db: Database, table: str, row: NamedTuple) -> None:
    """Insert one row.

    Raises:
        sqlite3.IntegrityError: the primary key is there already.
    """
    db.conn.execute(_insert_sql(table, row._fields), row)


def upsert(db: Database, table: str, row: NamedTuple, keys: Sequence[str]) -> None:
    """Insert one row, or give an existing one these values; its key stays."""
    others = [name for name in row._fields if name not in keys]
    changes = ", ".join(f"{name} = excluded.{name}" for name in others)
    sql = _insert_sql(table, row._fields)
    db.conn.execute(f"{sql} on conflict ({', '.join(keys)}) do update set {changes}", row)


def fetch_one(
    db: Database, row: type[RowT], table: str, where: str, params: Sequence[object]
) -> RowT | None:
    """Return the first row that fits, or None."""
    found = fetch_all(db, row, table, f"{where} limit 1", params)
    return found[0] if found else None


def fetch_all(
    db: Database, row: type[RowT], table: str, where: str, params: Sequence[object]
) -> list[RowT]:
    """Return all rows that fit; `where` may go on with `order by`."""
    columns = ", ".join(row._fields)
    found = db.conn.execute(f"select {columns} from {table} where {where}", params)  # noqa: S608
    return [row(*values) for values in found]


def _insert_sql(table: str, columns: Sequence[str]) -> str:
    # Table and column names are those of our own NamedTuples, never data.
    marks = ", ".join("?" * len(columns))
    return f"insert into {table} ({', '.join(columns)}) values ({marks})"  # noqa: S608
