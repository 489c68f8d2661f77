"""The command line of sqlite-utils reads a state file while the gateway writes it."""

import json
import sqlite3
import sys
from functools import partial
from itertools import count
from pathlib import Path

import anyio
import pytest
from sqlite_utils import Database

from hermes_chatto.actors.runtime.store_thread import StoreThread
from hermes_chatto.store import outbox, transitions, turns
from hermes_chatto.store.database import open_database
from hermes_chatto.tests.store.samples import NOW, at, part, step, turn

QUESTIONS = (
    ("tables", "--counts"),
    ("rows", "unanswered", "--limit", "5"),
    ("rows", "open_turns"),
    ("rows", "deliveries", "--limit", "5"),
    ("rows", "health"),
    ("query", "select step, reason from turn_story where message_id = 'm0'"),
    ("schema",),
)


def live(number: int, db: Database) -> None:
    """Write the life of a turn, most of it."""
    message_id = f"m{number}"
    row = turn(message_id, state="processing")
    turns.receive(db, row)
    turns.save(db, row._replace(state="answered", body=None, closed_at=at(2)))
    answer = part(f"{message_id}:a/1")
    outbox.add(db, answer)
    outbox.save(db, answer._replace(state="delivered", message_id=f"p{number}", body=None))
    for event in ("receive ->received", "start handed->processing", "answer delivering->answered"):
        transitions.add(db, step(f"turn: {event}", key=message_id, message_id=message_id))


async def write_until(stopped: anyio.Event, store: StoreThread[Database]) -> int:
    """Write turns without a pause, and return how many were acknowledged."""
    for number in count():
        await store.run(partial(live, number))
        if stopped.is_set():
            return number + 1
    raise AssertionError


async def ask(path: Path, command: str, *arguments: str) -> str:
    """Run the command line as an operator does; no error, no warning."""
    done = await anyio.run_process(
        [sys.executable, "-m", "sqlite_utils", command, str(path), *arguments], check=False
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout.decode()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("release", "mode"), [((3, 51, 3), "wal"), ((3, 40, 1), "delete")], ids=["wal", "journal"]
)
async def test_both_sides_go_on_without_an_error(
    path: Path, release: tuple[int, int, int], mode: str
) -> None:
    """Every table and view, in either journal mode, whatever is being committed meanwhile."""
    store = StoreThread(lambda: open_database(path, now=NOW, release=release).db)
    stopped = anyio.Event()
    written: list[int] = []
    answers: list[str] = []

    async def write() -> None:
        written.append(await write_until(stopped, store))
        await store.close()

    async with anyio.create_task_group() as tasks:
        await tasks.start(store.serve)
        tasks.start_soon(write)
        for question in QUESTIONS:
            answers.append(await ask(path, *question))  # noqa: PERF401  one after the other
        stopped.set()
    acknowledged = written[0]
    story = json.loads(answers[-2])

    assert story[0] == {"step": "received", "reason": None}
    assert [line["step"] for line in story][-1] == "delivering -> answered"
    assert acknowledged > len(QUESTIONS)
    with sqlite3.connect(path) as connection:
        assert connection.execute("pragma journal_mode").fetchone() == (mode,)
        assert connection.execute("select count(*) from turns").fetchone() == (acknowledged,)
    connection.close()
