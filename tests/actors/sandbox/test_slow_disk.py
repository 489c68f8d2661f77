"""A slow disk holds up commits, and nothing but them."""

from datetime import UTC, datetime
from pathlib import Path

from hermes_chatto.actors.sandbox.slow_disk import slow_down
from hermes_chatto.store.database import open_database, transaction


def test_each_commit_waits(tmp_path: Path) -> None:
    """Reads do not."""
    db = open_database(tmp_path / "state.db", now=datetime.now(UTC)).db
    waits: list[float] = []

    def wait_s() -> float:
        waits.append(0.0)
        return 0.0

    slow_down(db, wait_s)
    with transaction(db):
        db.execute("insert into glossary values ('reason', 'word', 'meaning')")
    db.execute("select * from glossary").fetchall()
    db.close()

    assert waits == [0.0]
