"""The realtime stream, protocol 1: handshake, liveness, and a reader that is never late.

Source: Chatto 0.4.20, proto/chatto/realtime/v1/realtime.proto.
"""

import asyncio
import ssl
from collections import deque
from typing import Final, NoReturn

import anyio

from ..sessions.errors import StreamLostError
from ..sessions.stream_events import StreamEvent
from .channel import FrameChannel, dial, foreign_protocol
from .frames import event_of
from .limits import Limits
from .pb import Proto
from .pb import realtime as pb

__all__ = ["RealtimeStream", "open_stream"]

PROTOCOL: Final = 1

UNANSWERED: Final = frozenset({"text_frame", "undecodable_frame", "closed"})
"""As the first answer these mean that no protocol 1 is spoken there.

`closed` is a close frame without a code: how the one of a newer protocol reads in ours.
"""


class RealtimeStream:
    """An open stream. A task reads the socket at once, whatever the consumer does meanwhile.

    That is because the server cuts a client that reads slowly, and what was cut is lost.
    """

    def __init__(
        self, channel: FrameChannel, server_version: str, patience_s: float, limit: int
    ) -> None:
        """Start reading.

        Args:
            channel: subscribed; everything from here on is delivered.
            server_version: what the server calls itself.
            patience_s: so long without any frame means that the stream is lost.
            limit: events that may wait for the consumer.
        """
        self.server_version = server_version
        self._channel = channel
        self._patience_s = patience_s
        self._limit = limit
        self._events: deque[StreamEvent] = deque()
        self._news = asyncio.Event()
        self._reader = asyncio.create_task(self._read(), name="chatto stream")
        self._reader.add_done_callback(lambda _: self._news.set())

    async def next_event(self) -> StreamEvent:
        """Return the next event; wait for it if need be.

        Raises:
            StreamLostError: the stream has ended, and all it brought was returned before.
            TokenRefusedError: likewise; the server took the credential back.
            ProtocolNotSpokenError: likewise.
        """
        while not self._events:
            if self._reader.done():
                self._reader.result()
            self._news.clear()
            await self._news.wait()
        return self._events.popleft()

    async def aclose(self) -> None:
        """Leave no task and no socket behind; may be called again."""
        self._reader.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({self._reader})
        if not self._reader.cancelled():
            self._reader.exception()  # seen: nobody is left who would ask for it
        await self._channel.aclose()

    async def _read(self) -> NoReturn:
        while True:
            event = _event_in(await self._next_frame())
            if event is None:
                continue
            if len(self._events) >= self._limit:
                reason = "overflow"
                raise StreamLostError(reason)
            self._events.append(event)
            self._news.set()

    async def _next_frame(self) -> Proto:
        try:
            async with asyncio.timeout(self._patience_s):
                return await self._channel.receive()
        except TimeoutError as error:
            self._channel.abandon()
            reason = "silent"
            raise StreamLostError(reason) from error


async def open_stream(url: str, token: str, tls: ssl.SSLContext, limits: Limits) -> RealtimeStream:
    """Open the stream; return when the server has begun to deliver.

    Args:
        url: of the stream.
        token: the bearer token.
        tls: used for `wss` only.
        limits: of the waits, and of what may wait.

    Raises:
        StreamLostError: it could not be opened; a later attempt may succeed.
        TokenRefusedError: the server does not know the token.
        ProtocolNotSpokenError: the server speaks another protocol.
    """
    channel = await dial(url, tls, limits)
    try:
        hello = await _say_hello(channel, token, limits.handshake_timeout_s)
        await _subscribe(channel, limits.handshake_timeout_s)
    except BaseException:
        await channel.aclose()
        raise
    interval_s = hello.heartbeat_interval_seconds or limits.heartbeat_s
    patience_s = interval_s * limits.missed_heartbeats
    return RealtimeStream(channel, hello.server_version, patience_s, limits.queued_events)


async def _say_hello(channel: FrameChannel, token: str, wait_s: float) -> Proto:
    hello = pb.RealtimeClientHello(protocol_version=PROTOCOL, bearer_token=token)
    await channel.send(pb.RealtimeClientFrame(hello=hello))
    try:
        frame = await _answer(channel, "hello", wait_s)
    except StreamLostError as error:
        if error.reason in UNANSWERED:
            what = f"its first answer: {error.reason}"
            raise foreign_protocol(what) from error
        raise
    if frame.hello.protocol_version > PROTOCOL:
        what = f"version {frame.hello.protocol_version}"
        raise foreign_protocol(what)
    return frame.hello


async def _subscribe(channel: FrameChannel, wait_s: float) -> None:
    frame = pb.RealtimeClientFrame(subscribe_events=pb.RealtimeSubscribeEvents())
    await channel.send(frame)
    await _answer(channel, "subscribed", wait_s)


async def _answer(channel: FrameChannel, wanted: str, wait_s: float) -> Proto:
    """Return the frame that has to come next; complaints that end nothing may precede it."""
    try:
        async with asyncio.timeout(wait_s):
            frame = await channel.receive()
            while frame.WhichOneof("frame") == "error":
                frame = await channel.receive()
    except TimeoutError as error:
        reason = f"no_{wanted}"
        raise StreamLostError(reason) from error
    kind = frame.WhichOneof("frame")
    if kind != wanted:
        what = f"{kind or 'a frame of no known kind'} instead of {wanted}"
        raise foreign_protocol(what)
    return frame


def _event_in(frame: Proto) -> StreamEvent | None:
    """Return the event of a frame; None: it only shows that the server is alive.

    Raises:
        StreamLostError: the session was ended, by a logout of the account elsewhere or a
            new password. The token in use may still be good.
    """
    if frame.WhichOneof("frame") != "event":
        return None
    if frame.event.HasField("session_terminated"):
        what = f"session_terminated:{frame.event.session_terminated.reason}"
        raise StreamLostError(what)
    return event_of(frame.event)
