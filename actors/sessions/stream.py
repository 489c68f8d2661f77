"""The task that reads the realtime stream: one at a time, each with a number."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio

from ..runtime.mailbox import SupervisorClosedError
from ..runtime.store_errors import StoreBusyError, StoreUnavailableError
from .catch_up import CatchUp
from .connection_mail import (
    ConnectionMail,
    Identified,
    StreamIsLost,
    StreamIsOpen,
    StreamIsRefused,
)
from .errors import ChatError, StreamLostError, UnusableConnectionError
from .facts import RoomKind
from .mail import CONNECTION
from .membership import look_at_rooms
from .presence import Presence
from .reception import Reception
from .room_names import RoomNames
from .roster import RosterReader
from .services import Services
from .signs import sign_again
from .stream_events import StreamEvent, StreamOpened

__all__ = ["StreamReader"]

log = logging.getLogger(__name__)


class StreamReader:
    """Opens the stream, passes on what it says and tells the connection how it goes."""

    def __init__(self, services: Services) -> None:
        """Start without a stream.

        Args:
            services: what the actors of the profile share.
        """
        self._services = services
        self._reception = Reception(services)
        self._roster = RosterReader(services.policy, services.journal, services.directory)
        self._rooms = RoomNames(services)
        self.catch_up = CatchUp(services, self._reception)
        """Reads what the gap before a stream hid; ends with the stream."""
        self._presence = Presence(services)
        self._scope = anyio.CancelScope()
        self._number = 0
        self._asked_for: str | None = None
        """Cursor the newest stream was asked to go on after; None: it was to begin now."""

    @property
    def number(self) -> int:
        """Number of the newest stream; 0: none was opened yet."""
        return self._number

    def open(self, gap: int) -> None:
        """Open a new stream; an older one ends.

        Args:
            gap: number of the stretch that lies between the two.
        """
        self.close()
        self._number += 1
        self._scope = anyio.CancelScope()
        self._services.tasks.start_soon(self._run, self._number, gap, self._scope)

    def close(self) -> None:
        """End the stream, if there is one, and what is read beside it."""
        self.catch_up.end()
        self._presence.end()
        self._scope.cancel()

    async def _run(self, number: int, gap: int, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                end = await self._read_to_the_end(number, gap)
                self._presence.end()
                self._tell(end)
            except SupervisorClosedError:
                log.debug("the stream is read no more: the profile is being stopped")

    async def _read_to_the_end(self, number: int, gap: int) -> StreamIsLost | StreamIsRefused:
        """Read a stream as long as it lasts, and return how it ended.

        Raises:
            SupervisorClosedError: the profile is being stopped.
        """
        try:
            await self._identify(number)
            async with aclosing(self._open_source()) as events:
                async for event in events:
                    await self._pass_on(number, gap, event)
        except UnusableConnectionError as error:
            return StreamIsRefused(number, error)
        except StreamLostError as lost:
            text = f"the stream ended: {lost.reason}"
            return StreamIsLost(number, lost.reason, text, lost.retry_after_s)
        except ChatError as error:
            return StreamIsLost(number, "unreachable", str(error), 0.0)
        except (StoreBusyError, StoreUnavailableError) as error:
            return StreamIsLost(number, "state_unreadable", str(error), 0.0)
        return StreamIsLost(number, "ended", "the stream ended without a word", 0.0)

    def _open_source(self) -> AsyncGenerator[StreamEvent, None]:
        """Open the stream where the one before stopped, if that is not too long ago."""
        source = self._services.source
        self._asked_for = self._services.keeper.cursor_within(
            self._services.server.server_time(), self._services.limits.resume_window_s
        )
        return source.stream() if self._asked_for is None else source.stream(self._asked_for)

    async def _identify(self, number: int) -> None:
        services = self._services
        account = await services.server.identify()
        services.directory.welcome(account)
        services.roster = await self._roster.read()
        services.gateway.allow(services.roster.allowed.keys())
        await services.keeper.load(account.user_id)
        self._tell(Identified(number, account.user_id))

    async def _pass_on(self, number: int, gap: int, event: StreamEvent) -> None:
        await self._reception.route(event)
        if not isinstance(event, StreamOpened):
            return
        # What comes from here on is complete; what was before is not.
        self._services.unseen.begin(gap)
        for room_id in list(self._services.no_signs):
            await sign_again(self._services, room_id)
        self._presence.begin()
        self._begin(event)
        rooms = await self._services.directory.refresh_rooms()
        if not any(room.kind is RoomKind.CHANNEL for room in rooms):
            log.warning(
                "the account %r is in no room: people can reach it by direct message only until "
                "somebody adds it to a room, or it is joined to one",
                self._services.directory.account.login,
            )
        self._rooms.resolve()
        await look_at_rooms(self._services, rooms)
        self._tell(StreamIsOpen(number, event.server_version, event.is_resumed))

    def _begin(self, event: StreamOpened) -> None:
        position = self._services.keeper.position
        if event.is_resumed:
            position.go_on()
            return
        if self._asked_for is not None:
            log.warning(
                "the server does not go on where the stream stopped: what was said since %s is "
                "looked for in the account's inbox",
                position.at,
            )
        position.cursor = None
        position.begin_gap()
        self._reception.hold()

    def _tell(self, mail: ConnectionMail) -> None:
        self._services.tell(CONNECTION, self._services.journal.scope, mail)
