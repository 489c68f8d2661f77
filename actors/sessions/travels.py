"""`/join` and `/leave`: an ordinary account gets into a room only so, or by a manager of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from ...store import memberships
from . import people_texts as texts
from .errors import ChatError, RequestRefusedError
from .facts import Room, RoomKind
from .inert import quotable_name
from .mail import MEMBERSHIP, Look
from .services import Services
from .turn import TurnActor

__all__ = ["Travels"]


class Travels:
    """Goes into rooms and out of them, for people who say so in private."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services

    async def go(self, turn: TurnActor, command: str, wanted: str) -> str:
        """Join a room, or leave it, and return what is answered. Two calls, three to leave.

        Args:
            turn: of the command's message.
            command: `/join` or `/leave`.
            wanted: name or ID of the room; empty: none was given.
        """
        if turn.place.kind is not RoomKind.DIRECT:
            return texts.JOIN_IN_PRIVATE
        if not wanted:
            return texts.usage(command)
        try:
            await self._services.directory.refresh_rooms()
            go = self._join if command == "/join" else self._leave
            return await go(turn, wanted)
        except RequestRefusedError as error:
            return texts.cannot(quotable_name(wanted), error.text)
        except ChatError:
            return texts.UNREACHABLE

    async def _join(self, turn: TurnActor, wanted: str) -> str:
        room = self._room(wanted)
        if room is None:
            return texts.no_such_room(quotable_name(wanted))
        if not room.is_member:
            with self._travelling(turn, room):
                await self._services.rooms.join(room.room_id)
        return texts.joined(room.name, was_inside=room.is_member)

    async def _leave(self, turn: TurnActor, wanted: str) -> str:
        """Leave a room; of one that is not theirs a person hears what is said of no room."""
        room = self._room(wanted)
        if room is None or (room.is_member and not await self._is_theirs(turn, room)):
            return texts.no_room_of_both(quotable_name(wanted))
        if room.is_member:
            with self._travelling(turn, room):
                await self._services.rooms.leave(room.room_id)
        return texts.left(room.name, was_inside=room.is_member)

    def _room(self, wanted: str) -> Room | None:
        """Return a room the account sees by name or ID; None: there is none."""
        directory = self._services.directory
        room = directory.known_room(directory.id_of(wanted))
        return None if room is None or room.kind is RoomKind.DIRECT else room

    async def _is_theirs(self, turn: TurnActor, room: Room) -> bool:
        """Tell whether somebody is in a room, or sent the agent into it."""
        services, author_id = self._services, turn.row.author_id
        if author_id in await services.rooms.members_among(room.room_id, [author_id]):
            return True
        row = await services.journal.read(
            lambda db: memberships.find(db, turn.row.scope, room.room_id)
        )
        known = services.travelling.get(room.room_id, row.reason if row is not None else None)
        return known == _asked_by(turn)

    @contextmanager
    def _travelling(self, turn: TurnActor, room: Room) -> Iterator[None]:
        """Have the change recorded under the name of whoever asked for it.

        The server's own word of it may come before its answer, and after it.
        """
        reason = _asked_by(turn)
        self._services.travelling[room.room_id] = reason
        try:
            yield
        except ChatError:
            self._services.travelling.pop(room.room_id, None)
            raise
        self._services.directory.forget_room(room.room_id)
        self._services.tell(MEMBERSHIP, room.room_id, Look(reason, not room.is_member))


def _asked_by(turn: TurnActor) -> str:
    """Return the reason of a change that somebody asked for."""
    return f"asked_by:{turn.row.author_id}"
