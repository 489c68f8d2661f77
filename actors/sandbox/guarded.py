"""A program that ends with us: Ctrl-C, an exception, even SIGKILL; see `guardian`."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from . import guardian

__all__ = ["GuardedProgram", "ProgramEndedError"]

LINE_LIMIT: Final = 4096  # bytes
INSIST_S: Final = 5.0  # on top of the grace, for a guardian to say that its program ended


class ProgramEndedError(Exception):
    """The program has ended by itself."""


class GuardedProgram:
    """One running program, from its start until `aclose`."""

    def __init__(self, process: Process, grace_s: float) -> None:
        """Use `start`."""
        self._process = process
        self._input = cast("ByteSendStream", process.stdin)
        self._lines = BufferedByteReceiveStream(cast("ByteReceiveStream", process.stdout))
        self._grace_s = grace_s
        self._has_ended = False

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        folder: Path | None = None,
        log: Path | None = None,
        grace_s: float = 5.0,
    ) -> "GuardedProgram":
        """Start a program.

        Args:
            command: program and arguments.
            environment: the whole environment it gets.
            folder: removed when it is closed; None: nothing is.
            log: where its output goes; None: to `next_line`.
            grace_s: seconds between asking it to end and killing it.

        Raises:
            OSError: the interpreter cannot be started.
        """
        guarded = [sys.executable, "-I", guardian.__file__, str(grace_s)]
        guarded += [str(folder or ""), str(log or ""), *command]
        # A start that is cancelled half-way kills the guardian, which may have started already.
        with anyio.CancelScope(shield=True):  # which swallows nothing: pyright cannot know
            process = await anyio.open_process(
                guarded,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None,
                start_new_session=True,
            )
        return cls(process, grace_s)  # pyright: ignore[reportPossiblyUnboundVariable]

    async def next_line(self) -> str:
        """Return the next line it prints.

        Raises:
            ProgramEndedError: there will be none; the text has its exit code.
        """
        try:
            line = await self._lines.receive_until(b"\n", LINE_LIMIT)
        except (anyio.EndOfStream, anyio.IncompleteRead) as error:
            self._has_ended = True
            message = "it has ended, and nobody says how"
            raise ProgramEndedError(message) from error
        text = line.decode("utf-8", "replace")
        word, _, code = text.partition(" ")
        if word == "ended":
            self._has_ended = True
            message = f"it ended with exit code {code}"
            raise ProgramEndedError(message)
        return text

    async def stop(self) -> None:
        """Ask it to end, wait until it has; a folder stays. Does nothing when it has ended."""
        await self._end(b"stop\n")

    async def kill(self) -> None:
        """End it where it stands; a folder stays. Does nothing when it has ended."""
        await self._end(b"kill\n")

    async def _end(self, line: bytes) -> None:
        if self._has_ended:
            return
        with anyio.move_on_after(self._grace_s + INSIST_S, shield=True):
            try:
                await self._input.send(line)
                while True:
                    await self.next_line()
            except ProgramEndedError:
                return
            except anyio.BrokenResourceError:
                self._has_ended = True  # its guardian, too

    async def aclose(self) -> None:
        """End it, remove its folder, leave nothing; may be called again."""
        with anyio.CancelScope(shield=True):
            await self._input.aclose()
            with anyio.move_on_after(self._grace_s + INSIST_S):
                await self._process.wait()
            if self._process.returncode is None:
                self._process.kill()
            await self._process.aclose()
