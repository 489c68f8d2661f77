"""The Chatto server as the sessions see it.

This module is cheap to import. What talks to the network is imported at the first call, in a
worker thread: it takes half a second of CPU.
"""

import hashlib
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

from ..sessions.errors import (
    NotChattoError,
    OutcomeUnknownError,
    RequestRefusedError,
    ServerBusyError,
    ServerUnreachableError,
    StreamLostError,
)
from ..sessions.facts import (
    Account,
    InboxPage,
    Message,
    NotificationLevels,
    Page,
    Person,
    Place,
    Room,
)
from ..sessions.ports import Post
from ..sessions.stream_events import LevelChanged, StreamEvent, StreamOpened
from .credential import Credential
from .directory import ServerDirectory
from .inbox import Inbox, levels_of
from .limits import Limits
from .refusals import TokenRefusedError
from .resources import account_of, is_deleted, message_of
from .rooms import ChattoRooms
from .session import Session
from .showing import Showing
from .timelines import Timelines

__all__ = ["ChattoServer"]

ROOM_ID_LENGTH: Final = 14  # hexadecimal digits, for a direct conversation


class ChattoServer:
    """A Chatto 0.4.20 server, as one account; fulfils the port `ChatServer`.

    For the asyncio backend alone. A call takes at most its timeout, or twice that and a login
    where a password is configured and the token had run out.
    """

    def __init__(self, url: str, credential: Credential, limits: Limits | None = None) -> None:
        """Keep the settings; nothing is imported, read or sent before the first call.

        Args:
            url: the setting `CHATTO_URL`, as it was written.
            credential: of the agent's account.
            limits: None: the defaults.
        """
        self._session = Session(url, credential, limits or Limits())
        self._timelines = Timelines(self._session)
        self.rooms = ChattoRooms(self._session)
        self._directory = ServerDirectory(self._session)
        self._inbox = Inbox(self._session)
        self._showing = Showing(self._session)
        self._account: Account | None = None
        self._levels = NotificationLevels({})

    async def identify(self) -> Account:
        """Log in where a password is configured, and return whose account it is.

        Where the answer does not look like Chatto's, one more look finds out who answers.

        Raises:
            ServerUnreachableError: try again later.
            UnusableConnectionError: no retry helps; the text names the setting.
        """
        wire = await self._session.wire()
        try:
            request = wire.pb.viewer.GetViewerRequest()
            answer = await self._session.read(wire.services.viewer.get_viewer, request)
        except ServerBusyError as error:
            text = f"CHATTO_URL: {error}"
            raise ServerUnreachableError(text) from error
        except (ServerUnreachableError, RequestRefusedError) as error:
            await wire.door.look()
            text = f"CHATTO_URL: Chatto at {wire.address.base_url} gives no account: {error}"
            raise ServerUnreachableError(text) from error
        account = account_of(answer.user.profile)
        if not account.user_id:
            text = f"CHATTO_URL: what answers at {wire.address.base_url} names no account"
            raise NotChattoError(text)
        self._account, self._levels = account, levels_of(answer)
        return account

    async def stream(self, resume_after: str | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Open the realtime stream; the first item is `StreamOpened`. Never ends quietly.

        Protocol 1 has no cursors: what lies before is read elsewhere.

        Raises:
            StreamLostError: it could not be opened, or ended.
            UnusableConnectionError: no retry helps.
        """
        del resume_after
        stream = await self._session.open_stream()
        try:
            yield StreamOpened(stream.server_version)
            while True:
                event = await stream.next_event()
                if isinstance(event, LevelChanged):
                    self._levels = self._levels.after(event.room_id, event.level)
                yield event
        except TokenRefusedError as error:  # whether another can be had, identifying finds out
            reason = "authentication_required"
            raise StreamLostError(reason) from error
        finally:
            await stream.aclose()

    def is_pair(self, room_id: str, user_id: str) -> bool:
        """Tell whether a direct conversation is between the account and this person alone.

        Source: Chatto 0.4.20, cli/internal/core/dm.go: the ID of a direct conversation is the
        beginning of a hash of its participants, in order, each followed by a zero byte.
        """
        if self._account is None:
            return False
        pair = sorted((self._account.user_id, user_id))
        digest = hashlib.sha256("".join(f"{each}\0" for each in pair).encode()).hexdigest()
        return room_id == digest[:ROOM_ID_LENGTH]

    async def list_rooms(self) -> Sequence[Room]:
        """Return all rooms the account may see that are not archived.

        A direct conversation in which nothing was said yet is not among them.

        Raises:
            ChatError: see its tree.
        """
        return await self._directory.list_rooms()

    async def get_room(self, room_id: str) -> Room | None:
        """Return one room, archived ones too; None where it is unknown or hidden.

        Raises:
            ChatError: see its tree.
        """
        return await self._directory.get_room(room_id)

    async def read_messages(self, room_id: str, ids: Sequence[str]) -> Sequence[Message]:
        """Read messages of one room, in the order asked for, without deleted and unknown ones.

        Args:
            room_id: the room.
            ids: 1 to 100 message IDs.

        Raises:
            ChatError: `RequestRefusedError` when the account is not in the room.
        """
        wire = await self._session.wire()
        request = wire.pb.messages.BatchGetMessagesRequest(room_id=room_id, event_ids=ids)
        answer = await self._session.read(wire.services.messages.batch_get_messages, request)
        return [message_of(each) for each in answer.messages if not is_deleted(each)]

    async def page_around(self, place: Place, row_id: str, limit: int) -> Page | None:
        """Read a stretch of a thread, a room or a direct conversation around one of its rows.

        Args:
            place: the thread; without a root the room or conversation itself.
            row_id: the row in the middle; the root of a thread gives its beginning.
            limit: rows of the stretch, 1 to 500, the root of a thread not counted.

        Returns:
            None where the row is not in that timeline (any more).

        Raises:
            ChatError: see its tree.
        """
        return await self._timelines.around(place, row_id, limit)

    async def first_page(self, place: Place, limit: int) -> Page:
        """Read the beginning of a thread, a room or a direct conversation.

        Raises:
            ChatError: see its tree.
        """
        return await self._timelines.first(place, limit)

    async def newest_messages(
        self, place: Place, *, since: datetime, most: int
    ) -> Sequence[Message]:
        """Read what was posted at a place since a moment, oldest first; see the port."""
        return await self._timelines.newest(place, since=since, most=most)

    async def inbox_page(self, offset: int) -> InboxPage:
        """Read a hundred entries of the account's inbox, newest first; see the port."""
        return await self._inbox.page(offset)

    def notification_levels(self) -> NotificationLevels:
        """Return of which rooms the account wants to be told how much; see the port."""
        return self._levels

    async def follow_thread(self, room_id: str, thread_root_id: str) -> None:
        """Let the account follow a thread; see the port."""
        await self._inbox.follow(room_id, thread_root_id)

    def server_time(self) -> datetime | None:
        """Return the time by the server's clock, up to a second early; None before an answer."""
        return self._session.clock.now()

    async def people(self, user_ids: Collection[str]) -> Mapping[str, Person]:
        """Return who these are, by ID, without unknown and deleted ones. Raises: ChatError."""
        return await self._directory.people(user_ids)

    async def find_person(self, login: str) -> Person | None:
        """Look somebody up by login, in any case; None: nobody. Raises: ChatError."""
        return await self._directory.find_person(login)

    async def post(self, post: Post) -> str:
        """Post one message and return its ID.

        Raises:
            ServerBusyError: nothing was posted; the same call may succeed later.
            RequestRefusedError: nothing was posted and never will be.
            OutcomeUnknownError: it may have been posted; read back first.
            UnusableConnectionError: nothing was posted; the credential is of no use any more.
        """
        wire = await self._session.wire()
        try:
            request = wire.pb.messages.CreateMessageRequest(
                room_id=post.room_id,
                body=post.body,
                thread_root_event_id=post.thread_root_id or "",
                in_reply_to=post.in_reply_to or "",
            )
        except UnicodeEncodeError as error:
            code, text = "invalid_argument", "the body holds half a character (a lone surrogate)"
            raise RequestRefusedError(code, text) from error
        answer = await self._session.send(wire.services.messages.create_message, request)
        if not answer.message.id:
            text = "CreateMessage: an answer without a message"
            raise OutcomeUnknownError(text)
        return str(answer.message.id)

    async def find_post(
        self, post: Post, *, not_before: datetime, exclude: Collection[str] = ()
    ) -> str | None:
        """Look for an own message like this one; return the ID of the oldest, None when none is.

        Looks at author, body, the message it points at and the time. Reads the thread, else
        the room, from the newest row backwards until the rows are older than that: nearly
        always one page. A post that points at a thread reply has to name the root: the server
        puts it into that thread.

        Args:
            post: what was posted.
            not_before: the earliest time the server's clock can have given it.
            exclude: IDs of own messages that are known to be something else; they matter
                where two parts of an answer have the same text.

        Raises:
            ChatError: the room could not be read, or too much was posted since.
        """
        account = self._account or await self.identify()
        return await self._timelines.find(
            account.user_id, post, not_before=not_before, exclude=exclude
        )

    async def react(self, room_id: str, message_id: str, emoji: str, *, on: bool) -> None:
        """Put a reaction of the account on a message, or take it back; either may be so already.

        Raises:
            ChatError: `RequestRefusedError` where reactions are not allowed.
        """
        wire = await self._session.wire()
        known = wire.pb.reactions
        of = known.AddReactionRequest if on else known.RemoveReactionRequest
        service = wire.services.messages
        method = service.add_reaction if on else service.remove_reaction
        request = of(room_id=room_id, message_event_id=message_id, emoji=emoji)
        await self._session.read(method, request)

    async def show_typing(self, place: Place) -> None:
        """Show the account as typing for some seconds. Raises: ChatError."""
        await self._showing.typing(place)

    async def show_online(self) -> None:
        """Show the account as online for a minute. Raises: ChatError."""
        await self._showing.online()
