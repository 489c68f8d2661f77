"""Small writes go along with the next commit, or by themselves; a failure loses none of them."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import pytest
from sqlite_utils import Database

from hermes_chatto.actors.runtime.clock import ManualClock
from hermes_chatto.actors.runtime.store_thread import StoreThread
from hermes_chatto.actors.sessions.alongside import ALONE_S, EVERY_S, Alongside


def open_notes() -> Database:
    """Open a file in memory that keeps notes."""
    db = Database(sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None))
    db.execute("create table notes (text text)")
    return db


def note(db: Database, text: str) -> None:
    """Write a note."""
    db.conn.execute("insert into notes values (?)", (text,))


class Desk:
    """A store, a clock that stands still, and what goes along."""

    def __init__(
        self, store: StoreThread[Database], clock: ManualClock, alongside: Alongside
    ) -> None:
        """Keep the three."""
        self.store = store
        self.clock = clock
        self.alongside = alongside

    async def notes(self) -> list[str]:
        """Return what was written."""
        found = await self.store.read(lambda db: db.execute("select text from notes").fetchall())
        return [text for (text,) in found]


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    """Open a store."""
    clock = ManualClock()
    store = StoreThread(open_notes, clock=clock)
    async with anyio.create_task_group() as tasks:
        await tasks.start(store.serve)
        yield Desk(store, clock, Alongside(store, clock, tasks))
        await store.close()
        tasks.cancel_scope.cancel()


def fail_meanwhile(alongside: Alongside) -> float:
    """Take what is due, put something newer, and fail to write the first."""
    with alongside.taken() as writes:
        alongside.put("a", partial(note, text="a2"))
        return len(writes) / 0


async def test_it_goes_along_with_the_next_commit_once_a_second() -> None:
    """The newest of a kind; what comes too soon waits."""
    async with desk() as at:
        at.alongside.put("a", partial(note, text="a1"))
        at.alongside.put("a", partial(note, text="a2"))
        at.alongside.put("b", partial(note, text="b1"))
        with at.alongside.taken() as writes:
            await at.store.run(lambda db: [write(db) for write in writes])
        at.alongside.put("a", partial(note, text="a3"))
        with at.alongside.taken() as writes:
            assert writes == []
        at.clock.advance(EVERY_S)
        with at.alongside.taken() as writes:
            await at.store.run(lambda db: [write(db) for write in writes])

        assert await at.notes() == ["a2", "b1", "a3"]


async def test_it_is_written_alone_where_nobody_else_writes() -> None:
    """After a while."""
    async with desk() as at:
        at.alongside.put("a", partial(note, text="a1"))
        await at.clock.until_sleeping()
        at.clock.advance(ALONE_S)
        with anyio.fail_after(5):
            while await at.notes() != ["a1"]:
                await anyio.lowlevel.checkpoint()


async def test_nothing_is_written_alone_while_others_write() -> None:
    """No commit of its own comes between a question and its run."""
    async with desk() as at:
        at.alongside.put("a", partial(note, text="a1"))
        await at.clock.until_sleeping()
        at.clock.advance(ALONE_S - 0.1)
        with at.alongside.taken() as writes:
            await at.store.run(lambda db: [write(db) for write in writes])
        at.alongside.put("a", partial(note, text="a2"))
        at.clock.advance(0.1)
        await at.clock.until_sleeping()
        assert await at.notes() == ["a1"]
        at.clock.advance(ALONE_S)
        with anyio.fail_after(5):
            while await at.notes() != ["a1", "a2"]:
                await anyio.lowlevel.checkpoint()


async def test_a_commit_that_fails_gives_it_back() -> None:
    """Unless a newer one came meanwhile."""
    async with desk() as at:
        at.alongside.put("a", partial(note, text="a1"))
        at.alongside.put("b", partial(note, text="b1"))
        with pytest.raises(ZeroDivisionError):
            fail_meanwhile(at.alongside)
        await at.alongside.flush()

        assert sorted(await at.notes()) == ["a2", "b1"]


async def test_a_store_that_is_closed_loses_nothing_but_that() -> None:
    """It is a line in the log."""
    async with desk() as at:
        await at.store.close()
        at.alongside.put("a", partial(note, text="a1"))
        await at.alongside.flush()
