"""Rooms beside conversations: who is in one, what was said there last, going in and out."""

from collections.abc import Collection, Sequence
from typing import Final

from ..sessions.facts import Page, Person, Place
from .resources import page_of, person_of, thread_page_of
from .session import Session

__all__ = ["ChattoRooms"]

BATCH: Final = 100  # IDs, the most one call takes


class ChattoRooms:
    """The rooms of a server, as one account may use them; fulfils the port `RoomServer`."""

    def __init__(self, session: Session) -> None:
        """Use a session's account."""
        self._session = session

    async def newest_page(self, place: Place, limit: int) -> Page:
        """Read the newest rows of a room, or of a thread with its root before them. One call.

        Args:
            place: without a root the room, or the direct conversation, itself.
            limit: rows, 1 to 500, the root of a thread not counted.

        Raises:
            ChatError: `RequestRefusedError` where the account is not in the room, or the root is
                none.
        """
        wire = await self._session.wire()
        if place.thread_root_id is None:
            request = wire.pb.timeline.GetRoomEventsRequest(room_id=place.room_id, limit=limit)
            answer = await self._session.read(wire.services.rooms.get_room_events, request)
            return page_of(answer.page, len(answer.page.events) - 1)
        request = wire.pb.timeline.GetThreadEventsRequest(
            room_id=place.room_id, thread_root_event_id=place.thread_root_id, limit=limit
        )
        answer = await self._session.read(wire.services.threads.get_thread_events, request)
        return thread_page_of(answer.page, len(answer.page.events) - 1)

    async def members_among(self, room_id: str, user_ids: Collection[str]) -> frozenset[str]:
        """Return which of these accounts, at most 100, are in a room. One call.

        Raises:
            ChatError: `RequestRefusedError` where the account itself is not.
        """
        wire = await self._session.wire()
        request = wire.pb.members.BatchGetRoomMembersRequest(
            room_id=room_id, user_ids=sorted(user_ids)[:BATCH]
        )
        answer = await self._session.read(wire.services.rooms.batch_get_members, request)
        return frozenset(member.user.id for member in answer.members)

    async def find_members(self, room_id: str, words: str, limit: int) -> Sequence[Person]:
        """Look members of a room up by what their login or name holds, by name. One call.

        Raises:
            ChatError: `RequestRefusedError` where the account is not in the room.
        """
        wire = await self._session.wire()
        request = wire.pb.members.ListRoomMembersRequest(room_id=room_id, search=words)
        request.page.limit = limit
        answer = await self._session.read(wire.services.rooms.list_members, request)
        return [person_of(member.user) for member in answer.members]

    async def join(self, room_id: str) -> None:
        """Go into a channel; being in already is fine.

        Raises:
            ChatError: `RequestRefusedError` where the account may not.
        """
        wire = await self._session.wire()
        request = wire.pb.rooms.JoinRoomRequest(room_id=room_id)
        await self._session.read(wire.services.rooms.join_room, request)

    async def leave(self, room_id: str) -> None:
        """Go out of a channel; being out already is fine.

        Raises:
            ChatError: `RequestRefusedError` where nobody may go (everybody is in such a room).
        """
        wire = await self._session.wire()
        request = wire.pb.rooms.LeaveRoomRequest(room_id=room_id)
        await self._session.read(wire.services.rooms.leave_room, request)
