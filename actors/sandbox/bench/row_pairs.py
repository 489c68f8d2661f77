"""Pairs of rows that were acknowledged while a hundred wait, beside SQLite without all that."""

import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from sqlite_utils import Database

from ....store import transitions, turns
from ....store.custody import Custodian
from ....store.database import open_database
from ....store.transitions import TransitionRow
from ....store.turns import TurnRow
from ...runtime.clock import SystemClock
from ...runtime.store_thread import StoreThread
from ...sessions.journal import Journal
from .figures import Figure, at_least
from .filling import fill

__all__ = ["row_pairs"]

WAITING = 100
LEAST_RATIO = 0.5
SCOPE = "default"


async def row_pairs(folder: Path, rounds: int, pairs: int) -> list[Figure]:
    """Change a turn and add a step, over and over, by three ways to the same file."""
    path = folder / "pairs" / "state.db"
    await anyio.to_thread.run_sync(fill, path, WAITING)
    rows = await anyio.to_thread.run_sync(_rows, path)
    rates: dict[str, list[float]] = {"raw": [], "store": [], "charts": []}
    for _ in range(rounds):
        rates["raw"].append(await anyio.to_thread.run_sync(_raw, path, rows, pairs))
        rates["store"].append(await _by_store(path, rows, pairs, _plain))
        rates["charts"].append(await _by_store(path, rows, pairs, _with_charts))
    raw, store, charts = rates["raw"], rates["store"], rates["charts"]
    without = [its / bare for its, bare in zip(store, raw, strict=True)]
    within = [its / bare for its, bare in zip(charts, store, strict=True)]
    cost_ms = [1_000 / its - 1_000 / bare for its, bare in zip(charts, store, strict=True)]
    return [
        Figure("row pairs acknowledged, raw SQLite in groups", "/s", raw),
        Figure("row pairs acknowledged, the store", "/s", store),
        Figure(
            "the store against raw SQLite, without charts", "x", without, at_least(LEAST_RATIO)
        ),
        Figure("the store with charts against without", "x", within),
        Figure("what a chart costs alone, a step", "ms", cost_ms),
    ]


def _rows(path: Path) -> list[TurnRow]:
    with closing(sqlite3.connect(path)) as connection:
        columns = ", ".join(TurnRow._fields)
        found = connection.execute(f"select {columns} from turns limit {WAITING}")  # noqa: S608
        return [TurnRow._make(values) for values in found]


def _step(row: TurnRow) -> TransitionRow:
    return TransitionRow(
        scope=SCOPE,
        at=row.updated_at,
        machine="turn",
        key=row.message_id,
        message_id=row.message_id,
        event="ignore_edit",
        from_state="answered",
        to_state="answered",
        reason="bench",
        detail=None,
    )


def _raw(path: Path, rows: list[TurnRow], pairs: int) -> float:
    """Return the pairs a second of a loop that does nothing else."""
    changes = ", ".join(f"{name} = ?" for name in TurnRow._fields[2:] if name != "lane_order")
    update = f"update turns set {changes} where scope = ? and message_id = ?"  # noqa: S608
    marks = ", ".join("?" * len(TransitionRow._fields))
    names = ", ".join(TransitionRow._fields)
    insert = f"insert into transitions ({names}) values ({marks})"  # noqa: S608
    with closing(open_database(path, now=datetime.now(UTC)).db.conn) as connection:
        began = time.perf_counter()
        for _ in range(pairs // WAITING):
            connection.execute("begin immediate")
            for row in rows:
                values = row._asdict()
                del values["lane_order"]
                scope, message_id = values.pop("scope"), values.pop("message_id")
                connection.execute(update, (*values.values(), scope, message_id))
                connection.execute(insert, _step(row))
            connection.execute("commit")
        return pairs / (time.perf_counter() - began)


Way = Callable[[Journal, TurnRow], Awaitable[None]]


async def _plain(journal: Journal, row: TurnRow) -> None:
    await journal.store.run(partial(_write, row))


def _write(row: TurnRow, db: Database) -> None:
    turns.save(db, row)
    transitions.add(db, _step(row))


async def _with_charts(journal: Journal, row: TurnRow) -> None:
    draft = journal.draft()
    draft.turn(row, "ignore_edit", reason="bench")
    await draft.commit()


async def _by_store(path: Path, rows: list[TurnRow], pairs: int, way: Way) -> float:
    """Return the pairs a second of a hundred callers that each wait for theirs."""
    clock = SystemClock()
    custodian = Custodian(lambda: open_database(path, now=clock.now()).db, clock.now)
    store = StoreThread(custodian, clock=clock)

    async def call(row: TurnRow) -> None:
        for _ in range(pairs // WAITING):
            await way(journal, row)

    took_s = 0.0
    async with anyio.create_task_group() as tasks:
        await tasks.start(store.serve)
        journal = Journal(store, SCOPE, clock)
        began = time.perf_counter()
        async with anyio.create_task_group() as callers:
            for row in rows:
                callers.start_soon(call, row)
        took_s = time.perf_counter() - began
        await store.close()
    return pairs / took_s
