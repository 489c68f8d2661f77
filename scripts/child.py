"""Runs one program to its end while progress is shown, and leaves none behind."""

import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType

from .progress import Progress

__all__ = ["StoppedError", "end_on_signals", "run"]

POLL_S = 0.2
GRACE_S = 3.0  # pip removes its temporary folders on SIGINT; more than a moment it does not need


class StoppedError(BaseException):
    """Somebody asked for the end: Ctrl-C, or a signal to terminate.

    Not an `Exception`: nothing that repairs errors may take it for one.
    """

    def __init__(self, signum: int) -> None:
        """Keep the signal, whose number makes the exit code."""
        super().__init__(signum)
        self.exit_code = 128 + signum


def end_on_signals() -> None:
    """Turn Ctrl-C, SIGTERM and SIGHUP into `StoppedError`, except those the caller ignores."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, _raise_stopped)


def _raise_stopped(signum: int, _frame: FrameType | None) -> None:
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)  # a second Ctrl-C must not cut the clean-up short
    raise StoppedError(signum)


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    progress: Progress,
    detail: Callable[[str], str],
) -> tuple[int, str]:
    """Run a program in the same process group, so that Ctrl-C reaches it too.

    Args:
        command: program and arguments.
        environment: the whole environment it gets.
        log: where its output is appended.
        progress: told about every new line.
        detail: shortens a line of output to what the reader is shown; empty for nothing.

    Returns:
        Its exit code, and what it wrote to either stream.

    Raises:
        StoppedError: a signal came; the program has ended.
        OSError: the log cannot be written or the program cannot be started.
    """
    with log.open("a", encoding="utf-8", errors="replace") as sink:
        sink.write(f"$ {' '.join(command)}\n")
        sink.flush()
        start = sink.tell()
        child = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
        try:
            _watch(child, log, start, progress, detail)
        finally:
            _end(child)
    with log.open(encoding="utf-8", errors="replace") as source:
        source.seek(start)
        return child.returncode, source.read()


def _watch(
    child: subprocess.Popen[bytes],
    log: Path,
    start: int,
    progress: Progress,
    detail: Callable[[str], str],
) -> None:
    with log.open(encoding="utf-8", errors="replace") as source:
        source.seek(start)
        while True:
            try:
                child.wait(POLL_S)
            except subprocess.TimeoutExpired:
                progress.tick(_newest(source.read(), detail))
            else:
                return


def _newest(output: str, detail: Callable[[str], str]) -> str:
    """Return the last line worth showing, or nothing."""
    shown = [text for text in map(detail, output.splitlines()) if text]
    return shown[-1] if shown else ""


def _end(child: subprocess.Popen[bytes]) -> None:
    """Make sure the program is gone; costs nothing when it already is."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    sys.stdout.flush()
