"""A process that writes until it is killed, and says what was acknowledged.

Usage: crash_writer.py FILE ROUND. Each line it prints is the number of a row that a
caller was told is stored. Run by `test_store_thread_crash.py`.
"""

import os
import sqlite3
import sys
from dataclasses import dataclass
from itertools import count

import anyio

from hermes_chatto.actors.runtime.store_thread import StoreThread

WRITERS = 8


@dataclass(slots=True)
class Plain:
    """A connection and nothing around it: starts faster than the library."""

    conn: sqlite3.Connection


def open_plain(path: str) -> Plain:
    """Open the file the way the gateway does."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS entity (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TABLE IF NOT EXISTS log (entity_id INTEGER)")
    return Plain(connection)


async def write(store: StoreThread[Plain], first: int) -> None:
    """Store rows one after another, each as soon as the one before is acknowledged."""
    for number in count(first, WRITERS):

        def insert(database: Plain, number: int = number) -> None:
            database.conn.execute("INSERT INTO entity VALUES (?)", (number,))
            database.conn.execute("INSERT INTO log VALUES (?)", (number,))

        await store.run(insert)
        os.write(1, f"{number}\n".encode())


async def main(path: str, round_number: int) -> None:
    """Run all writers until somebody kills the process."""
    async with anyio.create_task_group() as tasks:
        store = StoreThread(lambda: open_plain(path))
        tasks.start_soon(store.serve)
        for writer in range(WRITERS):
            tasks.start_soon(write, store, round_number * 1_000_000 + writer)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]))
