"""The host of lives, from the campaign's side: started, told, listened to, ended."""

import math
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from .talk import Ended, Mail, read, write

__all__ = ["HostGoneError", "Hosting", "hosting"]


class HostGoneError(Exception):
    """The host has ended by itself; what it printed says why."""


class Hosting:
    """A host that runs."""

    def __init__(self, commands: ByteSendStream, heard: MemoryObjectReceiveStream[Mail]) -> None:
        """Use `hosting`."""
        self._commands = commands
        self._heard = heard

    async def tell(self, mail: Mail) -> None:
        """Give a command."""
        await self._commands.send(write(mail))

    async def hear(self) -> Mail:
        """Return what is said next. Raises: HostGoneError."""
        try:
            return await self._heard.receive()
        except anyio.EndOfStream as error:
            message = "the host of the plugin has ended"
            raise HostGoneError(message) from error

    async def hear_within(self, seconds: float) -> Mail | None:
        """Return what is said next; None: nothing in that time. Raises: HostGoneError."""
        with anyio.move_on_after(seconds):
            return await self.hear()
        return None


@asynccontextmanager
async def hosting(environment: dict[str, str]) -> AsyncIterator[Hosting]:
    """Start a host; end it, and whatever it hosts, with the block."""
    command = [sys.executable, "-m", f"{__package__}.host"]
    process = await anyio.open_process(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None,
        env=environment,
        start_new_session=True,
    )
    said, heard = anyio.create_memory_object_stream[Mail](math.inf)
    commands = cast("ByteSendStream", process.stdin)
    async with process, heard, anyio.create_task_group() as tasks:
        tasks.start_soon(_listen, cast("ByteReceiveStream", process.stdout), said)
        try:
            yield Hosting(commands, heard)
        finally:
            with anyio.CancelScope(shield=True):
                await commands.aclose()  # it ends its life, and then itself
                await process.wait()
            tasks.cancel_scope.cancel()


async def _listen(source: ByteReceiveStream, said: MemoryObjectSendStream[Mail]) -> None:
    rest = b""
    async with said:
        async for got in source:
            *lines, rest = (rest + got).split(b"\n")
            for line in lines:
                # A life that was killed may have left half a line behind.
                mail = read(line) if line.startswith(b"[") else Ended(1)
                await said.send(mail)
