"""Access: the checks that stand before most calls in a room, in the server's order.

Source: Chatto 0.4.20, cli/internal/core/operation_auth.go.
"""

from .accounts import Account
from .permissions import Permission
from .refusals import Reason, refused
from .rooms import Room
from .rows import Echo, Message, Post
from .world import World


def member_room(world: World, caller: Account, room_id: str) -> Room:
    """Return a room the caller is in.

    Raises:
        RefusedError: unknown, or the caller is not a member.
    """
    room = world.rooms.require(room_id)
    if not world.permissions.is_member(caller, room):
        raise refused(Reason.NOT_A_MEMBER)
    return room


def require(world: World, caller: Account, permission: Permission, room: Room) -> None:
    """Pass a caller whose roles allow something in a room.

    Raises:
        RefusedError: they do not.
    """
    if not world.permissions.may(caller, permission, room):
        raise refused(Reason.DENIED)


def require_server_wide(world: World, caller: Account, permission: str) -> None:
    """Pass a caller whose roles allow something server-wide.

    Raises:
        RefusedError: they do not.
    """
    if not world.permissions.may(caller, permission):
        raise refused(Reason.DENIED)


def managed_channel(world: World, caller: Account, room_id: str) -> Room:
    """Return a channel the caller may manage.

    Raises:
        RefusedError: unknown, a direct conversation, or not the caller's to manage.
    """
    room = world.rooms.require(room_id)
    if room.is_dm:
        raise refused(Reason.DM_NOT_MANAGED)
    require(world, caller, Permission.MANAGE_ROOM, room)
    return room


def require_open(room: Room) -> None:
    """Pass a room that is not archived.

    Raises:
        RefusedError: it is.
    """
    if room.is_archived:
        raise refused(Reason.ARCHIVED)


def can_see(world: World, account: Account, room: Room) -> bool:
    """Tell whether the room is in the account's directory."""
    return world.permissions.may(account, Permission.LIST, room)


def post_in(world: World, room: Room, event_id: str) -> Post:
    """Return a message or visible echo of this room, tombstones included.

    Raises:
        RefusedError: unknown, of another room, a hidden echo, or a row that is no message.
    """
    row = world.log.find(room, event_id)
    if not isinstance(row, Message | Echo):
        raise refused(Reason.NO_MESSAGE)
    return row


def original_of(post: Post) -> Message:
    """Return the message whose content a post shows."""
    return post.original if isinstance(post, Echo) else post
