"""One process per state folder, whatever becomes of the one that had it."""

import errno
import os
import signal
import stat
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hermes_chatto.store.folder_lock import (
    NAME,
    FolderLock,
    FolderTakenError,
    hold_folder,
    let_go_of,
)

PROGRAM = Path(__file__).with_name("folder_holder.py")


@contextmanager
def holder(folder: Path, how: str = "alone") -> Iterator[subprocess.Popen[str]]:
    """Let another process hold a folder; what it leaves behind is ended, too."""
    command = [sys.executable, str(PROGRAM), str(folder), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            if child:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)


def test_a_second_process_is_told_who_has_the_folder_and_what_to_do(tmp_path: Path) -> None:
    """One line, with the folder and the remedy."""
    folder = tmp_path / "chatto"
    with holder(folder) as process:
        with pytest.raises(FolderTakenError) as refused:
            FolderLock(folder).acquire()

        said = str(refused.value)
        assert f"{folder} is in use by process {process.pid}:" in said
        assert "stop the other one" in said
        assert "\n" not in said


@pytest.mark.parametrize("how", ["alone", "fork", "exec"])
def test_a_process_that_was_killed_leaves_no_lock(tmp_path: Path, how: str) -> None:
    """Nor do the children it leaves behind, which may go on for a long time."""
    with holder(tmp_path, how) as process:
        process.kill()
        process.wait()
        with hold_folder(tmp_path):
            assert (tmp_path / NAME).read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("how", ["fork", "exec"])
def test_a_child_takes_no_lock_away(tmp_path: Path, how: str) -> None:
    """A gateway starts programs all the time."""
    with holder(tmp_path, how), pytest.raises(FolderTakenError):
        FolderLock(tmp_path).acquire()


def test_a_stop_releases_the_folder(tmp_path: Path) -> None:
    """The gateway may start its adapter anew in the same process."""
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    first.acquire()
    with pytest.raises(FolderTakenError):
        second.acquire()
    first.release()
    first.release()

    second.acquire()
    second.release()


def test_a_copy_can_be_let_go_of(tmp_path: Path) -> None:
    """What a forked child does first; a lock that is gone already has no copy."""
    lock = FolderLock(tmp_path)
    lock.acquire()
    let_go_of(weakref.ref(lock))
    with hold_folder(tmp_path):
        gone = weakref.ref(lock)
        del lock
        let_go_of(gone)


def test_the_lock_is_private_to_its_owner(tmp_path: Path) -> None:
    """As everything in the folder is."""
    folder = tmp_path / "home" / "chatto"
    with hold_folder(folder):
        assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_an_unreadable_note_names_no_process(tmp_path: Path) -> None:
    """The note may be half written, or somebody's joke."""
    with hold_folder(tmp_path):
        (tmp_path / NAME).write_text("a\nb")
        with pytest.raises(FolderTakenError, match="in use by another process"):
            FolderLock(tmp_path).acquire()


def test_a_folder_without_locks_is_used_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With a warning; what else is wrong with it is said by whoever opens the file."""
    (tmp_path / NAME).mkdir()
    with hold_folder(tmp_path):
        (line,) = caplog.messages

    assert f"{tmp_path} is not locked" in line


def test_a_file_system_without_locks_says_so(tmp_path: Path) -> None:
    """Whoever wants the folder decides what follows; no descriptor is left open."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, f"no locks: {descriptor}, {operation}")

    with pytest.raises(OSError, match="no locks") as refused:
        FolderLock(tmp_path, lock=refuse).acquire()

    assert refused.value.errno == errno.ENOLCK
    assert not isinstance(refused.value, FolderTakenError)
