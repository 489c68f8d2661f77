"""The agent's tools: nobody reads, or writes, through the agent where they may not themselves."""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ...store import turns
from ..runtime.clock import utc_text
from . import model_texts as texts
from .backlog import BacklogReader
from .errors import ChatError, RequestRefusedError
from .facts import Message, Page, Place, Room, RoomKind
from .glossary import REASONS
from .inert import quotable_name
from .lines import Line, shorten
from .own_commands import OWN_COMMANDS
from .ports import DeliveryResult, DeliveryState, Outgoing
from .room_rules import answers_room, said_of
from .services import Services
from .splitting import split
from .tool_port import Caller, Member, Reading, Said, ToolRefusedError, Where

__all__ = ["AgentTools"]

RUNNING = frozenset({"handed", "processing", "delivering", "folded"})
"""States of a turn whose run is under way, and is to go on."""

WORDLESS = frozenset({"/approve", "/deny", "/stop", "/new", "/reset"}) | OWN_COMMANDS
"""Commands that put no words into a run. Every other may: `/steer` does, and so may a skill."""

MOST_LINES = 50  # messages of one reading
MOST_CHARACTERS = 20_000  # of one reading; the rest of a turn's context has as much
LINE_CHARACTERS = 2_000  # of one message
SPARE_ROWS = 10  # rows that are no message (joins, tombstones)
SEARCHED_ROWS = 500  # the most one call gives; an answer of some 250 KB
MOST_FOUND = 20  # messages of one search
MOST_MEMBERS = 10
SHORTCODE = re.compile(r"[a-z0-9_+-]{1,40}")
POSTED_BY_TOOL = "chatto_post"
"""Marks a post that belongs to no turn of the place it goes to."""


@dataclass(frozen=True, slots=True)
class Asked:
    """On whose behalf a tool works, and where its run takes place."""

    place: Place
    asker_ids: frozenset[str]
    """Whose words the run may have: its author, whoever was taken into it or gave a command."""


class AgentTools:
    """Fulfils the port `Tools`. Every call costs one look at who is in the room, besides."""

    def __init__(
        self, services: Services, deliver: Callable[[Outgoing], Awaitable[DeliveryResult]]
    ) -> None:
        """Work for the runs of a profile.

        Args:
            services: what the actors of the profile share.
            deliver: the one send path.
        """
        self._services = services
        self._deliver = deliver
        self._reader = BacklogReader(services)

    def toolsets_of(self, room_id: str) -> tuple[str, ...] | None:
        """Return the toolsets of a room; none at all as long as nobody knows which room it is.

        That is before the first connection, where the operator named rooms and not their IDs;
        the gateway may resume a run by then.
        """
        directory, policy = self._services.directory, self._services.policy
        room = directory.known_room(room_id)
        if room is not None:
            return said_of(room, policy).toolsets
        listed = [(entry, own.toolsets) for entry, own in policy.rooms if own.toolsets]
        by_id = next((toolsets for entry, toolsets in listed if entry == room_id), None)
        return by_id if by_id or not listed or directory.rooms else ()

    async def read_room(self, caller: Caller, where: Where, limit: int) -> Reading:
        """Read the newest messages of a room: two calls, one more for unknown names."""
        with _said_to_model():
            room, _ = await self._room(caller, where)
            return await self._newest(room, Place(room.room_id, room.kind, None), limit)

    async def read_thread(self, caller: Caller, where: Where, limit: int) -> Reading:
        """Read the newest messages of a thread: two calls, one more for unknown names."""
        with _said_to_model():
            room, asked = await self._room(caller, where)
            return await self._newest(room, _thread(room, asked, where), limit)

    async def search(self, caller: Caller, where: Where, words: str) -> Reading:
        """Look through the newest messages of a place: two calls, one more for unknown names.

        Source: Chatto 0.4.20 has no search in its API.
        """
        with _said_to_model():
            room, asked = await self._room(caller, where)
            place = Place(room.room_id, room.kind, None)
            if where.thread is not None:
                place = _thread(room, asked, where)
            page = await self._page(place, SEARCHED_ROWS)
            messages = _messages(page)
            wanted = [word.lower() for word in words.split()]
            found = [each for each in messages if all(word in _text(each) for word in wanted)]
            back_to = utc_text(messages[0].created_at) if messages else None
            note = texts.searched(len(messages), back_to, is_all=not page.has_older)
            return await self._shown(room, place, found[-MOST_FOUND:], note)

    async def members(self, caller: Caller, where: Where, name: str) -> tuple[Member, ...]:
        """Find members of a room by name: two calls."""
        with _said_to_model():
            room, _ = await self._room(caller, where)
            found = await self._services.rooms.find_members(room.room_id, name, MOST_MEMBERS)
            place = Place(room.room_id, room.kind, None)
            may_speak = self._services.gateway.may_speak
            return tuple(
                Member(
                    each.user_id,
                    quotable_name(each.login),
                    quotable_name(each.display_name),
                    may_ask=may_speak(each.user_id, place),
                )
                for each in found
            )

    async def react(
        self, caller: Caller, where: Where, message_id: str, emoji: str, *, on: bool
    ) -> None:
        """Put a reaction on a message, or take it back: three calls.

        The message is read first, since the server takes reactions on what does not exist.
        """
        code = emoji.strip().strip(":").lower()
        signs = self._services.policy.signs
        if code in {signs.waiting, signs.seen, signs.cancelled, signs.failed}:
            raise ToolRefusedError(texts.own_sign(code))
        if not SHORTCODE.fullmatch(code):
            raise ToolRefusedError(texts.bad_emoji(emoji))
        with _said_to_model():
            room, _ = await self._room(caller, where)
            server = self._services.server
            if not await server.read_messages(room.room_id, [message_id]):
                raise ToolRefusedError(texts.gone(message_id))
            try:
                await server.react(room.room_id, message_id, code, on=on)
            except RequestRefusedError as error:
                if error.code == "invalid_argument":
                    raise ToolRefusedError(texts.bad_emoji(emoji)) from error
                raise

    async def post(self, caller: Caller, where: Where, text: str) -> tuple[str, ...]:
        """Post a text elsewhere: one look at who is in the room, then the one send path."""
        if not self._services.policy.post_tool:
            raise ToolRefusedError(texts.POST_IS_OFF)
        with _said_to_model():
            room, asked = await self._room(caller, where)
            place = Place(room.room_id, room.kind, None)
            if where.thread is not None:
                place = _thread(room, asked, where)
                await self._page(place, 1)  # says so where no thread can hang there
        result = await self._deliver(
            Outgoing(
                room_id=place.room_id,
                thread_root_id=place.thread_root_id,
                text=text,
                is_final=False,
                job_id=POSTED_BY_TOOL,
            )
        )
        if result.state is not DeliveryState.DELIVERED:
            raise ToolRefusedError(_failure(result, len(split(text))))
        if not result.message_ids:
            raise ToolRefusedError(texts.not_posted("there is no visible text"))
        return result.message_ids

    # --- on whose behalf, and where -----------------------------------------------------------

    async def _room(self, caller: Caller, where: Where) -> tuple[Room, Asked]:
        """Return the room that is meant, if everybody whose words the run has is in it."""
        asked = await self._asked(caller)
        refusal = ToolRefusedError(texts.no_room(where.room or asked.place.room_id))
        room = await self._find((where.room or asked.place.room_id).lstrip("#"))
        if room is None or not answers_room(room, self._services.policy):
            raise refusal
        room_id, is_here = room.room_id, room.room_id == asked.place.room_id
        if room.kind is RoomKind.DIRECT and not is_here:
            raise refusal
        try:
            inside = await self._services.rooms.members_among(room_id, asked.asker_ids)
        except RequestRefusedError as error:
            raise refusal from error
        if not asked.asker_ids <= inside:
            raise refusal
        return room, asked

    async def _find(self, wanted: str) -> Room | None:
        """Return a room by its ID or name; what is not known is looked up in a fresh list."""
        directory = self._services.directory
        known = directory.known_room(directory.id_of(wanted))
        if known is None:
            await directory.refresh_rooms()
            known = directory.known_room(directory.id_of(wanted))
        return known

    async def _asked(self, caller: Caller) -> Asked:
        """Read off the rows whose question the run answers."""
        scope = self._services.journal.scope
        rows = await self._services.journal.read(
            lambda db: turns.in_lane(db, scope, caller.session_key)
        )
        running = [row for row in rows if row.state in RUNNING]
        is_known = caller.message_id in {None, *(row.message_id for row in running)}
        if not running or not is_known:
            raise ToolRefusedError(texts.NOBODY_ASKS)
        first = running[0]
        place = Place(first.room_id, RoomKind(first.room_kind), first.thread_root_id)
        commanders = await self._services.journal.read(
            lambda db: turns.gave_commands(
                db, scope, caller.session_key, first.lane_order, WORDLESS
            )
        )
        return Asked(place, commanders | {row.author_id for row in running})

    # --- reading ------------------------------------------------------------------------------

    async def _newest(self, room: Room, place: Place, limit: int) -> Reading:
        wanted = min(max(limit, 1), MOST_LINES)
        page = await self._page(place, wanted + SPARE_ROWS)
        messages = _messages(page)
        is_root_first = page.reply_count is not None and len(messages) > wanted
        root = messages[:1] if is_root_first and page.rows[0].message is not None else []
        newest = messages[-wanted:]
        left_out = page.has_older or len(messages) > len(root) + len(newest)
        note = texts.OLDER if left_out else None
        return await self._shown(room, place, [*root, *newest], note)

    async def _page(self, place: Place, limit: int) -> Page:
        try:
            page = await self._services.rooms.newest_page(place, limit)
        except RequestRefusedError as error:
            if place.thread_root_id is None:
                raise
            raise ToolRefusedError(texts.no_thread(place.thread_root_id)) from error
        self._services.directory.note_people(page.people)
        return page

    async def _shown(
        self, room: Room, place: Place, messages: Sequence[Message], note: str | None
    ) -> Reading:
        lines = [
            shorten(line, LINE_CHARACTERS) for line in await self._reader.show(place, messages)
        ]
        kept = _newest_within(lines, MOST_CHARACTERS)
        if len(kept) < len(lines):
            note = f"{note}; {texts.OLDER}" if note and note != texts.OLDER else texts.OLDER
        said = tuple(Said(line.message_id, utc_text(line.posted_at), line.text) for line in kept)
        return Reading(room.room_id, room.name, place.thread_root_id, said, note)


@contextmanager
def _said_to_model() -> Iterator[None]:
    """Turn what goes wrong at the server into a text for the model."""
    try:
        yield
    except RequestRefusedError as error:
        raise ToolRefusedError(texts.refused(error.text)) from error
    except ChatError as error:
        raise ToolRefusedError(texts.unreachable(str(error))) from error


def _thread(room: Room, asked: Asked, where: Where) -> Place:
    """Return the thread that is meant; a direct conversation has none, and is meant itself."""
    here = asked.place
    if room.kind is RoomKind.DIRECT:
        return Place(room.room_id, room.kind, None)
    root_id = where.thread or (here.thread_root_id if room.room_id == here.room_id else None)
    if root_id is None:
        raise ToolRefusedError(texts.no_thread(""))
    return replace(here, room_id=room.room_id, kind=room.kind, thread_root_id=root_id)


def _messages(page: Page) -> list[Message]:
    return [row.message for row in page.rows if row.message is not None]


def _text(message: Message) -> str:
    return " ".join([message.body, *message.file_names]).lower()


def _newest_within(lines: Sequence[Line], characters: int) -> Sequence[Line]:
    """Return the newest lines that fit, oldest first."""
    room = characters
    for index in range(len(lines) - 1, -1, -1):
        room -= len(lines[index].text)
        if room < 0:
            return lines[index + 1 :]
    return lines


def _failure(result: DeliveryResult, parts: int) -> str:
    """Say what became of a text that is not in the room as a whole."""
    word = result.reason or result.state.value
    reason = REASONS.get(word.partition(":")[0], word)
    if not result.message_ids:
        return texts.not_posted(reason)
    return texts.partly_posted(result.message_ids, parts, reason)
