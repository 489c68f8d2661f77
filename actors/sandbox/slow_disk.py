"""A state file on a disk that takes its time: commits wait, as for a worn SD card."""

import time
from collections.abc import Callable

from sqlite_utils import Database

__all__ = ["slow_down"]


def slow_down(db: Database, wait_s: Callable[[], float]) -> None:
    """Let every commit of a connection wait first.

    Args:
        db: of the thread that has the file; nobody else is held up.
        wait_s: seconds of the next wait; 0: none.
    """

    def before(statement: str) -> None:
        if statement.lower().startswith("commit"):
            time.sleep(wait_s())

    db.conn.set_trace_callback(before)
