"""Rooms: channels and direct conversations, their members and bans.

Source: Chatto 0.4.20, cli/internal/core/rooms.go, cli/internal/core/room_membership.go,
cli/internal/core/dm.go.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from .accounts import Account
from .ids import IdKind, IdSource
from .pb import api
from .refusals import Reason, refused

if TYPE_CHECKING:
    from .rows import Row

SYSTEM = "system"  # who creates a direct conversation
DM_ID_LENGTH = 14  # hexadecimal digits


class RoomKind(IntEnum):
    """The two kinds, numbered as on the wire."""

    CHANNEL = api.ROOM_KIND_CHANNEL
    DM = api.ROOM_KIND_DM


@dataclass(slots=True, eq=False, kw_only=True)
class Ban:
    """Why somebody is kept out of a room."""

    moderator_id: str
    reason: str
    created_ns: int
    expires_ns: int | None
    """None: until it is lifted."""


@dataclass(slots=True, eq=False, kw_only=True)
class Room:
    """A channel or a direct conversation."""

    id: str
    kind: RoomKind
    name: str = ""
    description: str = ""
    group_id: str = ""
    is_universal: bool = False
    is_archived: bool = False
    member_ids: dict[str, None] = field(default_factory=dict)
    """Who joined or takes part, in that order; whoever is in by `is_universal` is not here."""
    bans: dict[str, Ban] = field(default_factory=dict)
    rows: list["Row"] = field(default_factory=list)
    """The room's timeline, by sequence; without thread replies and hidden echoes."""

    @property
    def is_dm(self) -> bool:
        """Whether it is a direct conversation."""
        return self.kind is RoomKind.DM


@dataclass(frozen=True, slots=True)
class Group:
    """A heading under which channels stand."""

    id: str
    name: str


class Rooms:
    """All rooms and groups of the server."""

    def __init__(self, ids: IdSource) -> None:
        """Start without any."""
        self._ids = ids
        self._by_id: dict[str, Room] = {}
        self.groups: dict[str, Group] = {}

    def add_group(self, name: str) -> Group:
        """Create a room group."""
        group = Group(self._ids.new(IdKind.GROUP), name)
        self.groups[group.id] = group
        return group

    def add_channel(self, name: str, group: Group, *, is_universal: bool = False) -> Room:
        """Create a channel without members.

        Raises:
            RefusedError: another channel has the name, in any case, archived ones included.
        """
        self.require_free_name(name)
        room = Room(
            id=self._ids.new(IdKind.ROOM),
            kind=RoomKind.CHANNEL,
            name=name,
            group_id=group.id,
            is_universal=is_universal,
        )
        self._by_id[room.id] = room
        return room

    def add_dm(self, participant_ids: Iterable[str]) -> Room:
        """Create the direct conversation of these participants."""
        ids = list(participant_ids)
        room = Room(id=dm_room_id(ids), kind=RoomKind.DM, member_ids=dict.fromkeys(ids))
        self._by_id[room.id] = room
        return room

    def get(self, room_id: str) -> Room | None:
        """Look a room up."""
        return self._by_id.get(room_id)

    def require(self, room_id: str) -> Room:
        """Return a room.

        Raises:
            RefusedError: there is none with this ID.
        """
        room = self._by_id.get(room_id)
        if room is None:
            raise refused(Reason.UNKNOWN)
        return room

    def all(self) -> list[Room]:
        """Return every room, archived ones too, in the order they were made."""
        return list(self._by_id.values())

    def require_free_name(self, name: str, *, besides: Room | None = None) -> None:
        """Pass a channel name nobody else uses.

        Args:
            name: compared without regard to case.
            besides: the room that may have it already.

        Raises:
            RefusedError: it is taken.
        """
        for room in self._by_id.values():
            if room is not besides and not room.is_dm and room.name.lower() == name.lower():
                raise refused(Reason.ROOM_NAME_TAKEN)


def dm_room_id(participant_ids: Iterable[str]) -> str:
    """Return the ID of a direct conversation; it follows from who takes part.

    Source: Chatto 0.4.20, cli/internal/core/dm.go.
    """
    digest = hashlib.sha256()
    for participant_id in sorted(participant_ids):
        digest.update(participant_id.encode() + b"\0")
    return digest.hexdigest()[:DM_ID_LENGTH]


def counts_once(caller: Account, participant_ids: Iterable[str]) -> list[str]:
    """Return participants and caller; the caller counts once, others as often as given."""
    return [*(one for one in participant_ids if one != caller.id), caller.id]
