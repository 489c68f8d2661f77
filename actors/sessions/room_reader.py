"""Read messages of one room, and tell a message that is gone from a room that is."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import RequestRefusedError
from .facts import Message
from .services import Services

__all__ = ["Reading", "RoomReader"]

log = logging.getLogger(__name__)

SECOND_LOOK_S = 0.05  # behind a load balancer a message may be readable some milliseconds late
AT_ONCE = 100  # Source: Chatto 0.4.20, BatchGetMessages takes 1 to 100 IDs


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading messages by their IDs."""

    messages: Mapping[str, Message]
    """By ID, in the order asked for; deleted ones are not among them."""
    is_refused: bool = False
    """Whether the account may not read in the room at all (any more)."""


class RoomReader:
    """Reads what stands in one room."""

    def __init__(self, room_id: str, services: Services) -> None:
        """Read in one room.

        Args:
            room_id: the room.
            services: what the actors of the profile share.
        """
        self._room_id = room_id
        self._services = services

    async def read(self, ids: Sequence[str], known: Mapping[str, Message]) -> Reading:
        """Read messages; what is missing is looked for a second time.

        Args:
            ids: which.
            known: those that need not be read.

        Raises:
            ChatError: as the server's calls.
        """
        found = {id_: known[id_] for id_ in ids if id_ in known}
        is_refused = False
        for wait_s in (0.0, SECOND_LOOK_S):
            missing = [id_ for id_ in ids if id_ not in found]
            if missing:
                await self._services.journal.clock.sleep(wait_s)
                reading = await self.read_now(missing)
                is_refused = reading.is_refused
                found.update(reading.messages)
        return Reading({id_: found[id_] for id_ in ids if id_ in found}, is_refused)

    async def read_now(self, ids: Sequence[str]) -> Reading:
        """Read messages once. Raises: ChatError, as the server's calls."""
        found: dict[str, Message] = {}
        try:
            for start in range(0, len(ids), AT_ONCE):
                some = ids[start : start + AT_ONCE]
                read = await self._services.server.read_messages(self._room_id, some)
                found.update({message.message_id: message for message in read})
        except RequestRefusedError as error:
            log.info("room %s cannot be read any more: %s", self._room_id, error)
            self._services.directory.forget_room(self._room_id)
            return Reading({}, is_refused=True)
        return Reading(found)
