"""One WebSocket that carries the frames of realtime protocol 1.

Every way in which it fails to open or ends gets a short name here.
Source: Chatto 0.4.20, cli/internal/http_server/realtime.go.
"""

import logging
import socket
import ssl
from typing import Final

import anyio
from google.protobuf.message import DecodeError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from ..sessions.errors import ProtocolNotSpokenError, StreamLostError
from .limits import Limits
from .pb import Proto
from .pb import realtime as pb
from .refusals import TokenRefusedError

__all__ = ["FrameChannel", "dial", "foreign_protocol"]

ABNORMAL: Final = 1006  # the close code of a connection that just ended
CLOSE_S: Final = 1.0  # for the server to answer our goodbye; it may be long gone

_log = logging.getLogger(__name__)


class FrameChannel:
    """Frames out and in; the frames that end a stream are raised as what they mean."""

    def __init__(self, connection: ClientConnection) -> None:
        """Use an open connection."""
        self._connection = connection

    async def send(self, frame: Proto) -> None:
        """Send a RealtimeClientFrame.

        Raises:
            StreamLostError: the connection has ended.
        """
        try:
            await self._connection.send(frame.SerializeToString())
        except ConnectionClosed as error:
            raise _closed(error) from error

    async def receive(self) -> Proto:
        """Return the next RealtimeServerFrame.

        Raises:
            StreamLostError: the server ended the stream, or something between us did.
            TokenRefusedError: the server does not know the token.
            ProtocolNotSpokenError: the server says so.
        """
        try:
            data = await self._connection.recv()
        except ConnectionClosed as error:
            raise _closed(error) from error
        if isinstance(data, str):
            reason = "text_frame"
            raise StreamLostError(reason)
        try:
            frame = pb.RealtimeServerFrame.FromString(data)
        except DecodeError as error:
            reason = "undecodable_frame"
            raise StreamLostError(reason) from error
        _raise_end(frame)
        return frame

    def abandon(self) -> None:
        """Close the socket without a goodbye, of which nobody would hear."""
        self._connection.transport.abort()

    async def aclose(self) -> None:
        """Close the socket, politely for up to a second."""
        with anyio.CancelScope(shield=True):
            await self._connection.close()


async def dial(url: str, tls: ssl.SSLContext, limits: Limits) -> FrameChannel:
    """Open a WebSocket.

    Args:
        url: where to.
        tls: used for `wss` only.
        limits: of the waits.

    Raises:
        StreamLostError: it did not open.
    """
    quiet = _log.getChild("socket")
    quiet.setLevel(logging.INFO)  # at DEBUG, frames are logged, and the first one is the token
    try:
        connection = await connect(
            url,
            ssl=tls if url.startswith("wss:") else None,
            compression=None,  # frames are a few dozen bytes
            open_timeout=limits.handshake_timeout_s,
            close_timeout=CLOSE_S,
            ping_interval=None,  # the server's heartbeats say more than a pong would
            logger=quiet,
        )
    except InvalidStatus as error:
        reason = f"http_{error.response.status_code}"
        raise StreamLostError(reason) from error
    except (InvalidHandshake, OSError, EOFError) as error:
        raise StreamLostError(_name_of(error)) from error
    return FrameChannel(connection)


def foreign_protocol(what: str) -> ProtocolNotSpokenError:
    """Return the error of a server that speaks otherwise."""
    return ProtocolNotSpokenError(
        f"CHATTO_URL: the server speaks another realtime protocol than this plugin ({what}). "
        "It has to speak protocol 1, as Chatto 0.4.20 does; use such a server"
    )


def _name_of(error: Exception) -> str:
    match error:
        case InvalidHandshake() | EOFError():
            return "no_websocket"
        case socket.gaierror():
            return "name_unknown"
        case ConnectionRefusedError():
            return "refused"
        case ssl.SSLError():
            return "tls"
        case TimeoutError():
            return "connect_timeout"
        case _:
            return "unreachable"


def _closed(error: ConnectionClosed) -> StreamLostError:
    code = ABNORMAL if error.rcvd is None else error.rcvd.code
    return StreamLostError(f"closed_{code}")


def _raise_end(frame: Proto) -> None:
    match frame.WhichOneof("frame"):
        case "error" if frame.error.fatal:
            raise _end(frame.error.code or "error")
        case "error":
            _log.warning("realtime: the server complains: %s", frame.error.code)
        case "close":
            raise _end(frame.close.code or "closed", frame.close.retry_after_ms / 1000)
        case _:
            pass


def _end(
    code: str, retry_after_s: float = 0.0
) -> StreamLostError | TokenRefusedError | ProtocolNotSpokenError:
    """Return what a code that ends the stream means.

    `bad_hello` and its kin are what a client gets that was too slow to say hello, so they
    are no reason to give up.
    """
    match code:
        case "authentication_required":
            return TokenRefusedError(f"realtime: {code}")
        case "unsupported_protocol":
            return foreign_protocol(code)
        case _:
            return StreamLostError(code, retry_after_s=retry_after_s)
