"""The state file under stress, while a run is under way and another question comes.

An answer in progress is never stopped by it: the run goes on, and what it says is in the room,
once. A new question waits for its receipt and is answered once.
"""

import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from sqlite_utils import Database

from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script, colleague
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.actors.sessions.services import Limits
from hermes_chatto.tests.store.files import FILLER, fill_up, small_disk

FAST = 200.0  # how much sooner the patience with a lock is over


class Hurried(SystemClock):
    """A clock by which patience is short; waits are what they are."""

    def monotonic(self) -> float:
        """Return seconds that pass faster."""
        return time.monotonic() * FAST


@dataclass
class Patient:
    """An agent that answers some questions only when it is told to."""

    go_on: anyio.Event = field(default_factory=anyio.Event)
    running: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self, order: TurnOrder) -> str:
        """Answer; wait where the question says so."""
        if "wait" in order.text:
            self.running.set()
            await self.go_on.wait()
        return f"answer to {order.text.split()[-1]}"


@dataclass
class Trouble:
    """Something that happens to a state file, and its end."""

    path: Path
    db: Database
    holders: list[sqlite3.Connection] = field(default_factory=list)

    def heal(self) -> None:
        """End what was begun; nothing, where it heals by itself."""
        for holder in self.holders:
            holder.close()


def fill_the_disk(trouble: Trouble) -> None:
    """Leave no room for another page."""
    (pages,) = trouble.db.conn.execute("pragma page_count").fetchone()
    trouble.db.conn.execute(f"pragma max_page_count = {pages}")
    # What is free inside the file would do for a while.
    with closing(sqlite3.connect(trouble.path, isolation_level=None)) as other:
        while other.execute("pragma freelist_count").fetchone()[0]:
            other.execute("create table if not exists filler (x)")
            other.execute("insert into filler values (zeroblob(4000))")


def make_room(trouble: Trouble) -> None:
    """Let the file grow again."""
    trouble.db.conn.execute("pragma max_page_count = 1000000")


def forbid_writing(trouble: Trouble) -> None:
    """Have every write refused as on a disk that is mounted for reading."""
    trouble.db.conn.execute("pragma query_only = on")


def allow_writing(trouble: Trouble) -> None:
    """Mount it for writing again."""
    trouble.db.conn.execute("pragma query_only = off")


def hold_the_lock(trouble: Trouble) -> None:
    """Begin to write in another program, and not come to an end."""
    holder = sqlite3.connect(trouble.path, isolation_level=None, check_same_thread=False)
    holder.execute("begin exclusive")
    trouble.holders.append(holder)


def nothing_to_do(trouble: Trouble) -> None:
    """Leave it as it is: it has to heal by itself."""
    del trouble


def delete_the_file(trouble: Trouble) -> None:
    """Delete it, side files and all."""
    for file in trouble.path.parent.glob("state.db*"):
        file.unlink()


def delete_the_folder(trouble: Trouble) -> None:
    """Delete everything."""
    shutil.rmtree(trouble.path.parent)


def replace_the_folder(trouble: Trouble) -> None:
    """Put a folder with an older state in its place."""
    folder = trouble.path.parent
    copy = folder.with_name("older")
    copy.mkdir()
    with (
        closing(sqlite3.connect(trouble.path)) as now,
        closing(sqlite3.connect(copy / "state.db")) as older,
    ):
        now.backup(older)
        older.execute("delete from turns")
        older.commit()
    folder.rename(folder.with_name("moved"))
    copy.rename(folder)


def write_an_older_copy_over_it(trouble: Trouble) -> None:
    """Put an older state into the open file, as `cp` does; the newer one is kept beside it."""
    older = trouble.path.with_name("older.db")
    shutil.copyfile(trouble.path, trouble.path.with_name("newer.db"))
    shutil.copyfile(trouble.path, older)
    with closing(sqlite3.connect(older)) as copy:
        copy.execute("delete from transitions where seq > 5")
        copy.execute("delete from turns")
        copy.commit()
    shutil.copyfile(older, trouble.path)


def write_the_newer_one_over_it(trouble: Trouble) -> None:
    """Put back what was kept."""
    shutil.copyfile(trouble.path.with_name("newer.db"), trouble.path)


def garble_the_header(trouble: Trouble) -> None:
    """Write over the beginning, under a program that has the file open."""
    with trouble.path.open("r+b") as file:
        file.write(b"<html>captive portal</html>")


def garble_an_index(trouble: Trouble) -> None:
    """Write over the pages of the index that finds a turn by its message."""
    garble_pages_of(trouble, "sqlite_autoindex_turns_1")


def garble_a_table(trouble: Trouble) -> None:
    """Write over the first page of a table that every step goes into."""
    garble_pages_of(trouble, "transitions")


def garble_pages_of(trouble: Trouble, name: str) -> None:
    """Write noise over the root page of something."""
    with closing(sqlite3.connect(trouble.path)) as reader:
        sql = "select rootpage from sqlite_schema where name = ?"
        (page,) = reader.execute(sql, (name,)).fetchone()
    with trouble.path.open("r+b") as file:
        file.seek((page - 1) * 4_096)
        file.write(b"\xa5" * 4_096)
        # What is cached is believed until the file says that somebody else has written.
        file.seek(24)
        file.write(b"\xff\xff\xff\xff")


TROUBLES = {
    "disk full": (fill_the_disk, make_room),
    "read-only": (forbid_writing, allow_writing),
    "locked": (hold_the_lock, Trouble.heal),
    "file deleted": (delete_the_file, nothing_to_do),
    "folder deleted": (delete_the_folder, nothing_to_do),
    "folder replaced": (replace_the_folder, nothing_to_do),
    "overwritten": (write_an_older_copy_over_it, write_the_newer_one_over_it),
    "header damaged": (garble_the_header, nothing_to_do),
    "index damaged": (garble_an_index, nothing_to_do),
    "table damaged": (garble_a_table, nothing_to_do),
}


@pytest.mark.parametrize("name", TROUBLES)
async def test_what_is_asked_is_answered_once_whatever_happens_to_the_file(
    open_colleague: Open, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The run under way, and the question that came in the middle of it."""
    inflict, heal = TROUBLES[name]
    opened = list[Database]()
    agent = Patient()
    script = Script(
        agent=agent,
        limits=Limits(first_wait_s=0.05, repair_wait_s=0.05),
        opened=lambda db: _impatient(db, opened),
        clock=Hurried(),
    )
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes wait one")
        await agent.running.wait()
        await colleague.until_state(m1, "processing")
        trouble = Trouble(colleague.state_path, opened[-1])
        await anyio.to_thread.run_sync(inflict, trouble)
        agent.go_on.set()
        m2 = await colleague.says("bob", "@hermes two " + "x" * 9_000 + " two")
        if heal is not nothing_to_do:
            await colleague.until(lambda: "new questions wait until" in caplog.text)
            assert [answer for answer in colleague.answers() if answer.in_reply_to == m2] == []
        await anyio.to_thread.run_sync(heal, trouble)
        await colleague.until(lambda: len(colleague.answers()) >= 2)
        await colleague.until_state(m2, "answered")
        await colleague.until_state(m1, "answered")

        assert answered(colleague) == {m1: ["answer to one"], m2: ["answer to two"]}
        assert colleague.gateway.crashes == []
        assert "given up" not in caplog.text


def _impatient(db: Database, opened: list[Database]) -> None:
    """Have locks waited for by the store alone, which goes by the clock of the test."""
    db.conn.execute("pragma busy_timeout = 20")
    opened.append(db)


def answered(colleague: Colleague) -> dict[str, list[str]]:
    """Return what was answered to which message."""
    found = dict[str, list[str]]()
    for answer in colleague.answers():
        found.setdefault(answer.in_reply_to, []).append(answer.body)
    return found


async def test_answer_in_progress_is_posted_on_a_disk_that_is_full(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A reserve is kept for it; the new question waits until there is room."""
    agent = Patient()
    limits = Limits(first_wait_s=0.05, repair_wait_s=0.05)
    with small_disk(tmp_path / "disk") as disk:
        async with colleague(disk, agent=agent, limits=limits) as profile:
            m1 = await profile.says("alice", "@hermes wait one")
            await agent.running.wait()
            await profile.until_state(m1, "processing")
            await anyio.to_thread.run_sync(fill_up, disk)
            m2 = await profile.says("bob", "@hermes two " + "x" * 9_000 + " two")
            await profile.until(lambda: "new questions wait until" in caplog.text)
            agent.go_on.set()
            await profile.until_state(m1, "answered")

            assert answered(profile) == {m1: ["answer to one"]}
            assert profile.state_of(m2) is None
            (disk / FILLER).unlink()
            await profile.until_state(m2, "answered")
            assert answered(profile) == {m1: ["answer to one"], m2: ["answer to two"]}
