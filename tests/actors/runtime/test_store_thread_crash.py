"""StoreThread in a process that is killed: acknowledged is stored."""

import os
import sqlite3
import subprocess
import sys
from itertools import islice
from pathlib import Path

KILLS = 4
WRITER = Path(__file__).with_name("crash_writer.py")


def kill_a_writer(path: Path, round_number: int, after: int) -> set[int]:
    """Run a writer, kill it after so many acknowledgements, and return all of them."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(WRITER), str(path), str(round_number)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = list(islice(writer.stdout, after))
        writer.kill()
        acknowledged += writer.stdout.readlines()
    return {int(line) for line in acknowledged if line.endswith("\n")}


def test_every_acknowledged_row_survives_a_kill(tmp_path: Path) -> None:
    """In the middle of whatever it was doing; and what is written together stays together."""
    path = tmp_path / "state.db"
    acknowledged: set[int] = set()

    for round_number in range(KILLS):
        acknowledged |= kill_a_writer(path, round_number, after=100 + 37 * round_number)

    connection = sqlite3.connect(path)
    entities = {number for (number,) in connection.execute("SELECT id FROM entity")}
    logged = {number for (number,) in connection.execute("SELECT entity_id FROM log")}
    integrity = connection.execute("PRAGMA integrity_check").fetchall()
    connection.close()
    assert len(acknowledged) >= 100 * KILLS
    assert acknowledged <= entities
    assert entities == logged
    assert integrity == [("ok",)]
