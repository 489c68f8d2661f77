"""Small servers that are not Chatto, or are it badly: what a wrong address may lead to.

Real ones, on a free port of loopback; each lives for one test.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from websockets.asyncio.server import Server, ServerConnection, serve

__all__ = ["Asked", "Hangup", "OddAnswer", "OddServer", "OddStream", "Page", "Silence"]

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """An HTTP answer."""

    status: int = 200
    body: str | bytes = "<!doctype html><title>Welcome</title>"
    content_type: str = "text/html"
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_json(cls, status: int, value: object) -> Self:
        """Return an answer in JSON."""
        return cls(status, json.dumps(value), "application/json")

    def encoded(self) -> bytes:
        """Return it as it goes over the wire."""
        body = self.body.encode() if isinstance(self.body, str) else self.body
        head = {
            "content-type": self.content_type,
            "content-length": str(len(body)),
            "connection": "close",
            **self.headers,
        }
        lines = [f"HTTP/1.1 {self.status} Odd", *(f"{name}: {head[name]}" for name in head)]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True, slots=True)
class Silence:
    """No answer, the connection stays open."""


@dataclass(frozen=True, slots=True)
class Hangup:
    """No answer, the connection ends."""

    first: bytes = b""
    """What is written before."""


OddAnswer = Page | Silence | Hangup


class OddServer:
    """An HTTP server that answers as it is told and remembers what it was asked."""

    def __init__(self, answer: Callable[[Asked], OddAnswer] | OddAnswer) -> None:
        """Prepare it; it listens once entered."""
        self._answer = answer
        self.asked: list[Asked] = []
        self.somebody_asked = asyncio.Event()
        self._closing = asyncio.Event()
        self._serving: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> str:
        """Listen, and return the base URL."""
        self._server = await asyncio.start_server(self._accept, LOOPBACK, 0)
        return f"http://{LOOPBACK}:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening and let go of who still waits."""
        self._closing.set()
        if self._server is not None:
            # Whoever was accepted just now is let in first: asyncio loses the connection of a
            # client that it takes over after the close. Source: CPython 3.11, Server._attach.
            for listening in self._server.sockets:
                asyncio.get_running_loop().remove_reader(listening)
            await asyncio.sleep(0)
            self._server.close()
            await self._server.wait_closed()
        await asyncio.gather(*self._serving)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closing.is_set():  # accepted while the server was closing
            writer.transport.abort()
            return
        self._serving.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._reply(reader, writer)
            writer.close()
            await writer.wait_closed()
        except ConnectionError:
            writer.close()  # the client has left: nobody is there to be answered

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if isinstance(self._answer, Hangup):  # whatever is said, were it no HTTP
            await reader.read(1)
            writer.write(self._answer.first)
            return
        asked = await _request(reader)
        if asked is None:
            return
        self.asked.append(asked)
        self.somebody_asked.set()
        match self._answer(asked) if callable(self._answer) else self._answer:
            case Page() as page:
                writer.write(page.encoded())
            case Hangup(first=first):
                writer.write(first)
            case Silence():
                await self._closing.wait()


async def _request(reader: asyncio.StreamReader) -> Asked | None:
    """Read one request; None: the client left, or what it says is no HTTP."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, path, _ = head[0].split(" ", 2)
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head[1:] if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)


class OddStream:
    """A WebSocket server whose side of the conversation is a coroutine."""

    def __init__(self, talk: Callable[[ServerConnection], Awaitable[None]]) -> None:
        """Prepare it; it listens once entered."""
        self._talk = talk
        self._server: Server | None = None
        self.ended = asyncio.Event()
        """Set when the first conversation is over."""

    async def __aenter__(self) -> str:
        """Listen, and return the stream's URL."""
        self._server = await serve(self._serve, LOOPBACK, 0, close_timeout=0.1)
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"ws://{LOOPBACK}:{port}/api/realtime"

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening; conversations that still run are cut."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, connection: ServerConnection) -> None:
        try:
            await self._talk(connection)
        finally:
            self.ended.set()
