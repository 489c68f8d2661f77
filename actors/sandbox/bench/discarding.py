"""How fast presence and typing are thrown away, beside the loop of the client library itself."""

import ssl
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
from chattolib.client import ChattoClient
from chattolib.realtime import RealtimeConnection

from ...chatto.limits import Limits
from ...chatto.realtime import open_stream
from ...sessions.stream_events import MessagePosted, StreamEvent, StreamOpened
from ..stage import Colleague
from . import flood
from .figures import Figure, at_least, at_most
from .rig import Watch, WatchedServer, ours, stage

__all__ = ["discarding"]

LEAST_RATIO = 0.8


async def discarding(folder: Path, rounds: int, frames: int) -> list[Figure]:
    """Throw so many frames away, in turns with the client library."""
    rates: dict[str, list[float]] = {"ours": [], "theirs": []}
    written, called = list[float](), list[float]()
    with _flooding(frames) as port:
        async with stage(folder) as opened:
            for _ in range(rounds):
                rates["theirs"].append(await _theirs(port, frames))
                rate, commits, calls = await _ours(opened, port, frames)
                rates["ours"].append(rate)
                written.append(commits)
                called.append(calls)
    ratios = [mine / its for mine, its in zip(rates["ours"], rates["theirs"], strict=True)]
    return [
        Figure("presence and typing discarded, client library", "/s", rates["theirs"]),
        Figure("presence and typing discarded, ours", "/s", rates["ours"]),
        Figure("ours against the client library", "x", ratios, at_least(LEAST_RATIO)),
        Figure("commits meanwhile", "", written, at_most(0)),
        Figure("calls of the server meanwhile", "", called, at_most(0)),
    ]


class FloodedServer(WatchedServer):
    """The server of the stage, but for the stream, which is the flood."""

    def __init__(self, url: str, watch: Watch, port: int) -> None:
        """Connect to nothing yet."""
        super().__init__(url, watch)
        self._port = port

    async def stream(self, resume_after: str | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Open the flood."""
        del resume_after
        url = f"ws://127.0.0.1:{self._port}/"
        opened = await open_stream(url, "token", ssl.create_default_context(), Limits())
        try:
            yield StreamOpened(opened.server_version)
            while True:
                event = await opened.next_event()
                self._watch.note_arrival(event)
                yield event
        finally:
            await opened.aclose()


async def _ours(opened: Colleague, port: int, frames: int) -> tuple[float, float, float]:
    """Return frames a second, and how many commits and calls came between first and last."""
    calls = dict[str, int]()

    class Counting(Watch):
        def note_arrival(self, event: StreamEvent) -> None:
            super().note_arrival(event)
            if isinstance(event, MessagePosted):
                calls[event.message_id] = sum(opened.sandbox.calls.values())
                self.news.set()
                self.news = anyio.Event()

    watch = Counting()
    server = FloodedServer(opened.url, watch, port)
    async with ours(opened, counts=True, watch=watch, server=server):
        with anyio.fail_after(120):
            while flood.LAST not in watch.arrived:
                await watch.news.wait()
    took_s = watch.arrived[flood.LAST] - watch.arrived[flood.FIRST]
    commits = watch.commits_before[flood.LAST] - watch.commits_before[flood.FIRST]
    return frames / took_s, float(commits), float(calls[flood.LAST] - calls[flood.FIRST])


async def _theirs(port: int, frames: int) -> float:
    client = ChattoClient("token", base_url=f"http://127.0.0.1:{port}")
    began = 0.0
    async with RealtimeConnection(client) as connection:
        events = connection.events()
        async with aclosing(events):  # type: ignore[type-var] # an async generator, in truth
            async for event in events:
                if event.kind != "message_posted":
                    continue
                if event.id == flood.LAST:
                    break
                began = time.perf_counter()
    return frames / (time.perf_counter() - began)


@contextmanager
def _flooding(frames: int) -> Iterator[int]:
    """Run the flood in a process of its own, and return its port."""
    command = [sys.executable, "-m", flood.__name__, str(frames)]
    with subprocess.Popen(  # noqa: S603  our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:  # on the way out its input is closed, and it ends
        yield int(process.stdout.readline()) if process.stdout else 0
