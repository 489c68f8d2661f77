"""Runs the demo as a program, and finds whatever it leaves behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

MARK = "PYTHON_DEMO_RUN"
"""A variable that everything the demo starts inherits: how its processes are found."""


class DemoRun:
    """One run of the demo; its temporary folders lie below `tmp`."""

    def __init__(self, tmp: Path, process: "subprocess.Popen[str]") -> None:
        self.tmp = tmp
        self.process = process
        self.lines: list[str] = []

    @property
    def output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def read_until(self, beginning: str) -> None:
        """Read output up to a line that begins like this."""
        for line in self.output:
            self.lines.append(line.rstrip("\n"))
            if line.startswith(beginning):
                return
        shown = "\n".join(self.lines)
        pytest.fail(f"the demo ended before `{beginning}`:\n{shown}")

    def types(self, line: str) -> None:
        """Type a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def end_of_input(self) -> None:
        """Type nothing any more."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> int:
        """Read the rest, wait for the end, return the exit code."""
        self.lines += self.output.read().splitlines()
        return self.process.wait()

    def leftovers(self) -> list[str]:
        """Return the processes and temporary folders that are still there."""
        folders = [str(path) for path in self.tmp.iterdir()]
        return folders + list(processes_of(self.tmp))

    def leaves_nothing(self, within_s: float = 0.0) -> bool:
        """Tell whether nothing of it is left, or is within some seconds."""
        until = time.monotonic() + within_s
        while self.leftovers() and time.monotonic() < until:
            time.sleep(0.1)
        return not self.leftovers()


@contextmanager
def demo_run(tmp: Path, *arguments: str) -> Iterator[DemoRun]:
    """Start the demo in an empty folder for temporary files; kill what is left at the end."""
    command = [sys.executable, "-m", "hermes_chatto.actors.sandbox.demo", *arguments]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp), MARK: str(tmp), "PYTHONUNBUFFERED": "1"},
    )
    run = DemoRun(tmp, process)
    try:
        yield run
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def processes_of(tmp: Path) -> Iterator[str]:
    """Yield the processes that a run has started, by the variable they inherited."""
    mark = f"{MARK}={tmp}"
    if not Path("/proc/self/environ").exists():
        listed = subprocess.run(
            ["/bin/ps", "-Eaxww", "-o", "pid=,command="],
            capture_output=True,
            text=True,
            check=True,
        )
        yield from (line[:80] for line in listed.stdout.splitlines() if mark in line)
        return
    for process in Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
        if mark.encode() in variables and command:
            yield f"{process.name} {command}"


INTERRUPTED = 128 + signal.SIGINT
