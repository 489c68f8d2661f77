"""The sessions as the gateway's side uses them: start, stop, late calls, too many calls."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path

import anyio
import pytest
from sqlite_utils import Database

from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.errors import StateUnusableError
from hermes_chatto.actors.sessions.ports import (
    DeliveryResult,
    DeliveryState,
    HandOver,
    Outgoing,
    RunOutcome,
    TurnOrder,
)
from hermes_chatto.actors.sessions.services import Limits
from hermes_chatto.store.database import FileLockedError

POST = "MessageService/CreateMessage"
TYPING = "RoomService/UpdateTypingIndicator"
MORE_THAN_WAIT = 1_100  # for one lane


def note(colleague: Colleague, text: str = "note") -> Outgoing:
    """Return a text for R1 that is nobody's answer."""
    return Outgoing(colleague.rooms["R1"], None, text, is_final=True)


async def test_a_state_file_in_no_usable_folder_is_said_plainly(
    open_colleague: Open, tmp_path: Path
) -> None:
    """Not started; the text says what is wrong."""
    (tmp_path / "chatto").write_text("a file where the folder should be")
    async with open_colleague(is_started=False) as colleague:
        with pytest.raises(StateUnusableError, match="chatto"):
            await colleague.starts()


class Hurried(SystemClock):
    """A clock by which patience is over soon; waits are what they are."""

    def monotonic(self) -> float:
        """Return seconds that pass faster."""
        return time.monotonic() * 100


@pytest.mark.parametrize("locked_for", [3, 1_000], ids=["short", "long"])
async def test_a_lock_at_the_start_is_waited_for_within_a_bound(
    open_colleague: Open, locked_for: int
) -> None:
    """Then the start fails in a way that says: try again."""
    refusals = repeat(FileLockedError("state.db is locked by another process"), locked_for)

    def lock(db: Database) -> None:
        for refusal in refusals:
            db.close()
            raise refusal

    script = Script(opened=lock, clock=Hurried() if locked_for > 3 else SystemClock())
    async with open_colleague(script=script, is_started=False) as colleague:
        if locked_for > 3:
            with pytest.raises(StateUnusableError, match="locked by another") as refused:
                await colleague.starts()
            assert refused.value.may_pass
        else:
            await colleague.starts()
            m1 = await colleague.says("alice", "@hermes hi")
            await colleague.until_state(m1, "answered")


async def test_a_start_whose_first_write_finds_no_room_may_pass(open_colleague: Open) -> None:
    """The gateway tries again; nothing is left running."""

    def no_room(db: Database) -> None:
        db.conn.execute("pragma query_only = on")

    async with open_colleague(script=Script(opened=no_room), is_started=False) as colleague:
        with pytest.raises(StateUnusableError, match="cannot be written") as refused:
            await colleague.starts()

        assert refused.value.may_pass
        await colleague.starts(Script())
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")


async def test_a_desk_that_never_ran_takes_nothing(open_colleague: Open, tmp_path: Path) -> None:
    """Calls before the start neither wait nor fail."""
    (tmp_path / "chatto").write_text("a file where the folder should be")
    async with open_colleague(is_started=False) as colleague:
        with pytest.raises(StateUnusableError):
            await colleague.starts()
        result = await colleague.desk.deliver(note(colleague))

        assert (result.state, result.reason) == (DeliveryState.REFUSED, "stopping")
        await colleague.desk.stop()


async def test_typing_is_shown_where_a_run_is_under_way(open_colleague: Open) -> None:
    """One call each time it is asked for; a failing one changes nothing, none after the run."""
    go_on = anyio.Event()

    async def wait(order: TurnOrder) -> None:
        del order
        await go_on.wait()

    async with open_colleague(agent=wait) as colleague:
        r1 = colleague.rooms["R1"]
        m1 = await colleague.says("alice", "@hermes think")
        await colleague.until_state(m1, "processing")
        await colleague.desk.show_typing(r1, m1)
        colleague.faults.refused[TYPING] = Code.UNAVAILABLE
        await colleague.desk.show_typing(r1, m1)
        go_on.set()
        await colleague.until_state(m1, "silent")
        await colleague.says("alice", "@hermes /status", thread=m1)
        await colleague.until(lambda: bool(colleague.gateway.commands))  # its lane went on
        await colleague.desk.show_typing(r1, m1)

        assert colleague.sandbox.calls[TYPING] == 2


async def test_a_defect_that_ends_everything_is_told_and_lets_nobody_wait(
    open_colleague: Open,
) -> None:
    """The gateway may start again; whoever waits for a post hears that it is not known."""
    results = list[DeliveryResult]()
    async with open_colleague() as colleague:
        colleague.faults.refused[POST] = Code.RESOURCE_EXHAUSTED
        desk = colleague.desk

        async def deliver() -> None:
            results.append(await desk.deliver(note(colleague)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliver)
            await colleague.until(lambda: bool(colleague.rows("select 1 from outbox")))
            await colleague.dies()
        late = await desk.deliver(note(colleague))
        desk.key_ready("some key")

        assert len(colleague.gateway.crashes) == 1
        assert [result.reason for result in results] == ["stopping"]
        assert not results[0].is_retryable
        assert late.is_retryable


async def test_too_much_at_once_is_refused_not_lost(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Every caller gets an answer; those beyond the bound may ask again."""
    results = list[DeliveryResult]()
    async with open_colleague() as colleague:

        async def deliver() -> None:
            results.append(await colleague.desk.deliver(note(colleague, "\u200b")))

        async with anyio.create_task_group() as tasks:
            for _ in range(MORE_THAN_WAIT):
                tasks.start_soon(deliver)

        overloaded = [result for result in results if result.reason == "overloaded"]
        assert len(results) == MORE_THAN_WAIT
        assert len(overloaded) == 100
        assert all(result.is_retryable for result in overloaded)
        assert "too much waits" in caplog.text


async def test_too_many_reports_end_nothing(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """The callbacks of the gateway never fail, and no end of a run is lost."""
    async with open_colleague() as colleague:
        for _ in range(MORE_THAN_WAIT):
            colleague.desk.key_ready("agent:main:some:key")
        colleague.desk.run_ended("agent:main:some:key", "m0", RunOutcome.SUCCESS)
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")

        assert caplog.text.count("mail has to wait (RunEnded)") == 1


async def test_a_reminder_for_a_full_lane_is_dropped(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever fills the mailbox will look at the same rows."""
    clock = Reminding()
    async with open_colleague(script=Script(clock=clock)) as colleague:
        colleague.gateway.planned = [HandOver.TAKEN]
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "handed")
        ((key,),) = colleague.rows("select session_key from turns")
        with held(colleague):
            colleague.desk.run_started(str(key), m1)  # waits for the file, and all else for it
            await anyio.wait_all_tasks_blocked()
            for _ in range(MORE_THAN_WAIT):
                colleague.desk.key_ready(str(key))
            clock.is_due.set()
            await colleague.until(lambda: "too much mail for a reminder" in caplog.text)
        # and goes on: no run is seen behind the report, so the next look ends it
        await colleague.until(lambda: "handed -> processing" in colleague.story(m1))


class Reminding(SystemClock):
    """A clock on which the time for a run to start is over when the test says so."""

    def __init__(self) -> None:
        self.is_due = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        """Wait, or be told."""
        if seconds == Limits().start_within_s:
            await self.is_due.wait()
        else:
            await super().sleep(seconds)


@contextmanager
def held(colleague: Colleague) -> Iterator[None]:
    """Hold the state file as another process may, while the block runs."""
    holder = sqlite3.connect(colleague.state_path, isolation_level=None)
    holder.execute("begin immediate")
    try:
        yield
    finally:
        holder.execute("rollback")
        holder.close()


async def test_a_full_disk_makes_a_question_wait(open_colleague: Open) -> None:
    """No receipt, no turn; as soon as there is room it is answered, once."""
    opened = list[Database]()
    script = Script(limits=Limits(first_wait_s=0.05), opened=opened.append)
    async with open_colleague(script=script) as colleague:
        (db,) = opened
        (pages,) = db.conn.execute("pragma page_count").fetchone()
        db.conn.execute(f"pragma max_page_count = {pages}")
        m1 = await colleague.says("alice", "@hermes " + "x" * 9_000)
        await anyio.sleep(0.2)  # several attempts; a full disk tells nobody
        assert colleague.state_of(m1) is None
        db.conn.execute("pragma max_page_count = 1000000")
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 1


async def test_a_file_that_somebody_else_holds_is_waited_for(open_colleague: Open) -> None:
    """A reader with a heavy hand costs time, no answer."""
    async with open_colleague() as colleague:
        with held(colleague):
            m1 = await colleague.says("alice", "@hermes hi")
            await anyio.sleep(0.2)  # a lock tells nobody that it is waited for
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 1
