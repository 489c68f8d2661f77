"""Rooms and people, as the account of a session may see them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from ..sessions.errors import RequestRefusedError
from ..sessions.facts import Person, Room
from .resources import person_of, room_of
from .session import Session

__all__ = ["ServerDirectory"]

ALL_ROOMS: Final = 1  # ROOM_DIRECTORY_SCOPE_ALL
BATCH: Final = 100  # IDs, the most one call takes
HIDDEN: Final = frozenset({"not_found", "permission_denied"})
"""Two ways in which the server says that a room is none of the account's business."""


class ServerDirectory:
    """Looks rooms and people up; remembers nothing. Every call raises ChatError."""

    def __init__(self, session: Session) -> None:
        """Read with a session's account."""
        self._session = session

    async def list_rooms(self) -> Sequence[Room]:
        """Return all rooms the account may see that are not archived."""
        wire = await self._session.wire()
        request = wire.pb.directory.ListRoomsRequest(scope=ALL_ROOMS)
        answer = await self._session.read(wire.services.room_directory.list_rooms, request)
        return [room_of(entry) for entry in answer.rooms if not entry.room.archived]

    async def get_room(self, room_id: str) -> Room | None:
        """Return one room, archived ones too; None where it is unknown or hidden."""
        wire = await self._session.wire()
        request = wire.pb.directory.GetRoomRequest(room_id=room_id)
        try:
            answer = await self._session.read(wire.services.room_directory.get_room, request)
        except RequestRefusedError as error:
            if error.code in HIDDEN:
                return None
            raise
        return room_of(answer.room)

    async def people(self, user_ids: Collection[str]) -> Mapping[str, Person]:
        """Return who these are, by ID; unknown and deleted accounts are left out."""
        wire = await self._session.wire()
        found: dict[str, Person] = {}
        for batch in _batches(user_ids):
            request = wire.pb.members.BatchGetUsersRequest(user_ids=batch)
            answer = await self._session.read(wire.services.users.batch_get_users, request)
            found |= {entry.user.id: person_of(entry.user) for entry in answer.users}
        return found

    async def find_person(self, login: str) -> Person | None:
        """Look somebody up by login, in any case; None: nobody."""
        wire = await self._session.wire()
        request = wire.pb.members.GetUserRequest(login=login)
        try:
            answer = await self._session.read(wire.services.users.get_user, request)
        except RequestRefusedError as error:
            if error.code == "not_found":
                return None
            raise
        return person_of(answer.user.user)


def _batches(ids: Collection[str]) -> Iterator[list[str]]:
    waiting = sorted(set(ids))
    for start in range(0, len(waiting), BATCH):
        yield waiting[start : start + BATCH]
