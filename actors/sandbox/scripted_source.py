"""A realtime stream with resume cursors and mention targets, which a test plays.

What a newer server would bring; the messages themselves stand on the embedded one.
"""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace

import anyio

from ..sessions.errors import StreamLostError
from ..sessions.stream_events import MessagePosted, Reached, StreamEvent, StreamOpened

__all__ = ["ScriptedSource"]

VERSION = "scripted"


@dataclass(frozen=True, slots=True)
class _Played:
    event: StreamEvent
    cursor: str | None
    breaks: bool
    """Whether the stream breaks between the event and its cursor."""


class ScriptedSource:
    """Fulfils the port `RealtimeSource`; goes on after a cursor it gave."""

    def __init__(self, accepts: Callable[[str], bool] = lambda _: True) -> None:
        """Have nothing to tell yet.

        Args:
            accepts: tells whether a cursor can still be gone on after.
        """
        self.asked: list[str | None] = []
        """What each stream was asked to go on after."""
        self._accepts = accepts
        self._played: list[_Played] = []
        self._broken: set[int] = set()
        """Places of breaks that have happened; each happens once."""
        self._streams = 0
        self._news = anyio.Event()

    def plays(
        self, event: StreamEvent, cursor: str | None = None, *, breaks: bool = False
    ) -> None:
        """Tell an event, and then the cursor after it; `breaks` ends the stream in between."""
        self._played.append(_Played(event, cursor, breaks))
        self._wake()

    def cuts(self) -> None:
        """End the open stream without a word."""
        self._streams += 1
        self._wake()

    async def stream(self, resume_after: str | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Go on after a cursor, or from now on.

        Raises:
            StreamLostError: it was cut.
        """
        self.asked.append(resume_after)
        self._streams += 1
        number, begin = self._streams, len(self._played)
        place = self._place_after(resume_after)
        yield StreamOpened(VERSION, is_resumed=place is not None)
        place = begin if place is None else place
        while True:
            if self._streams != number:
                reason = "cut"
                raise StreamLostError(reason)
            if place == len(self._played):
                await self._news.wait()
                continue
            played = self._played[place]
            yield _replayed(played.event) if place < begin else played.event
            if played.breaks and place not in self._broken:
                self._broken.add(place)
                reason = "cut"
                raise StreamLostError(reason)
            yield Reached(played.cursor)
            place += 1

    def _place_after(self, cursor: str | None) -> int | None:
        if cursor is None or not self._accepts(cursor):
            return None
        places = [place for place, each in enumerate(self._played) if each.cursor == cursor]
        return places[-1] + 1 if places else None

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()


def _replayed(event: StreamEvent) -> StreamEvent:
    return replace(event, is_replayed=True) if isinstance(event, MessagePosted) else event
