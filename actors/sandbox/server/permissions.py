"""Permissions: what roles allow, where, and what follows for one account in one room.

A decision can stand at a room, at its group or at the server; the nearest one counts, and
there that of the caller's highest role. The owner may do everything.
Source: Chatto 0.4.20, cli/internal/core/permission_resolver.go, cli/internal/core/rbac_seed.go,
cli/internal/core/permission_ops.go.
"""

from collections.abc import Iterator
from enum import StrEnum

from .accounts import Account, Accounts
from .clock import Clock
from .rooms import Ban, Room

SERVER_SCOPE = ""  # rooms and groups are scopes by their ID


class Permission(StrEnum):
    """The permissions that matter in a room, in the order in which clients are told them."""

    LIST = "room.list"
    JOIN = "room.join"
    POST = "message.post"
    POST_IN_THREAD = "message.post-in-thread"
    ATTACH = "message.attach"
    REACT = "message.react"
    ECHO = "message.echo"
    MANAGE_MESSAGES = "message.manage"
    MANAGE_ROOM = "room.manage"
    BAN = "room.ban-member"


CREATE_ROOM = "room.create"
ADMINISTER = "user.manage-accounts"  # here it stands for all the separate admin permissions
DELETE_SELF = "user.delete-self"
PERMISSION_NAMES = (
    "server.manage",
    CREATE_ROOM,
    Permission.JOIN,
    Permission.LIST,
    Permission.MANAGE_ROOM,
    Permission.BAN,
    Permission.POST,
    Permission.POST_IN_THREAD,
    Permission.ATTACH,
    Permission.MANAGE_MESSAGES,
    Permission.REACT,
    Permission.ECHO,
    "role.manage",
    "role.assign",
    "admin.view-users",
    "admin.view-audit",
    "user.delete-any",
    DELETE_SELF,
    ADMINISTER,
    "user.manage-permissions",
)
"""Every permission there is, in the order in which clients are told them server-wide."""

EVERYONE = frozenset(
    {
        Permission.LIST,
        Permission.JOIN,
        Permission.POST,
        Permission.POST_IN_THREAD,
        Permission.ATTACH,
        Permission.REACT,
        Permission.ECHO,
        DELETE_SELF,
    }
)
MODERATOR = frozenset({Permission.MANAGE_MESSAGES, Permission.BAN})
DM_RIGHTS = frozenset({Permission.LIST, Permission.POST, Permission.ATTACH, Permission.REACT})
SPEAKING = frozenset(
    {
        Permission.POST,
        Permission.POST_IN_THREAD,
        Permission.ATTACH,
        Permission.REACT,
        Permission.ECHO,
    }
)
"""What only a member may do, and nobody in an archived room."""


class Permissions:
    """Who is in which room, and who may do what there."""

    def __init__(self, clock: Clock, accounts: Accounts) -> None:
        """Start with the decisions a fresh server has."""
        self._clock = clock
        self._accounts = accounts
        self._decisions: dict[tuple[str, str, str], bool] = {}
        for permission in EVERYONE:
            self.decide("everyone", permission, SERVER_SCOPE, allowed=True)
        for permission in MODERATOR:
            self.decide("moderator", permission, SERVER_SCOPE, allowed=True)
        for name in PERMISSION_NAMES:
            self.decide("admin", name, SERVER_SCOPE, allowed=True)

    def decide(self, role: str, permission: str, scope_id: str, *, allowed: bool | None) -> None:
        """Set what a role may do in a scope; None takes the decision back."""
        key = (role, permission, scope_id)
        if allowed is None:
            self._decisions.pop(key, None)
        else:
            self._decisions[key] = allowed

    def may(self, account: Account, permission: str, room: Room | None = None) -> bool:
        """Tell whether the account's roles allow something.

        Args:
            account: who wants it.
            permission: one of `Permission`, or a server-wide name.
            room: where; None asks server-wide. In a direct conversation taking part decides.
        """
        if room is not None and room.is_dm:
            return account.id in room.member_ids and permission in DM_RIGHTS
        if "owner" in account.roles:
            return True
        scopes = (room.id, room.group_id, SERVER_SCOPE) if room else (SERVER_SCOPE,)
        for scope_id in scopes:
            for role in reversed(account.role_names):
                decided = self._decisions.get((role, permission, scope_id))
                if decided is not None:
                    return decided
        return False

    def is_member(self, account: Account, room: Room) -> bool:
        """Tell whether the account is in the room, by joining or because everybody is."""
        if account.id in room.member_ids:
            return not account.is_deleted
        return (
            room.is_universal
            and self.ban_of(account.id, room) is None
            and not account.is_deleted
            and self.may(account, Permission.JOIN, room)
        )

    def members(self, room: Room) -> list[Account]:
        """Return the living accounts that are in the room."""
        if room.is_universal:
            return [one for one in self._accounts.living() if self.is_member(one, room)]
        found = (self._accounts.get(user_id) for user_id in room.member_ids)
        return [account for account in found if account is not None]

    def ban_of(self, user_id: str, room: Room) -> Ban | None:
        """Return the ban that holds now, None if there is none or it has run out."""
        ban = room.bans.get(user_id)
        if ban is None:
            return None
        if ban.expires_ns is not None and ban.expires_ns <= self._clock.now_ns():
            return None
        return ban

    def grants(self, account: Account, room: Room) -> Iterator[tuple[Permission, bool]]:
        """Give every room permission, folded with membership, bans and the archived state."""
        is_member = self.is_member(account, room)
        for permission in Permission:
            yield permission, self._granted(account, room, permission, is_member=is_member)

    def _granted(
        self, account: Account, room: Room, permission: Permission, *, is_member: bool
    ) -> bool:
        if permission is Permission.JOIN:
            is_barred = is_member or room.is_dm or room.is_archived
            is_barred = is_barred or self.ban_of(account.id, room) is not None
            return not is_barred and self.may(account, permission, room)
        if permission in SPEAKING and (room.is_archived or not is_member):
            return False
        if permission is Permission.MANAGE_MESSAGES and not is_member:
            return False
        return self.may(account, permission, room)
