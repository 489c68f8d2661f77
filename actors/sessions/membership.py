"""How the account stands in its rooms: each change is a step, whoever or whatever made it."""

import logging
from collections.abc import Mapping, Sequence

from ...machines.membership import Change
from ...store import memberships
from ...store.memberships import MembershipRow
from ..runtime.store_errors import StoreBusyError, StoreUnavailableError
from .errors import ChatError
from .facts import Room, RoomKind
from .mail import MEMBERSHIP, Look
from .services import Services

__all__ = ["FOUND", "MembershipActor", "look_at_rooms"]

log = logging.getLogger(__name__)

FOUND = "found"
"""Reason of a change nobody saw: it was there after a connection."""


STATE_AFTER: Mapping[str, str] = {"enter": "inside", "leave": "outside", "bar": "shut_out"}


class MembershipActor:
    """Looks at one room whenever something may have changed, and records what has."""

    def __init__(self, room_id: str, services: Services) -> None:
        """Look after one room.

        Args:
            room_id: the room.
            services: what the actors of the profile share.
        """
        self._room_id = room_id
        self._services = services
        self._journal = services.journal

    @classmethod
    async def load(cls, room_id: str, services: Services) -> "MembershipActor":
        """Make the actor of a room; its row is read with every look."""
        return cls(room_id, services)

    async def handle(self, mails: Sequence[Look]) -> None:
        """Read how the account stands there, and record it where it is news.

        A look that cannot be made is left out: the next connection makes it.
        """
        scope, room_id = self._journal.scope, self._room_id
        try:
            room = await self._services.directory.room(room_id)
        except ChatError as error:
            log.info("room %s: how the account stands there is not known: %s", room_id, error)
            return
        if room is not None and room.kind is RoomKind.DIRECT:
            return
        row = await self._journal.read(lambda db: memberships.find(db, scope, room_id))
        if row is None and (room is None or not room.is_member):
            return  # a room the account never was in
        is_inside = room is not None and room.is_member
        for mail in mails:
            if mail.is_inside in {None, is_inside}:
                await self._record(row or self._blank(room), room, mail.reason)
                break

    async def _record(self, row: MembershipRow, room: Room | None, reason: str) -> None:
        event = _event(room)
        if STATE_AFTER[event] != row.state:
            reason = self._services.travelling.pop(self._room_id, reason)
        draft = self._journal.draft()
        draft.membership(row, event, Change(reason), _name(room))
        await draft.commit()

    def _blank(self, room: Room | None) -> MembershipRow:
        name, now = _name(room) or "", self._journal.now()
        return MembershipRow(self._journal.scope, self._room_id, name, "outside", None, now)


async def look_at_rooms(services: Services, rooms: Sequence[Room]) -> None:
    """Compare the rows with a fresh list of the account's rooms; look where they differ.

    Args:
        services: what the actors of the profile share.
        rooms: those it is in.
    """
    scope = services.journal.scope
    try:
        rows = await services.journal.read(lambda db: memberships.of_scope(db, scope))
    except (StoreBusyError, StoreUnavailableError) as error:
        log.warning("how the account stands in its rooms is looked at later: %s", error)
        return  # no reason to give the connection up; the next one compares again
    known = {row.room_id for row in rows if row.state == "inside"}
    now = {room.room_id for room in rooms if room.kind is RoomKind.CHANNEL}
    for room_id in sorted(known ^ now):
        await services.send(MEMBERSHIP, room_id, Look(FOUND))


def _event(room: Room | None) -> str:
    if room is None:
        return "bar"
    if room.is_member:
        return "enter"
    return "leave" if room.may_join or room.is_archived else "bar"


def _name(room: Room | None) -> str | None:
    return room.name if room is not None else None
