"""The state file from outside: before it is there, while it is written, as a copy."""

import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from hermes_chatto.actors.sandbox.state_file import StateFile
from hermes_chatto.store.database import open_database

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def written(path: Path) -> StateFile:
    """Return a file with one step in it."""
    db = open_database(path, now=NOW).db
    db.table("transitions").insert(
        {
            "scope": "default",
            "at": "2026-01-01T00:00:00.000Z",
            "machine": "turn",
            "key": "m1",
            "message_id": "m1",
            "event": "receive",
            "to_state": "received",
        }
    )
    db.conn.commit()
    db.close()
    return StateFile(path)


def test_a_file_that_is_not_made_yet_says_nothing(tmp_path: Path) -> None:
    """Whoever waits for the plugin asks before it has started."""
    state = StateFile(tmp_path / "state.db")

    assert state.health() is None
    assert state.steps_after(0) == []
    assert not state.path.exists()


def test_a_file_without_tables_says_nothing(tmp_path: Path) -> None:
    """Between the file and its first migration lie some milliseconds."""
    (tmp_path / "state.db").touch()

    assert StateFile(tmp_path / "state.db").health() is None


def test_steps_are_read_from_where_one_was(tmp_path: Path) -> None:
    """Whoever watches asks for what is new."""
    state = written(tmp_path / "chatto" / "state.db")
    (step,) = state.steps_after(0)

    assert (step.machine, step.event, step.step) == ("turn", "receive", "received")
    assert state.steps_after(step.seq) == []
    assert [each.step for each in state.story("m1")] == ["received"]


def test_half_a_commit_of_a_killed_process_is_taken_back(tmp_path: Path) -> None:
    """It is in the file already, and its journal beside it."""
    state, killed = written(tmp_path / "state.db"), tmp_path / "killed"
    killed.mkdir()
    db = sqlite3.connect(state.path, isolation_level=None)
    db.execute("pragma journal_mode = delete")
    db.execute("pragma cache_size = 1")  # pages are written before the commit
    db.execute("begin immediate")
    db.execute("update transitions set reason = 'half'")
    db.execute("create table filler (x)")
    db.executemany("insert into filler values (?)", [(bytes(4_000),)] * 50)
    for file in (state.path, state.path.with_name("state.db-journal")):
        shutil.copyfile(file, killed / file.name)
    db.close()

    assert StateFile(killed / "state.db").rows("select reason from transitions") == [(None,)]


def test_a_copy_is_whole(tmp_path: Path) -> None:
    """It replaces the copy of an earlier run."""
    state = written(tmp_path / "chatto" / "state.db")
    copy = tmp_path / "copy.db"
    copy.write_text("something else")
    state.copy_to(copy)

    assert [each.key for each in StateFile(copy).steps_after(0)] == ["m1"]
