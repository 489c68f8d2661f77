"""What is known about a message beside its words: whom it points at, who asked there before."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ...store import outbox, threads, turns
from ...store.database import Database
from .facts import Message, Place, Room, RoomKind
from .services import Services

__all__ = ["Standing", "Standings", "place_of_message"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What admission needs to know of a message and cannot read off it."""

    place: Place
    session_key: str
    """The gateway's name of the conversation there."""
    replies_to_own: bool
    answered_here: bool
    author_is_asker: bool

    def after_question_of(self, asker_id: str, author_id: str) -> "Standing":
        """Return it for a message that was read together with a question right before it.

        Args:
            asker_id: who asked in the same thread.
            author_id: who wrote this message.
        """
        is_asker = self.author_is_asker or asker_id == author_id
        return replace(self, answered_here=True, author_is_asker=is_asker)


class Standings:
    """Looks the standing of messages up: in the store, and the server only for replies."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services

    async def of(
        self, room: Room, messages: Sequence[Message], naming: Collection[str]
    ) -> dict[str, Standing]:
        """Return the standing of each message by its ID.

        Args:
            room: where they were posted.
            messages: what is to be decided.
            naming: IDs of those that name the agent. Of them nobody asks what they point at and
                who asked before, so that is not looked up.

        Raises:
            ChatError: a message that was pointed at could not be read.
        """
        unclear = [message for message in messages if message.message_id not in naming]
        own = await self._own_among(room, unclear)
        places = {message.message_id: place_of_message(room, message) for message in messages}
        keys = {id_: self._services.gateway.session_key(place) for id_, place in places.items()}
        in_threads = {
            message.message_id: keys[message.message_id]
            for message in unclear
            if message.thread_root_id is not None
        }
        askers = await self._askers(set(in_threads.values()))
        standings = dict[str, Standing]()
        for message in messages:
            asked = askers.get(in_threads.get(message.message_id, ""))
            standings[message.message_id] = Standing(
                place=places[message.message_id],
                session_key=keys[message.message_id],
                replies_to_own=message.in_reply_to in own,
                answered_here=asked is not None,
                author_is_asker=asked is not None and message.author_id in asked,
            )
        return standings

    def _is_pair(self, room: Room, message: Message) -> bool:
        """Tell whether a message needs nobody to be addressed anyway."""
        is_direct = room.kind is RoomKind.DIRECT
        return is_direct and self._services.server.is_pair(room.room_id, message.author_id)

    async def _askers(self, keys: Collection[str]) -> dict[str, frozenset[str] | None]:
        """Return for each conversation what `_askers_in` says of it."""
        if not keys:
            return {}
        scope = self._services.journal.scope
        return await self._services.journal.read(
            lambda db: {key: _askers_in(db, scope, key) for key in keys}
        )

    async def _own_among(self, room: Room, messages: Sequence[Message]) -> Collection[str]:
        """Return which of the messages pointed at are the agent's.

        What our outbox posted is known; the rest (posts of other programs under the account) is
        read, and only where the answer matters.
        """
        account = self._services.directory.account
        pointing = [message for message in messages if message.in_reply_to is not None]
        targets = {message.in_reply_to for message in pointing if message.in_reply_to}
        if not targets:
            return frozenset()
        scope = self._services.journal.scope
        own = await self._services.journal.read(lambda db: outbox.own_among(db, scope, targets))
        unclear = {
            message.in_reply_to
            for message in pointing
            if message.in_reply_to
            and message.in_reply_to not in own
            and not self._is_pair(room, message)
        }
        if unclear:
            read = await self._services.server.read_messages(room.room_id, sorted(unclear))
            own |= {m.message_id for m in read if m.author_id == account.user_id}
        return own


def place_of_message(room: Room, message: Message) -> Place:
    """Return where a message would be answered: its thread, or the one it roots."""
    if room.kind is RoomKind.DIRECT:
        return Place(room.room_id, room.kind, None)
    return Place(room.room_id, room.kind, message.thread_root_id or message.message_id)


def _askers_in(db: Database, scope: str, session_key: str) -> frozenset[str] | None:
    """Return whose question runs, waits or was answered last; None: no session there.

    A question that still waits for its hand-over is about to open one.
    """
    lane = turns.in_lane(db, scope, session_key)
    authors = {row.author_id for row in lane if row.state != "held"}  # a command asks nothing
    thread = threads.find(db, scope, session_key)
    if not authors and (thread is None or thread.state == "fresh"):
        return None
    last = turns.last_answered(db, scope, session_key)
    return frozenset(authors | ({last.author_id} if last else set()))
