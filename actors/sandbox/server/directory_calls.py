"""RoomDirectoryService and UserService: which rooms and people there are.

Source: Chatto 0.4.20, cli/internal/connectapi/room_directory.go,
cli/internal/connectapi/member_directory.go.
"""

from . import access
from .accounts import Account
from .pb import Proto, api
from .permissions import CREATE_ROOM
from .readmarkers import last_post
from .refusals import Reason, refused
from .rooms import Group, Room
from .users import matching, page_of
from .views import Views
from .world import World

DEFAULT_USERS = 20  # in a page


class RoomDirectoryCalls:
    """Answers the calls of RoomDirectoryService."""

    def __init__(self, world: World, views: Views) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views

    def list_rooms(self, request: Proto, caller: Account) -> Proto:
        """List the rooms the caller may see, without archived ones and unused DMs."""
        scopes: dict[int, tuple[bool, ...]] = {
            api.ROOM_DIRECTORY_SCOPE_CHANNELS: (False,),
            api.ROOM_DIRECTORY_SCOPE_DMS: (True,),
        }
        wanted = scopes.get(request.scope, (False, True))
        return api.ListRoomsResponse(
            rooms=[
                self._views.room_for(caller, room)
                for room in self._world.rooms.all()
                if room.is_dm in wanted and self._is_listed(caller, room)
            ]
        )

    def get_room(self, request: Proto, caller: Account) -> Proto:
        """Look a room up, an archived one too."""
        room = self._world.rooms.require(request.room_id)
        if not access.can_see(self._world, caller, room):
            raise refused(Reason.DENIED)
        return api.GetRoomResponse(room=self._views.room_for(caller, room))

    def batch_get_rooms(self, request: Proto, caller: Account) -> Proto:
        """Look rooms up, each once; what the caller may not see is left out."""
        found = [self._world.rooms.get(one) for one in dict.fromkeys(request.room_ids)]
        return api.BatchGetRoomsResponse(
            rooms=[
                self._views.room_for(caller, room)
                for room in found
                if room is not None and access.can_see(self._world, caller, room)
            ]
        )

    def list_room_groups(self, request: Proto, caller: Account) -> Proto:
        """List the groups with the rooms in them."""
        del request
        groups = self._world.rooms.groups.values()
        return api.ListRoomGroupsResponse(groups=[self._group(caller, one) for one in groups])

    def get_room_group(self, request: Proto, caller: Account) -> Proto:
        """Look a group up."""
        group = self._world.rooms.groups.get(request.group_id)
        if group is None:
            raise refused(Reason.NO_GROUP)
        return api.GetRoomGroupResponse(group=self._group(caller, group))

    def batch_get_room_groups(self, request: Proto, caller: Account) -> Proto:
        """Look groups up, each once; unknown ones are left out."""
        found = [self._world.rooms.groups.get(one) for one in dict.fromkeys(request.group_ids)]
        return api.BatchGetRoomGroupsResponse(
            groups=[self._group(caller, group) for group in found if group]
        )

    def _is_listed(self, caller: Account, room: Room) -> bool:
        if room.is_archived or (room.is_dm and last_post(room) is None):
            return False
        return access.can_see(self._world, caller, room)

    def _group(self, caller: Account, group: Group) -> Proto:
        may_create = self._world.permissions.may(caller, CREATE_ROOM)
        grant = api.PermissionGrant(permission=CREATE_ROOM, granted=may_create)
        return api.RoomGroup(
            id=group.id,
            name=group.name,
            items=[
                api.RoomGroupItem(room=self._views.room_for(caller, room))
                for room in self._world.rooms.all()
                if room.group_id == group.id and self._is_listed(caller, room)
            ],
            viewer_state=api.RoomGroupViewerState(permissions=[grant]),
        )


class UserCalls:
    """Answers the calls of UserService."""

    def __init__(self, world: World, views: Views) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views

    def list_users(self, request: Proto, caller: Account) -> Proto:
        """List everybody, by display name."""
        del caller
        found = matching(self._world.accounts.living(), request.search)
        accounts, page = page_of(found, request.page, default=DEFAULT_USERS)
        users = [self._views.member(one, with_roles=True) for one in accounts]
        return api.ListUsersResponse(users=users, page=page)

    def get_user(self, request: Proto, caller: Account) -> Proto:
        """Look somebody up by ID or login."""
        del caller
        match request.WhichOneof("target"):
            case "user_id":
                account = self._world.accounts.get(request.user_id)
            case "login":
                account = self._world.accounts.by_login(request.login)
            case _:
                raise refused(Reason.NO_USER_GIVEN)
        if account is None:
            raise refused(Reason.UNKNOWN)
        return api.GetUserResponse(user=self._views.member(account, with_roles=True))

    def batch_get_users(self, request: Proto, caller: Account) -> Proto:
        """Look people up, each once; unknown ones are left out."""
        del caller
        found = [self._world.accounts.get(one) for one in dict.fromkeys(request.user_ids)]
        return api.BatchGetUsersResponse(
            users=[self._views.member(one, with_roles=True) for one in found if one]
        )
