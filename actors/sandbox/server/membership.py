"""Membership and the room's own life: what changes who is in a room, and what follows.

Source: Chatto 0.4.20, cli/internal/core/room_membership.go, cli/internal/core/room_bans.go,
cli/internal/core/room_model.go, cli/internal/core/dm.go.
"""

from collections.abc import Iterable

from .accounts import Account
from .frames import Event
from .rooms import SYSTEM, Ban, Group, Room
from .rows import RowKind
from .world import World


class Membership:
    """Lets people in and out, and rooms begin, change and rest."""

    def __init__(self, world: World) -> None:
        """Work on this world."""
        self._world = world

    def create_channel(
        self, creator_id: str, name: str, group: Group, *, is_universal: bool = False
    ) -> Room:
        """Create a channel; its creator is not in it.

        Raises:
            RefusedError: the name is taken.
        """
        room = self._world.rooms.add_channel(name, group, is_universal=is_universal)
        if is_universal:
            self._let_everybody_hear(room)
        self._record(room, RowKind.ROOM_CREATED, creator_id)
        self._tell_groups(creator_id)
        return room

    def start_dm(self, participant_ids: Iterable[str]) -> Room:
        """Create the direct conversation of these participants; they join in this order."""
        room = self._world.rooms.add_dm(participant_ids)
        self._record(room, RowKind.ROOM_CREATED, SYSTEM)
        for user_id in room.member_ids:
            self._enter(user_id, room)
        return room

    def join(self, account: Account, room: Room) -> None:
        """Let an account in; nothing happens if it is in already."""
        if not self._world.permissions.is_member(account, room):
            room.member_ids[account.id] = None
            self._enter(account.id, room)

    def leave(self, account: Account, room: Room) -> bool:
        """Take an account out; tell whether it was in."""
        if account.id not in room.member_ids:
            return False
        self._take_out(account.id, room)
        return True

    def ban(self, account: Account, room: Room, ban: Ban) -> None:
        """Take an account out and keep it out."""
        was_member = self._world.permissions.is_member(account, room)
        room.bans[account.id] = ban
        if was_member:
            self._take_out(account.id, room)

    def unban(self, user_id: str, room: Room) -> None:
        """Lift a ban; nobody is told, and nobody is in again by it."""
        room.bans.pop(user_id, None)

    def describe(self, actor_id: str, room: Room, *, name: str, description: str) -> None:
        """Change how a room is called and described.

        Raises:
            RefusedError: the name is taken.
        """
        self._world.rooms.require_free_name(name, besides=room)
        room.name, room.description = name, description
        self._record(room, RowKind.ROOM_UPDATED, actor_id)

    def set_universal(self, actor_id: str, room: Room, *, is_universal: bool) -> None:
        """Let everybody be in a room, or only those who joined; adds no row."""
        if room.is_universal is is_universal:
            return
        room.is_universal = is_universal
        if is_universal:
            self._let_everybody_hear(room)
        payload = {"room_id": room.id, "universal": is_universal}
        self._world.feed.tell_room(room, Event("room_universal_changed", actor_id, payload))
        if not is_universal:
            for stream in self._world.feed.streams():
                if stream.user_id not in room.member_ids:
                    self._world.feed.stop_hearing(stream.user_id, room)

    def set_archived(self, actor_id: str, room: Room, *, is_archived: bool) -> None:
        """Let a room rest, or wake it; nothing happens if it is so already."""
        if room.is_archived is is_archived:
            return
        room.is_archived = is_archived
        kind = RowKind.ROOM_ARCHIVED if is_archived else RowKind.ROOM_UNARCHIVED
        self._record(room, kind, actor_id)
        self._tell_groups(actor_id)

    def rooms_of(self, account: Account) -> list[Room]:
        """Return the rooms an account is in, in any way."""
        is_member = self._world.permissions.is_member
        return [room for room in self._world.rooms.all() if is_member(account, room)]

    def refresh_hearing(self) -> None:
        """Let every open stream hear all rooms its account is in (after a change of roles)."""
        for user_id in {stream.user_id for stream in self._world.feed.streams()}:
            account = self._world.accounts.get(user_id)
            for room in self.rooms_of(account) if account else ():
                self._world.feed.start_hearing(user_id, room)

    def remove_everywhere(self, account: Account) -> None:
        """Take an account that is being deleted out of its channels; its DMs stay."""
        for room in self._world.rooms.all():
            if account.id in room.member_ids and not room.is_dm:
                self._take_out(account.id, room)

    def _enter(self, user_id: str, room: Room) -> None:
        self._world.markers.start(user_id, room)
        self._world.feed.start_hearing(user_id, room)
        self._record(room, RowKind.USER_JOINED_ROOM, user_id)

    def _take_out(self, user_id: str, room: Room) -> None:
        room.member_ids.pop(user_id, None)
        self._record(room, RowKind.USER_LEFT_ROOM, user_id)
        self._world.feed.stop_hearing(user_id, room)

    def _let_everybody_hear(self, room: Room) -> None:
        for account in self._world.permissions.members(room):
            self._world.feed.start_hearing(account.id, room)

    def _record(self, room: Room, kind: RowKind, actor_id: str) -> None:
        row = self._world.log.record(room, kind, actor_id)
        event = Event(kind, actor_id, {"room_id": room.id}, row.id, row.created_ns)
        self._world.feed.tell_room(room, event)

    def _tell_groups(self, actor_id: str) -> None:
        event = Event("room_groups_updated", actor_id, {"changed": True})
        self._world.feed.tell_everybody(event)
