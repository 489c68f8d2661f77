"""The realtime connection: handshake, then frames as they come, protocol 1.

A connection that the server ends while it is subscribed just stops: no closing handshake, the
client sees 1006. Before that, refusals close with a code and a reason.
Source: Chatto 0.4.20, cli/internal/http_server/realtime.go,
proto/chatto/realtime/v1/realtime.proto.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import anyio
from starlette.websockets import WebSocket, WebSocketDisconnect

from . import frames
from .accounts import Account
from .credentials import SESSION_COOKIE
from .faults import Delivery, Faults, StreamCutError
from .feed import Ending, Stream
from .frames import Frame
from .ids import IdKind
from .membership import Membership
from .pb import Proto, parse_binary, wire
from .world import World

HANDSHAKE_S = 10.0  # for each of the client's two first frames
WRITE_S = 10.0  # for one frame; a client that does not read for so long is cut
STALL_S = 1.0  # a write that takes longer means that the client had stopped reading
BACKLOG = 256  # frames that may wait behind such a write
PROTOCOL_ERROR, POLICY_VIOLATION, ABNORMAL = 1002, 1008, 1006


@dataclass(frozen=True, slots=True)
class Timing:
    """The time limits of a connection, in seconds."""

    heartbeat_s: float = 15.0
    handshake_s: float = HANDSHAKE_S
    write_s: float = WRITE_S
    stall_s: float = STALL_S


class _Trouble(Enum):
    """What can be wrong with a handshake: error code and text, close code and reason."""

    UNREADABLE_HELLO = (
        "bad_hello",
        "expected binary protobuf hello frame",
        PROTOCOL_ERROR,
        "bad hello",
    )
    NO_HELLO = ("bad_hello", "first frame must be hello", PROTOCOL_ERROR, "bad hello")
    VERSION = (
        "unsupported_protocol",
        "unsupported realtime protocol version",
        PROTOCOL_ERROR,
        "unsupported protocol",
    )
    CREDENTIAL = (
        "authentication_required",
        "authentication required",
        POLICY_VIOLATION,
        "authentication required",
    )
    UNREADABLE_SUBSCRIBE = (
        "bad_subscribe",
        "expected subscribe_events frame",
        PROTOCOL_ERROR,
        "bad subscribe",
    )
    NO_SUBSCRIBE = (
        "bad_subscribe",
        "second frame must be subscribe_events",
        PROTOCOL_ERROR,
        "bad subscribe",
    )


class _HandshakeError(Exception):
    """The client did not do its part; it is told why."""

    def __init__(self, trouble: _Trouble) -> None:
        code, message, self.close_code, self.reason = trouble.value
        super().__init__(message)
        self.frame = frames.fatal_error(code, message)


class Realtime:
    """Serves WebSocket connections at `/api/realtime`."""

    def __init__(self, world: World, faults: Faults, timing: Timing) -> None:
        """Serve this world's events."""
        self._world = world
        self._membership = Membership(world)
        self._faults = faults
        self._timing = timing
        self._handshakes: set[anyio.CancelScope] = set()
        self._open = 0
        self._closed = anyio.Event()

    async def serve(self, socket: WebSocket) -> None:
        """Serve one connection until either side ends it."""
        self._open += 1
        try:
            await self._serve(_Connection(socket, self._faults, self._timing))
        except WebSocketDisconnect:
            return  # the client left while it was written to; nobody is there to be told
        finally:
            self._open -= 1
            self._closed.set()

    async def stop(self) -> None:
        """End every connection as a server does that is stopped, and wait until they are.

        Subscribed clients are asked to come back; those in the handshake hear nothing.
        """
        for scope in self._handshakes:
            scope.cancel()
        for stream in self._world.feed.streams():
            stream.end(Ending.STOPPED)
        while self._open:
            self._closed = anyio.Event()
            await self._closed.wait()

    async def _serve(self, connection: "_Connection") -> None:
        await connection.socket.accept()
        account = None
        with anyio.CancelScope() as scope:
            self._handshakes.add(scope)
            try:
                account = await self._handshake(connection)
            except _HandshakeError as error:
                await connection.send(error.frame)
                await connection.socket.close(error.close_code, error.reason)
            finally:
                self._handshakes.discard(scope)
        if account is None:
            return
        stream = self._world.feed.open(account.id, self._membership.rooms_of(account))
        try:
            await self._stream(connection, stream)
        finally:
            self._world.feed.close(stream)

    async def _handshake(self, connection: "_Connection") -> Account:
        """Take hello and subscribe_events; what is posted in between is not delivered."""
        hello = await connection.expect("hello", _Trouble.UNREADABLE_HELLO, _Trouble.NO_HELLO)
        account = self._authenticate(hello, connection.socket)
        connection.user_id = account.id
        await connection.send(frames.hello(self._timing.heartbeat_s))
        await connection.expect(
            "subscribe_events", _Trouble.UNREADABLE_SUBSCRIBE, _Trouble.NO_SUBSCRIBE
        )
        return account

    def _authenticate(self, hello: Proto, socket: WebSocket) -> Account:
        if hello.protocol_version not in {0, frames.PROTOCOL_VERSION}:
            raise _HandshakeError(_Trouble.VERSION)
        credentials = self._world.credentials
        account = credentials.bearer(hello.bearer_token)
        session = credentials.session(socket.cookies.get(SESSION_COOKIE, ""))
        if account is None and session is not None:
            account = session.account
        if account is None:
            raise _HandshakeError(_Trouble.CREDENTIAL)
        return account

    async def _stream(self, connection: "_Connection", stream: Stream) -> None:
        """Write and read at once until one of them is done."""
        stream.put(frames.subscribed())
        async with anyio.create_task_group() as tasks:

            def done() -> None:
                tasks.cancel_scope.cancel()

            tasks.start_soon(self._read, connection, stream, done)
            tasks.start_soon(self._beat, stream)
            await connection.write(stream)
            done()

    async def _beat(self, stream: Stream) -> None:
        """Put heartbeats, counted from `subscribed`, whatever else is sent."""
        while True:
            await self._world.clock.sleep(self._timing.heartbeat_s)
            beat_id = self._world.ids.new(IdKind.EVENT)
            stream.put(frames.heartbeat(beat_id, self._world.clock.now_ns()))

    async def _read(
        self, connection: "_Connection", stream: Stream, done: Callable[[], None]
    ) -> None:
        """Answer pings; anything else the client says ends the stream."""
        while True:
            try:
                received = await connection.receive()
            except WebSocketDisconnect:
                done()
                return
            match received:
                case str():
                    trouble = "expected binary protobuf frame"
                case None:
                    trouble = "invalid protobuf frame"
                case _ if received.WhichOneof("frame") == "ping":
                    stream.put(frames.pong(received.ping.nonce))
                    continue
                case _:
                    trouble = "unexpected control frame"
            stream.put(frames.fatal_error("bad_frame", trouble))
            stream.end(Ending.TERMINATED)
            return


class _Connection:
    """One WebSocket: client frames in, server frames out, each within its time."""

    def __init__(self, socket: WebSocket, faults: Faults, timing: Timing) -> None:
        self.socket = socket
        self.user_id = ""
        self._faults = faults
        self._timing = timing

    async def receive(self) -> Proto | str | None:
        """Return the next client frame; a text frame as it is, None for unreadable bytes.

        Raises:
            WebSocketDisconnect: the client is gone.
        """
        message = await self.socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        encoded = message.get("bytes")
        if encoded is None:
            return str(message.get("text"))
        try:
            return parse_binary(encoded, wire.RealtimeClientFrame)
        except ValueError:
            return None

    async def expect(self, kind: str, unreadable: _Trouble, unexpected: _Trouble) -> Proto:
        """Return the content of a handshake frame of this kind.

        Raises:
            _HandshakeError: `unreadable` also when nothing comes in time.
            WebSocketDisconnect: the client is gone.
        """
        received: Proto | str | None = None
        with anyio.move_on_after(self._timing.handshake_s):
            received = await self.receive()
        if received is None or isinstance(received, str):
            raise _HandshakeError(unreadable)
        if received.WhichOneof("frame") != kind:
            raise _HandshakeError(unexpected)
        return getattr(received, kind)

    async def send(self, frame: Frame) -> None:
        """Write one frame."""
        delivery = Delivery(self.user_id, frame.kind, frame.encoded)
        try:
            await self._faults.delivering(delivery, self.socket.send_bytes)
        except StreamCutError as cut:
            if cut.close_code is not None:
                await self.socket.close(cut.close_code, cut.reason)
            raise WebSocketDisconnect(cut.close_code or ABNORMAL) from cut

    async def write(self, stream: Stream) -> None:
        """Write what waits until the stream ends or the client reads no more.

        A client that read too slowly and is back gets the close frame; one that stays away
        gets nothing.
        """
        try:
            while stream.ending is None:
                await stream.news()
                await self._write_waiting(stream)
            if stream.ending is Ending.STOPPED:
                with anyio.move_on_after(self._timing.write_s):
                    await self.send(frames.stream_closed())
        except WebSocketDisconnect:
            stream.end(Ending.CUT)

    async def _write_waiting(self, stream: Stream) -> None:
        while stream.waiting and stream.ending in {None, Ending.TERMINATED}:
            await self._write_one(stream)

    async def _write_one(self, stream: Stream) -> None:
        started_s = anyio.current_time()
        with anyio.move_on_after(self._timing.write_s) as limit:
            await self.send(stream.waiting.popleft())
        took_s = anyio.current_time() - started_s
        if limit.cancelled_caught:
            stream.end(Ending.CUT)
        elif took_s > self._timing.stall_s and len(stream.waiting) > BACKLOG:
            stream.end(Ending.STOPPED)
