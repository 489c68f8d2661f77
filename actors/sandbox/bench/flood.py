"""A process that says nothing but presence and typing, as fast as it can be read.

Started by `discarding`; ends when its standard input does. Prints its port.
"""

import asyncio
import sys
from itertools import cycle, islice

from websockets.asyncio.server import ServerConnection, serve

from ..server.frames import Event, Frame, hello, of_event, subscribed

__all__ = ["FIRST", "LAST", "STRANGER"]

ROOM, STRANGER = "RF00DF00DF00D0", "UF00DF00DF00D0"
FIRST, LAST = "MF00DF00DF00D0", "MF00DF00DF00D1"
"""Messages before the flood and behind it."""
CALM_S = 0.5  # whoever subscribed does what it does then
BINARY = b"\x82"
SHORT, MEDIUM = 125, 126


def main(count: int) -> None:
    """Serve until standard input ends."""
    asyncio.run(_serve(count))


async def _serve(count: int) -> None:
    flood = _flood(count)

    async def pour(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(hello(15.0).encoded)
        await connection.recv()
        await connection.send(subscribed().encoded)
        await asyncio.sleep(CALM_S)
        connection.transport.write(flood)
        await connection.wait_closed()

    async with serve(pour, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        (socket,) = server.sockets
        sys.stdout.write(f"{socket.getsockname()[1]}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


def _flood(count: int) -> bytes:
    kinds = cycle(
        [
            Event("presence_changed", STRANGER, {"user_id": STRANGER, "status": 1}, "e", 1),
            Event("user_typing", STRANGER, {"room_id": ROOM}, "e", 1),
        ]
    )
    noise = [of_event(event) for event in islice(kinds, 2)]
    frames = [_posted(FIRST), *islice(cycle(noise), count), _posted(LAST)]
    return b"".join(_framed(frame) for frame in frames)


def _posted(message_id: str) -> Frame:
    payload = {"room_id": ROOM, "message_event_id": message_id}
    return of_event(Event("message_posted", STRANGER, payload, message_id, 1))


def _framed(frame: Frame) -> bytes:
    """Return a frame as a WebSocket message of a server."""
    length = len(frame.encoded)
    size = bytes([length]) if length <= SHORT else bytes([MEDIUM]) + length.to_bytes(2, "big")
    return BINARY + size + frame.encoded


if __name__ == "__main__":
    main(int(sys.argv[1]))
