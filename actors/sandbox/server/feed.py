"""The feed: which open streams hear of an event.

Every stream keeps the set of rooms it hears, as the server does: filled at `subscribed`, then
moved by what the stream itself was told. Hence a lifted ban does not bring a universal room
back to a stream that was open before.
Source: Chatto 0.4.20, cli/internal/core/my_events_model.go.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, auto

import anyio

from . import frames
from .clock import Clock
from .frames import Event, Frame
from .ids import IdKind, IdSource
from .rooms import Room


class Ending(Enum):
    """How a stream ends that its client did not leave."""

    STOPPED = auto()
    """The close frame that asks to come back, then the end of the connection."""
    TERMINATED = auto()
    """The end of the connection after what is already waiting (`session_terminated`)."""
    CUT = auto()
    """The bare end of the connection, nothing before it."""


@dataclass(slots=True, eq=False)
class Stream:
    """One subscribed connection: what waits to be written to it."""

    user_id: str
    room_ids: set[str] = field(default_factory=set)
    """The rooms it hears."""
    waiting: deque[Frame] = field(default_factory=deque)
    ending: Ending | None = None
    """None: it goes on."""
    _news: anyio.Event = field(default_factory=anyio.Event)

    def put(self, frame: Frame) -> None:
        """Queue one frame, unless the stream is ending."""
        if self.ending is None:
            self.waiting.append(frame)
            self._news.set()

    def end(self, ending: Ending) -> None:
        """End the stream; the first reason counts."""
        if self.ending is None:
            self.ending = ending
            self._news.set()

    async def news(self) -> None:
        """Return when a frame waits or the stream is to end."""
        await self._news.wait()
        self._news = anyio.Event()


class Feed:
    """All open streams."""

    def __init__(self, clock: Clock, ids: IdSource) -> None:
        """Start without streams."""
        self._clock = clock
        self._ids = ids
        self._by_user: dict[str, list[Stream]] = {}
        self._by_room: dict[str, dict[Stream, None]] = {}

    def open(self, user_id: str, rooms: Iterable[Room]) -> Stream:
        """Subscribe a stream of this account that hears these rooms."""
        stream = Stream(user_id)
        self._by_user.setdefault(user_id, []).append(stream)
        for room in rooms:
            self._hear(stream, room)
        return stream

    def close(self, stream: Stream) -> None:
        """Take a stream off whose connection has ended."""
        self._by_user[stream.user_id].remove(stream)
        for room_id in stream.room_ids:
            del self._by_room[room_id][stream]

    def streams(self) -> list[Stream]:
        """Return every open stream."""
        return [stream for streams in self._by_user.values() for stream in streams]

    def of_user(self, user_id: str) -> list[Stream]:
        """Return the open streams of one account."""
        return list(self._by_user.get(user_id, ()))

    def tell_room(self, room: Room, event: Event, *, besides: str = "") -> None:
        """Tell every stream that hears the room, except those of account `besides`."""
        hearing = self._by_room.get(room.id)
        if not hearing:
            return
        frame = self._frame(event)
        for stream in hearing:
            if stream.user_id != besides:
                stream.put(frame)

    def tell_user(self, user_id: str, event: Event) -> None:
        """Tell every stream of one account."""
        streams = self._by_user.get(user_id)
        if not streams:
            return
        frame = self._frame(event)
        for stream in streams:
            stream.put(frame)

    def tell_everybody(self, event: Event) -> None:
        """Tell every stream."""
        frame = self._frame(event)
        for stream in self.streams():
            stream.put(frame)

    def tell_everybody_apart(self, event: Event) -> None:
        """Tell every stream, each with an event ID of its own (presence only)."""
        for stream in self.streams():
            stream.put(self._frame(event))

    def start_hearing(self, user_id: str, room: Room) -> None:
        """Let the open streams of an account hear a room from now on."""
        for stream in self._by_user.get(user_id, ()):
            self._hear(stream, room)

    def stop_hearing(self, user_id: str, room: Room) -> None:
        """Let the open streams of an account hear nothing more of a room."""
        for stream in self._by_user.get(user_id, ()):
            if room.id in stream.room_ids:
                stream.room_ids.remove(room.id)
                del self._by_room[room.id][stream]

    def terminate(self, user_id: str, reason: str) -> None:
        """End every stream of an account with `session_terminated` as its last frame.

        Source: Chatto 0.4.20, cli/internal/core/auth_revocation.go.
        """
        self.tell_user(user_id, Event("session_terminated", user_id, {"reason": reason}))
        for stream in self._by_user.get(user_id, ()):
            stream.end(Ending.TERMINATED)

    def _hear(self, stream: Stream, room: Room) -> None:
        stream.room_ids.add(room.id)
        self._by_room.setdefault(room.id, {})[stream] = None

    def _frame(self, event: Event) -> Frame:
        return frames.of_event(
            replace(
                event,
                id=event.id or self._ids.new(IdKind.EVENT),
                created_ns=event.created_ns or self._clock.now_ns(),
            )
        )
