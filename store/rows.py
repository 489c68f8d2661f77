"""Read and write rows as NamedTuples, in plain SQL: the hot path of every step."""

from collections.abc import Collection, Sequence
from functools import lru_cache
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
    sql, places = _insertion(table, row._fields, tuple(but))
    db.conn.execute(sql, [row[place] for place in places])


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
    sql, places = _change(table, row._fields, tuple(keys), tuple(but))
    found = db.conn.execute(sql, [row[place] for place in places])
    if found.rowcount == 0:
        which = ", ".join(f"{name} {getattr(row, name)}" for name in keys)
        message = f"no row in {table} with {which}"
        raise MissingRowError(message)


def upsert(db: Database, table: str, row: NamedTuple, keys: Sequence[str]) -> None:
    """Insert one row, or give an existing one these values; its key stays."""
    db.conn.execute(_replacement(table, row._fields, tuple(keys)), row)


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


# Table and column names are those of our own NamedTuples, never data. The texts are few, and
# each is made for every step of every machine: a third of the work of a row is to write its SQL.


@lru_cache
def _insertion(
    table: str, fields: tuple[str, ...], but: tuple[str, ...]
) -> tuple[str, tuple[int, ...]]:
    """Return the statement, and which of the row's values it takes."""
    columns = [name for name in fields if name not in but]
    return _insert_sql(table, columns), tuple(fields.index(name) for name in columns)


@lru_cache
def _change(
    table: str, fields: tuple[str, ...], keys: tuple[str, ...], but: tuple[str, ...]
) -> tuple[str, tuple[int, ...]]:
    """Return the statement, and which of the row's values it takes."""
    names = [name for name in fields if name not in keys and name not in but]
    changes = ", ".join(f"{name} = ?" for name in names)
    where = " and ".join(f"{name} = ?" for name in keys)
    sql = f"update {table} set {changes} where {where}"  # noqa: S608
    return sql, tuple(fields.index(name) for name in (*names, *keys))


@lru_cache
def _replacement(table: str, fields: tuple[str, ...], keys: tuple[str, ...]) -> str:
    others = [name for name in fields if name not in keys]
    changes = ", ".join(f"{name} = excluded.{name}" for name in others)
    sql = _insert_sql(table, fields)
    return f"{sql} on conflict ({', '.join(keys)}) do update set {changes}"


def _insert_sql(table: str, columns: Sequence[str]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"insert into {table} ({', '.join(columns)}) values ({marks})"  # noqa: S608
