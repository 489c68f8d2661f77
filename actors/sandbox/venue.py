"""A server with people on it, reached over the wire alone: the sandbox's, or a real one.

What is arranged is arranged by calls, so that the same test runs against both.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..chatto.client import ChattoServer
from ..chatto.credential import Password
from ..chatto.limits import Limits
from ..chatto.resources import Proto
from ..chatto.session import Session

__all__ = ["ACCOUNTS", "OWNER", "Guest", "Venue"]

OWNER: Final = "olga"
ACCOUNTS: Final[Mapping[str, str]] = {
    OWNER: "owner-pass-1",
    "alice": "alice-pass-1",
    "bob": "bob-pass-1",
    "hermes": "hermes-pass-1",
}
"""Logins and passwords that the server has to know."""


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody on the server."""

    user_id: str
    session: Session
    """For the calls that the edge itself does not make."""
    server: ChattoServer
    """The edge, as this account."""


class Venue:
    """Brings people into rooms."""

    def __init__(self, url: str) -> None:
        """Use the server at an address."""
        self.url = url
        self._guests: dict[str, Guest] = {}

    async def guest(self, login: str) -> Guest:
        """Return one of the accounts, logged in."""
        if login not in self._guests:
            password = Password(login, ACCOUNTS[login])
            server = ChattoServer(self.url, password)
            account = await server.identify()
            session = Session(self.url, password, Limits())
            self._guests[login] = Guest(account.user_id, session, server)
        return self._guests[login]

    async def room(self, *logins: str) -> str:
        """Create a channel with these members and return its ID; its owner is in it, too."""
        pb = await self.pb()
        groups = await self.call(
            OWNER, "room_directory", "list_room_groups", pb.directory.ListRoomGroupsRequest()
        )
        name = f"edge-{secrets.token_hex(4)}"
        create = pb.rooms.CreateRoomRequest(name=name, group_id=groups.groups[0].id)
        room_id = str((await self.call(OWNER, "rooms", "create_room", create)).room.id)
        join = pb.rooms.JoinRoomRequest(room_id=room_id)
        await self.call(OWNER, "rooms", "join_room", join)
        for login in logins:
            user_id = (await self.guest(login)).user_id
            add = pb.rooms.AddMemberRequest(room_id=room_id, user_id=user_id)
            await self.call(OWNER, "rooms", "add_member", add)
        return room_id

    async def direct(self, login: str, other: str) -> str:
        """Open a direct conversation as the first of two and return its ID."""
        partner = await self.guest(other)
        pb = await self.pb()
        request = pb.rooms.StartDMRequest(participant_ids=[partner.user_id])
        return str((await self.call(login, "rooms", "start_d_m", request)).room.id)

    async def pb(self) -> Proto:
        """Return the generated messages."""
        return (await (await self.guest(OWNER)).session.wire()).pb

    async def call(self, login: str, service: str, method: str, request: Proto) -> Proto:
        """Call any RPC as somebody; `service` and `method` as chattolib calls them."""
        guest = await self.guest(login)
        services = (await guest.session.wire()).services
        return await guest.session.read(getattr(getattr(services, service), method), request)
