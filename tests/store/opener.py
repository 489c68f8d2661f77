"""A process that opens a state file when it is told to, and writes one receipt.

Usage: opener.py FILE RELEASE. Says `ready`, waits for a line, opens the file as if SQLite were
of that release, and says the place its receipt got. Run by `test_database_locks.py`.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from hermes_chatto.store.database import open_database, transaction
from hermes_chatto.tests.store.samples import receive

if __name__ == "__main__":
    path = Path(sys.argv[1])
    major, minor, patch = map(int, sys.argv[2].split("."))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    opened = open_database(path, now=datetime.now(UTC), release=(major, minor, patch))
    with transaction(opened.db):
        row = receive(opened.db, f"m{os.getpid()}")
    opened.db.close()
    sys.stdout.write(f"{row.lane_order}\n")
