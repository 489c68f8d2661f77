"""RoomService: rooms, who is in them, typing.

Source: Chatto 0.4.20, proto/chatto/api/v1/rooms.proto, cli/internal/connectapi/rooms.go,
cli/internal/connectapi/member_directory.go.
"""

import re
from collections.abc import Callable

from . import access
from .accounts import Account
from .frames import Event
from .membership import Membership
from .pb import Proto, api, nanoseconds
from .permissions import CREATE_ROOM, Permission
from .refusals import Reason, refused
from .rooms import Ban, Room, counts_once, dm_room_id
from .users import matching, page_of
from .views import Views
from .world import World

CHANNEL_NAME = re.compile(r"[A-Za-z0-9_-]{1,30}")
DEFAULT_MEMBERS = 250  # in a page


class RoomCalls:
    """Answers the calls of RoomService that change or show a room itself."""

    def __init__(self, world: World, views: Views, membership: Membership) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views
        self._membership = membership

    def create_room(self, request: Proto, caller: Account) -> Proto:
        """Create a channel; the caller is not in it."""
        group = self._world.rooms.groups.get(request.group_id)
        if group is None:
            raise refused(Reason.NO_GROUP)
        access.require_server_wide(self._world, caller, CREATE_ROOM)
        require_channel_name(request.name)
        room = self._membership.create_channel(
            caller.id, request.name, group, is_universal=request.universal
        )
        room.description = request.description
        return api.CreateRoomResponse(room=self._views.room(room))

    def update_room(self, request: Proto, caller: Account) -> Proto:
        """Change name, description, or whether everybody is in the room."""
        room = access.managed_channel(self._world, caller, request.room_id)
        if not any(request.HasField(name) for name in ("name", "description", "universal")):
            raise refused(Reason.NOTHING_TO_UPDATE)
        name = request.name if request.HasField("name") else room.name
        has_description = request.HasField("description")
        description = request.description if has_description else room.description
        require_channel_name(name)
        if request.HasField("name") or has_description:
            self._membership.describe(caller.id, room, name=name, description=description)
        if request.HasField("universal"):
            self._membership.set_universal(caller.id, room, is_universal=request.universal)
        return api.UpdateRoomResponse(room=self._views.room(room))

    def archive_room(self, request: Proto, caller: Account) -> Proto:
        """Let a room rest."""
        room = access.managed_channel(self._world, caller, request.room_id)
        self._membership.set_archived(caller.id, room, is_archived=True)
        return api.ArchiveRoomResponse(room=self._views.room(room))

    def unarchive_room(self, request: Proto, caller: Account) -> Proto:
        """Wake a room."""
        room = access.managed_channel(self._world, caller, request.room_id)
        self._membership.set_archived(caller.id, room, is_archived=False)
        return api.UnarchiveRoomResponse(room=self._views.room(room))

    def start_dm(self, request: Proto, caller: Account) -> Proto:
        """Find or create the direct conversation; participants are not looked up."""
        participant_ids = counts_once(caller, request.participant_ids)
        room = self._world.rooms.get(dm_room_id(participant_ids))
        if room is None:
            room = self._membership.start_dm(participant_ids)
        return api.StartDMResponse(room=self._views.room(room))

    def update_typing_indicator(self, request: Proto, caller: Account) -> Proto:
        """Tell the others in the room; what is given as thread is passed on as it is."""
        room = access.member_room(self._world, caller, request.room_id)
        payload = {"room_id": room.id}
        if request.thread_root_event_id:
            payload["thread_root_event_id"] = request.thread_root_event_id
        event = Event("user_typing", caller.id, payload)
        self._world.feed.tell_room(room, event, besides=caller.id)
        return api.UpdateTypingIndicatorResponse(updated=True)


class MemberCalls:
    """Answers the calls of RoomService about who is in a room."""

    def __init__(self, world: World, views: Views, membership: Membership) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views
        self._membership = membership

    def join_room(self, request: Proto, caller: Account) -> Proto:
        """Go into a channel; being in already is fine."""
        room = self._world.rooms.require(request.room_id)
        if room.is_dm:
            raise refused(Reason.DM_NOT_JOINED)
        access.require(self._world, caller, Permission.JOIN, room)
        if self._world.permissions.ban_of(caller.id, room):
            raise refused(Reason.DENIED)
        if room.is_archived:
            raise refused(Reason.INTERNAL)
        self._membership.join(caller, room)
        return api.JoinRoomResponse(room=self._views.room(room))

    def leave_room(self, request: Proto, caller: Account) -> Proto:
        """Go out of a channel; being out already is fine."""
        room = self._world.rooms.require(request.room_id)
        if room.is_dm:
            raise refused(Reason.DM_NOT_LEFT)
        if room.is_universal:
            raise refused(Reason.UNIVERSAL_NOT_LEFT)
        self._membership.leave(caller, room)
        return api.LeaveRoomResponse(left=True)

    def add_member(self, request: Proto, caller: Account) -> Proto:
        """Take somebody in."""
        room, account = self._managed(request, caller)
        if self._world.permissions.ban_of(account.id, room):
            raise refused(Reason.DENIED)
        self._membership.join(account, room)
        return api.AddMemberResponse(member=self._views.member(account, with_roles=False))

    def remove_member(self, request: Proto, caller: Account) -> Proto:
        """Take somebody out; the answer tells whether they were in."""
        room, account = self._managed(request, caller)
        return api.RemoveMemberResponse(removed=self._membership.leave(account, room))

    def ban_member(self, request: Proto, caller: Account) -> Proto:
        """Take somebody out and keep them out."""
        room = self._moderated(request, caller)
        account = self._world.accounts.require(request.user_id)
        if account is caller:
            raise refused(Reason.DENIED)
        if not self._world.permissions.is_member(account, room):
            raise refused(Reason.NOT_A_MEMBER)
        expires_ns = None
        if request.HasField("expires_at"):
            expires_ns = nanoseconds(request.expires_at)
        ban = Ban(
            moderator_id=caller.id,
            reason=request.reason,
            created_ns=self._world.clock.now_ns(),
            expires_ns=expires_ns,
        )
        self._membership.ban(account, room, ban)
        return api.BanMemberResponse(banned=True)

    def unban_member(self, request: Proto, caller: Account) -> Proto:
        """Lift a ban; no ban is fine."""
        room = self._moderated(request, caller)
        self._membership.unban(request.user_id, room)
        return api.UnbanMemberResponse(unbanned=True)

    def list_members(self, request: Proto, caller: Account) -> Proto:
        """List who is in the room, by display name."""
        room = access.member_room(self._world, caller, request.room_id)
        found = matching(self._world.permissions.members(room), request.search)
        accounts, page = page_of(found, request.page, default=DEFAULT_MEMBERS)
        members = [self._views.member(one, with_roles=False) for one in accounts]
        return api.ListRoomMembersResponse(members=members, page=page)

    def get_member(self, request: Proto, caller: Account) -> Proto:
        """Look one member up."""
        is_inside = self._insider(caller, request.room_id)
        account = self._world.accounts.get(request.user_id)
        if account is None or not is_inside(account):
            raise refused(Reason.UNKNOWN)
        return api.GetRoomMemberResponse(member=self._views.member(account, with_roles=False))

    def batch_get_members(self, request: Proto, caller: Account) -> Proto:
        """Look members up, each once; who is not in the room is left out."""
        is_inside = self._insider(caller, request.room_id)
        found = [self._world.accounts.get(one) for one in dict.fromkeys(request.user_ids)]
        return api.BatchGetRoomMembersResponse(
            members=[
                self._views.member(account, with_roles=False)
                for account in found
                if account is not None and is_inside(account)
            ]
        )

    def _insider(self, caller: Account, room_id: str) -> Callable[[Account], bool]:
        room = access.member_room(self._world, caller, room_id)
        return lambda account: self._world.permissions.is_member(account, room)

    def _managed(self, request: Proto, caller: Account) -> tuple[Room, Account]:
        room = access.managed_channel(self._world, caller, request.room_id)
        account = self._world.accounts.require(request.user_id)
        if room.is_universal:
            raise refused(Reason.UNIVERSAL_NOT_MANAGED)
        access.require_open(room)
        return room, account

    def _moderated(self, request: Proto, caller: Account) -> Room:
        room = self._world.rooms.require(request.room_id)
        if room.is_dm:
            raise refused(Reason.DM_NOT_BANNED)
        access.require(self._world, caller, Permission.BAN, room)
        return room


def require_channel_name(name: str) -> None:
    """Pass the name of a channel.

    Raises:
        RefusedError: it has characters channel names do not have.
    """
    if not CHANNEL_NAME.fullmatch(name):
        raise refused(Reason.BAD_ROOM_NAME)
