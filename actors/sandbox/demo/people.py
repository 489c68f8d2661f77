"""People of the server, each through a client of their own."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from ...chatto.client import ChattoServer
from ...chatto.credential import Password
from ...chatto.limits import Limits
from ...chatto.resources import Proto, is_deleted, message_of
from ...chatto.session import Session
from ...sessions.facts import Account, Message
from ...sessions.ports import Post
from ...sessions.stream_events import StreamEvent

__all__ = ["AGENT", "OWNER", "Participant", "sign_in"]

AGENT: Final = "hermes"
OWNER: Final = "olga"
PASSWORDS: Mapping[str, str] = MappingProxyType({OWNER: "owner-pass-1"})
"""Where it is another than the login with `-pass-1` behind."""

PAGE: Final = 100  # rows


class Participant:
    """One account, signed in."""

    def __init__(self, server: ChattoServer, session: Session, account: Account) -> None:
        """Use `sign_in`."""
        self._server = server
        self._session = session
        self.account = account

    @property
    def login(self) -> str:
        """What others mention."""
        return self.account.login

    async def say(
        self, body: str, room_id: str, *, thread: str | None = None, reply_to: str | None = None
    ) -> str:
        """Post a message and return its ID.

        Args:
            body: the words.
            room_id: where.
            thread: root of the thread; None: into the room itself.
            reply_to: the message it points at; None: it points at none.
        """
        return await self._server.post(Post(room_id, thread, reply_to, body))

    async def edit(self, room_id: str, message_id: str, body: str) -> None:
        """Give a message other words; somebody else's only as one who may manage messages."""
        await self._call(
            "messages", "update_message", room_id=room_id, event_id=message_id, body=body
        )

    async def delete(self, room_id: str, message_id: str) -> None:
        """Delete a message."""
        await self._call("messages", "delete_message", room_id=room_id, event_id=message_id)

    def stream(self) -> AsyncGenerator[StreamEvent, None]:
        """Return what happens in all rooms of this account, from when it is opened on."""
        return self._server.stream()

    async def read(self, room_id: str, message_id: str) -> Message | None:
        """Read one message; None: it was deleted."""
        found = await self._server.read_messages(room_id, [message_id])
        return found[0] if found else None

    async def names(self, user_ids: Sequence[str]) -> Mapping[str, str]:
        """Return display names by user ID."""
        found = await self._server.people(user_ids)
        return {each: person.display_name or person.login for each, person in found.items()}

    async def rooms(self) -> Mapping[str, str]:
        """Return the IDs of the channels this account sees, by name."""
        return {room.name: room.room_id for room in await self._server.list_rooms() if room.name}

    async def make_room(self, name: str) -> str:
        """Create a channel in the first group and return its ID."""
        groups = await self._call("room_directory", "list_room_groups")
        group_id = groups.groups[0].id
        made = await self._call("rooms", "create_room", name=name, group_id=group_id)
        return str(made.room.id)

    async def join(self, room_id: str) -> None:
        """Become a member of a channel."""
        await self._call("rooms", "join_room", room_id=room_id)

    async def direct_room(self, other: Account) -> str:
        """Return the ID of the direct conversation with somebody; it may be new."""
        started = await self._call("rooms", "start_d_m", participant_ids=[other.user_id])
        return str(started.room.id)

    async def everything_in(self, room_id: str, since: datetime) -> Sequence[Message]:
        """Read a room and its threads from the server, oldest first, without what is older."""
        room = await self._pages("rooms", "get_room_events", room_id=room_id)
        found = {each.message_id: each for each in room if each.created_at >= since}
        for root_id in list(found):
            found |= {each.message_id: each for each in await self.thread(room_id, root_id)}
        return sorted(found.values(), key=lambda message: message.created_at)

    async def thread(self, room_id: str, root_id: str) -> Sequence[Message]:
        """Read a thread, its root first; a message nobody answered is a thread of its own."""
        return await self._pages(
            "threads", "get_thread_events", room_id=room_id, thread_root_event_id=root_id
        )

    async def _pages(self, service: str, method: str, **fields: object) -> Sequence[Message]:
        """Read a timeline to its beginning; echoes are not messages of their own."""
        found: list[Message] = []
        more: dict[str, str] = {}
        while True:
            answer = await self._call(service, method, limit=PAGE, **fields, **more)
            for row in answer.page.events:
                message = row.message_posted.message
                is_post = row.WhichOneof("event") == "message_posted"
                if is_post and not is_deleted(message) and not message.echo_of_event_id:
                    found.append(message_of(message))
            if not answer.page.has_older:
                return found
            more = {"before": answer.page.start_cursor}

    async def _call(self, service: str, method: str, **fields: object) -> Proto:
        wire = await self._session.wire()
        call = getattr(getattr(wire.services, service), method)
        return await self._session.read(call, call.__annotations__["request"](**fields))


async def sign_in(url: str, login: str) -> Participant:
    """Sign in with the password that sandbox servers give.

    Raises:
        ChatError: the server cannot be reached, or does not know the account.
    """
    credential = Password(login, PASSWORDS.get(login, f"{login}-pass-1"))
    server = ChattoServer(url, credential)
    account = await server.identify()
    return Participant(server, Session(url, credential, Limits()), account)
