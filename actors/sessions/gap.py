"""What a gap in the stream may have hidden, by room: from lists, without reading what it says."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from ...store import threads, turns
from .admission import Cause, answers_room, needs_no_mention
from .errors import RequestRefusedError
from .facts import EntryKind, InboxEntry, Message, Place, Room, RoomKind
from .find import Find
from .inbox_reading import read_inbox
from .mail import LookBack, Outlived
from .revision import OPEN
from .services import Services

__all__ = ["Gap", "Since"]

log = logging.getLogger(__name__)

OVERLAP = timedelta(minutes=2)
"""So long before the position is looked at again: entries are made after their messages, and the
times of different posts need not come in their order."""

AT_ONCE = 100  # Source: Chatto 0.4.20, BatchGetMessages takes 1 to 100 IDs
MOST_PER_ROOM = 500  # rows of a direct conversation, or of a room that needs no mention

CAUSES: Mapping[EntryKind, Cause] = {
    EntryKind.MENTION: Cause.MENTION,
    EntryKind.REPLY: Cause.REPLY,
    EntryKind.DIRECT: Cause.DIRECT,
    EntryKind.ROOM_MESSAGE: Cause.OPEN_ROOM,
}


@dataclass(frozen=True, slots=True)
class Since:
    """How far back is looked."""

    now: datetime
    """The server's time."""
    position: datetime | None
    """Everything before it is decided; None: nobody knows what is."""
    begun_at: datetime | None
    """From then on the rows know what was decided; None: from nowhere on."""
    window: timedelta
    """What is older is not answered any more."""

    @property
    def young_from(self) -> datetime:
        """What was posted before this moment is too old to be answered."""
        return self.now - self.window

    @property
    def back_to(self) -> datetime:
        """The oldest moment that is looked at."""
        return self.young_from if self.position is None else self.position - OVERLAP


@dataclass
class _Hidden:
    """What may have been hidden in one room."""

    finds: dict[str, Find] = field(default_factory=dict)
    open_ids: list[str] = field(default_factory=list)
    read: dict[str, Message] = field(default_factory=dict)


class Gap:
    """One gap, as far as it is known; made anew for each."""

    def __init__(self, services: Services, since: Since, announced: Collection[str]) -> None:
        """Know nothing of it yet.

        Args:
            services: what the actors of the profile share.
            since: how far back is looked.
            announced: messages the stream has brought since it is open again.
        """
        self._services = services
        self._since = since
        self._announced = announced
        self._rooms: dict[str, _Hidden] = {}
        self.outlived: list[tuple[str, Outlived]] = []
        """Open turns whose messages are too old, each with its session key."""

    async def survey(self, rooms: Sequence[Room]) -> list[tuple[str, LookBack]]:
        """Return what is to be looked at, each with its room; empty: nothing.

        Args:
            rooms: those the account is in.

        Raises:
            ChatError: as the server's calls.
        """
        entries = await read_inbox(
            self._services.server,
            back_to=self._since.back_to,
            young_from=self._since.young_from,
        )
        await self._add_open_turns()
        for entry in await self._undecided(entries):
            self._add_entry(entry)
        for room in rooms:
            if self._is_read_whole(room):
                cause = Cause.OPEN_ROOM if room.kind is RoomKind.CHANNEL else Cause.DIRECT
                await self._read_whole(Place(room.room_id, room.kind, None), cause)
        await self._read_unfollowed(rooms)
        await self._leave_answered()
        return [
            (room_id, look_back)
            for room_id, hidden in self._rooms.items()
            for look_back in self._look_backs(hidden)
        ]

    def _look_backs(self, hidden: _Hidden) -> Iterator[LookBack]:
        """Yield what a room is to look at: as much at once as one call reads."""
        finds = sorted(hidden.finds.values(), key=lambda find: find.posted_at)
        open_ids = tuple(hidden.open_ids)
        for start in range(0, max(len(finds), bool(open_ids)), AT_ONCE):
            some = tuple(finds[start : start + AT_ONCE])
            yield LookBack(some, open_ids, self._since.now, hidden.read)
            open_ids = ()

    # --- lists --------------------------------------------------------------------------------

    async def _add_open_turns(self) -> None:
        scope = self._services.journal.scope
        rows = await self._services.journal.read(lambda db: turns.not_closed(db, scope))
        for row in rows:
            if row.state in OPEN and row.state != "received":
                self._room(row.room_id).open_ids.append(row.message_id)
                if datetime.fromisoformat(row.posted_at) < self._since.young_from:
                    self.outlived.append((row.session_key, Outlived(row.message_id)))

    async def _undecided(self, entries: Sequence[InboxEntry]) -> list[InboxEntry]:
        """Leave out what is known already: from the rows, from memory, from the open stream."""
        ids = [entry.message_id for entry in entries]
        decided = await self._decided_among(ids)
        return [entry for entry in entries if entry.message_id not in decided]

    async def _decided_among(self, ids: Sequence[str]) -> set[str]:
        scope = self._services.journal.scope
        known: set[str] = set()
        for start in range(0, len(ids), 500):
            some = ids[start : start + 500]
            look = partial(turns.find_all, scope=scope, message_ids=some)
            known.update(await self._services.journal.read(look))
        position = self._services.keeper.position
        known.update(id_ for id_ in ids if position.has_decided(id_) or id_ in self._announced)
        return known

    def _add_entry(self, entry: InboxEntry) -> None:
        room = self._services.directory.known_room(entry.room_id)
        if room is not None and not answers_room(room, self._services.policy):
            return
        if entry.author_id is not None and not self._may_speak(entry, entry.author_id):
            return
        position = self._since.position
        self._room(entry.room_id).finds[entry.message_id] = Find(
            message_id=entry.message_id,
            cause=CAUSES[entry.kind],
            thread_root_id=entry.thread_root_id,
            author_id=entry.author_id,
            posted_at=entry.made_at,
            is_mention=entry.kind is EntryKind.MENTION,
            leaves_row=position is None or entry.made_at > position,
        )

    def _may_speak(self, entry: InboxEntry, author_id: str) -> bool:
        services = self._services
        if author_id == services.directory.account.user_id:
            return False
        kind = services.directory.kind_of(entry.room_id)
        root = entry.thread_root_id or entry.message_id
        place = Place(entry.room_id, kind, root if kind is RoomKind.CHANNEL else None)
        return services.gateway.may_speak(author_id, place)

    # --- places that are read whole -----------------------------------------------------------

    def _is_read_whole(self, room: Room) -> bool:
        """Tell whether the inbox is not enough to know what was said to the agent in a room.

        In a direct conversation there may be posts without an entry, where their author's
        connection broke; in a room that needs no mention most have none.
        """
        if not answers_room(room, self._services.policy):
            return False
        if room.kind is RoomKind.CHANNEL:
            return needs_no_mention(room, self._services.policy)
        hidden = self._rooms.get(room.room_id)
        return room.has_unread or (hidden is not None and bool(hidden.finds))

    async def _read_unfollowed(self, rooms: Sequence[Room]) -> None:
        """Read the threads that the account could not follow yet: of them the inbox says little.

        Nearly always there are none. The call that follows one broke, as a rule, with the stream.
        """
        scope = self._services.journal.scope
        left = await self._services.journal.read(lambda db: threads.to_follow(db, scope))
        answered = {room.room_id for room in rooms if answers_room(room, self._services.policy)}
        for thread in left:
            if thread.room_id in answered:
                place = Place(thread.room_id, RoomKind.CHANNEL, thread.thread_root_id)
                await self._read_whole(place, Cause.FOLLOW_UP)

    async def _read_whole(self, place: Place, cause: Cause) -> None:
        posted = await self._posted(place, self._since.back_to)
        hidden = self._room(place.room_id)
        hidden.read |= {message.message_id: message for message in posted}
        answered = self._answered_in(posted)
        own_id = self._services.directory.account.user_id
        new = {
            message.message_id: message
            for message in posted
            if message.created_at >= self._since.back_to and message.author_id != own_id
        }
        for id_ in await self._decided_among(list(new)):
            del new[id_]
        for id_, message in new.items():
            if id_ in hidden.finds or id_ in answered:
                continue
            hidden.finds[id_] = Find(
                message_id=id_,
                cause=cause,
                thread_root_id=message.thread_root_id,
                author_id=message.author_id,
                posted_at=message.created_at,
                is_mention=False,
                leaves_row=False,
            )
        for id_ in answered:
            hidden.finds.pop(id_, None)

    # --- before the rows began ----------------------------------------------------------------

    async def _leave_answered(self) -> None:
        """Leave out what has an answer: without rows the answers themselves are what is known.

        An answer points at its question, whoever wrote down that it was given.
        """
        for room_id, hidden in self._rooms.items():
            kind = self._services.directory.kind_of(room_id)
            places: dict[Place, list[Find]] = {}
            for find in hidden.finds.values():
                root = find.thread_root_id or find.message_id
                place = Place(room_id, kind, root if kind is RoomKind.CHANNEL else None)
                if kind is RoomKind.CHANNEL or not hidden.read:
                    places.setdefault(place, []).append(find)
            for place, found in places.items():
                finds = await self._without_row(place, found)
                if not finds:
                    continue
                oldest = min(find.posted_at for find in finds)
                posted = await self._posted(place, oldest - OVERLAP)
                for id_ in self._answered_in(posted):
                    hidden.finds.pop(id_, None)

    async def _without_row(self, place: Place, finds: Sequence[Find]) -> Sequence[Find]:
        """Return which of a place may have run although they have no row.

        Those of before the rows began, and those the gateway's transcript holds: the rows are
        then of an older copy of the state file, which somebody put back.
        """
        begun_at = self._since.begun_at
        if begun_at is None:
            return finds
        key = self._services.gateway.session_key(place)
        ids = [find.message_id for find in finds if find.posted_at > begun_at]
        held: frozenset[str] = frozenset()
        if ids and self._services.gateway.has_session(key):
            held = await self._services.gateway.held_by_transcript(key, ids)
        return [find for find in finds if find.message_id not in ids or find.message_id in held]

    async def _posted(self, place: Place, since: datetime) -> Sequence[Message]:
        """Read what was posted at a place; nothing, where the account may not read (any more)."""
        try:
            return await self._services.server.newest_messages(
                place, since=since, most=MOST_PER_ROOM
            )
        except RequestRefusedError as error:
            log.info("what was missed in %s is known from the inbox alone: %s", place, error)
            return ()

    def _answered_in(self, posted: Sequence[Message]) -> set[str]:
        own_id = self._services.directory.account.user_id
        return {
            message.in_reply_to
            for message in posted
            if message.author_id == own_id and message.in_reply_to is not None
        }

    def _room(self, room_id: str) -> _Hidden:
        return self._rooms.setdefault(room_id, _Hidden())
