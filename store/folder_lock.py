"""One process per state folder: a second one would answer everything a second time.

The lock is the kernel's, on a file beside the state file. It goes with the process however that
ends, so nothing has to be cleaned up after a kill. What is written into the file only says who
holds it; the file itself stays, since to delete it is to let two processes in.
"""

import fcntl
import logging
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

__all__ = ["NAME", "FolderLock", "FolderTakenError", "hold_folder", "let_go_of"]

log = logging.getLogger(__name__)

NAME = "gateway.lock"
FILE_MODE = 0o600
FOLDER_MODE = 0o700
LONGEST_NOTE = 100  # bytes


class FolderTakenError(Exception):
    """Another process holds the folder; the text says which and what to do."""


class FolderLock:
    """Holds one folder for this process."""

    def __init__(self, folder: Path, *, lock: Callable[[int, int], object] = fcntl.flock) -> None:
        """Hold nothing yet.

        Args:
            folder: made, only for its owner, where it is missing.
            lock: the kernel's call.
        """
        self._lock = lock
        self._file = folder / NAME
        self._descriptor: int | None = None
        # A child that was forked and runs no other program keeps a copy of the descriptor, and
        # with it the lock, also when we are killed.
        os.register_at_fork(after_in_child=partial(let_go_of, weakref.ref(self)))

    def acquire(self) -> None:
        """Take the folder, or say who has it; never waits.

        Raises:
            FolderTakenError: another process, or another lock of this one, holds it.
            OSError: the folder or the file cannot be written.
        """
        self._file.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        # No program that is started inherits it: the descriptor closes on exec.
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            self._lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            note = os.pread(descriptor, LONGEST_NOTE, 0).decode("utf-8", "replace").strip()
            os.close(descriptor)
            if isinstance(error, BlockingIOError):
                raise FolderTakenError(_refusal(self._file.parent, note)) from error
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go of the folder; may be called again."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Hold a state folder for the time of a block.

    Where no lock can be made (a file system that has none) it goes on without one; that a folder
    cannot be written is said when the state file is opened.

    Raises:
        FolderTakenError: another process holds it.
    """
    lock = FolderLock(folder)
    try:
        lock.acquire()
    except OSError as error:
        log.warning("%s is not locked (%s): a second gateway would not be told", folder, error)
    try:
        yield
    finally:
        lock.release()


def let_go_of(lock: "weakref.ref[FolderLock]") -> None:
    """Close this process's copy of a lock; called in a forked child, the parent keeps its own."""
    held = lock()
    if held is not None:
        held.release()


def _refusal(folder: Path, note: str) -> str:
    who = f"process {note}" if note.isdecimal() else "another process"
    return (
        f"the state folder {folder} is in use by {who}: one gateway at a time; stop the other "
        "one, or give this one a home of its own (HERMES_HOME)"
    )
