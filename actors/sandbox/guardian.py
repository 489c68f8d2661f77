"""Runs one program and makes sure that it ends, whatever becomes of whoever wanted it.

    python -I guardian.py GRACE_S FOLDER LOG PROGRAM ARGUMENT...

A program of its own, with the standard library alone, run as a file: it has to start at once
and to survive its parent. The parent holds the other end of its standard input. A line there
ends the program, the line `kill` without asking it; the end of the input, which also comes when
the parent is killed, ends it and removes the folder besides. So every end, planned or not, takes
the same path. The death signal of Linux was rejected: it knows nothing of grandchildren or
folders, and macOS has none.

Writes one line when the program has ended: `ended` and its exit code, minus the signal's number
if one ended it.
"""

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from enum import Enum
from typing import IO

__all__ = ["Happening", "main"]

EXIT_NOT_STARTED = 127  # as a shell says it


class Happening(Enum):
    """What a guardian waits for."""

    STOP_WANTED = "stop"
    """A line came, or a signal."""
    KILL_WANTED = "kill"
    """The line `kill` came."""
    PARENT_GONE = "gone"
    """The input has ended."""
    PROGRAM_ENDED = "ended"


def main(arguments: list[str]) -> int:
    """Guard a program until the parent lets go.

    Args:
        arguments: seconds between asking the program to end and killing it; a folder to
            remove at the end, or nothing; a file for what the program prints, or nothing to let
            it share the guardian's output; the program and its arguments.

    Returns:
        The program's exit code, as a shell would say it.
    """
    grace_s, folder, log, *command = arguments
    happenings: queue.SimpleQueue[Happening] = queue.SimpleQueue()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: happenings.put(Happening.PARENT_GONE))
    try:
        with open(log or os.devnull, "ab") as sink:  # noqa: PTH123 - nothing is a path here, too
            output = sink if log else None
            code = _guard(command, output, float(grace_s), happenings)
        _await_parting(happenings)
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _guard(
    command: list[str],
    output: IO[bytes] | None,
    grace_s: float,
    happenings: "queue.SimpleQueue[Happening]",
) -> int:
    """Run the program until it ends or has to; return its exit code."""
    threading.Thread(target=_listen, args=(sys.stdin.buffer, happenings), daemon=True).start()
    try:
        # A group of its own: Ctrl-C at the terminal is the parent's affair, and what the
        # program starts ends with it.
        program = subprocess.Popen(  # noqa: S603 - the program is the parent's to name
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error}\n")
        _say(f"ended {EXIT_NOT_STARTED}")
        return EXIT_NOT_STARTED
    threading.Thread(target=_wait_for, args=(program, happenings), daemon=True).start()
    why = happenings.get()
    if why in {Happening.STOP_WANTED, Happening.PARENT_GONE}:
        _end(program, grace_s)
    _signal_group(program.pid, signal.SIGKILL)  # whatever it left behind
    code = program.wait()
    _say(f"ended {code}")
    if why is Happening.PARENT_GONE:
        happenings.put(why)
    return code


def _listen(source: IO[bytes], happenings: "queue.SimpleQueue[Happening]") -> None:
    # Below the buffer: a thread that blocks inside it would hang the interpreter's end.
    while line := os.read(source.fileno(), 1024):
        is_kill = line == b"kill\n"
        happenings.put(Happening.KILL_WANTED if is_kill else Happening.STOP_WANTED)
    happenings.put(Happening.PARENT_GONE)


def _wait_for(
    program: "subprocess.Popen[bytes]", happenings: "queue.SimpleQueue[Happening]"
) -> None:
    program.wait()
    happenings.put(Happening.PROGRAM_ENDED)


def _end(program: "subprocess.Popen[bytes]", grace_s: float) -> None:
    """Ask the program to end, and insist after the grace."""
    _signal_group(program.pid, signal.SIGTERM)
    try:
        program.wait(grace_s)
    except subprocess.TimeoutExpired:
        _signal_group(program.pid, signal.SIGKILL)


def _signal_group(leader: int, number: signal.Signals) -> None:
    # Nobody is left, or (macOS) only a process that has ended and was not waited for.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _await_parting(happenings: "queue.SimpleQueue[Happening]") -> None:
    """Wait until the parent needs the folder no more."""
    while happenings.get() is not Happening.PARENT_GONE:
        pass


def _say(line: str) -> None:
    # A parent that was killed does not listen.
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
