"""Route what the stream says; the cheapest questions first, all of them in memory."""

import logging
from typing import assert_never

from ..runtime.mailbox import Address
from .admission import answers_room
from .facts import Place, RoomKind
from .mail import ROOM
from .services import Services
from .stream_events import (
    Mentioned,
    MessageEdited,
    MessagePosted,
    MessageRetracted,
    PersonChanged,
    PersonDeleted,
    RoomChanged,
    StreamEvent,
    StreamOpened,
)

__all__ = ["Reception"]

log = logging.getLogger(__name__)


class Reception:
    """Lets through what an allowed person posted in a room the agent answers in."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services

    async def route(self, event: StreamEvent) -> None:
        """Pass an event on; waits only while the mailbox of its room is full.

        Raises:
            SupervisorClosedError: the profile is being stopped.
        """
        match event:
            case MessagePosted() | Mentioned():
                self._note(event)
                if self._concerns_us(event):
                    await self._services.supervisor.send(Address(ROOM, event.room_id), event)
            case RoomChanged():
                self._services.directory.note_room(event)
            case PersonChanged():
                self._services.directory.note_person(event)
            case MessageEdited() | MessageRetracted() | PersonDeleted():
                log.debug("%s is not followed", type(event).__name__)
            case StreamOpened():
                log.debug("stream opened by server %s", event.server_version)
            case _:
                assert_never(event)

    def _note(self, event: MessagePosted | Mentioned) -> None:
        """Remember what was posted in which conversation, whoever wrote it."""
        if isinstance(event, Mentioned):
            return
        directory, root_id = self._services.directory, event.thread_root_id
        if root_id is not None or directory.kind_of(event.room_id) is RoomKind.DIRECT:
            self._services.unseen.note(event.room_id, root_id, event.message_id)

    def _concerns_us(self, event: MessagePosted | Mentioned) -> bool:
        """Ask what costs nothing: our own, a room we answer in, an author who may speak."""
        cause = self._why_not(event)
        if cause is None:
            return True
        if isinstance(event, MessagePosted):
            self._services.tally.count(event.room_id, cause)
        return False

    def _why_not(self, event: MessagePosted | Mentioned) -> str | None:
        services = self._services
        if event.author_id == services.directory.account.user_id:
            return "own_message"
        room = services.directory.known_room(event.room_id)
        if room is not None and not answers_room(room, services.policy):
            return "room_not_answered"
        kind = services.directory.kind_of(event.room_id)
        root = event.message_id if kind is RoomKind.CHANNEL else None
        if services.gateway.may_speak(event.author_id, Place(event.room_id, kind, root)):
            return None
        if services.policy.strangers_reach_gateway and kind is RoomKind.DIRECT:
            return None
        return "author_not_allowed"
