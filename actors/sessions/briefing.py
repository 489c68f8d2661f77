"""What a turn is told besides its message: the thread, the room, what it replies to."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import anyio

from ...store import turns
from ...store.threads import ThreadRow
from ..runtime.clock import utc_text
from .backlog import Backlog, BacklogReader, Conversation
from .errors import ChatError
from .facts import Message, Person, Place, RoomKind
from .inert import quotable_name, quotable_text
from .lines import EDITED, Block, Header, Line, Standing
from .policy import ContextLimits
from .room_rules import context_of
from .services import Services
from .slicing import Budget, beginning, newest, next_slice
from .turn import TurnActor

__all__ = ["Brief", "Briefing", "Pointer"]

log = logging.getLogger(__name__)

NEVER_RAN = frozenset({"cancelled", "failed", "expired", "refused"})
"""States of an overtaken question that nobody will hand over any more; what was deleted is in no
block."""

READ_AT_ONCE = 100  # Source: Chatto 0.4.20, BatchGetMessages takes 1 to 100 IDs

POINTER_LENGTH = 1_000  # characters of the message a trigger points at
UNCLOSING = str.maketrans('"\u201c\u201d\u201e\uff02[]\uff3b\uff3d', "'''''()()")
"""Lets no quoted message end its own quotation."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """The message a trigger points at."""

    message_id: str
    text: str
    author: Person
    is_own: bool


@dataclass(frozen=True, slots=True)
class Brief:
    """What is handed over with a turn, and where that leaves its thread."""

    drained: bool
    """Whether the session holds everything before the trigger afterwards."""
    frontier_id: str | None
    """Where the frontier goes; None: it stays unknown."""
    frontier_at: str | None
    context: str | None = None
    """Reference text; None: there is nothing the session lacks."""
    line_count: int = 0
    """Lines that are told."""
    ahead_ids: frozenset[str] = frozenset()
    """Handed over ahead of the drain, afterwards."""
    owed_ids: frozenset[str] = frozenset()
    """Questions before the frontier that still wait, or that did not fit: told later, or as
    themselves."""
    blind_until_id: str | None = None
    """How far a blind pass has got afterwards; None: it is over, or there is none."""
    is_end: bool = False
    """Whether a read found the trigger to be the end: nothing was posted after it."""
    told: frozenset[str] = frozenset()
    """Posts that came by on the stream and that the session holds afterwards."""
    all_until: int = 0
    """Number of the post up to which it holds everything; 0: not known."""
    gap: int = 0
    """The newest gap in the stream of which nothing is missing afterwards."""
    pointer: Pointer | None = None

    @property
    def reason(self) -> str | None:
        """Say in a transition how much is told, never what; None: nothing."""
        return f"{self.line_count} lines" if self.line_count else None


@dataclass(frozen=True, slots=True)
class _Owed:
    """Questions before the frontier that others overtook."""

    lines: Sequence[Line]
    """Those that never ran and are told now."""
    later_ids: frozenset[str]
    """Those that still wait, or do not fit."""


class Briefing:
    """Reads for one turn what its session lacks; decides nothing about whether it may run."""

    def __init__(self, session_key: str, services: Services) -> None:
        """Brief the turns of one lane.

        Args:
            session_key: the gateway's key.
            services: what the actors of the profile share.
        """
        self._key = session_key
        self._services = services
        self._limits = services.context
        self._reader = BacklogReader(services)

    async def prepare(self, turn: TurnActor, thread: ThreadRow) -> Brief:
        """Read what the turn is told besides its message.

        Args:
            turn: the turn that goes out next.
            thread: its thread as it stands.

        Raises:
            ChatError: the conversation could not be read.
        """
        services, room_id = self._services, turn.row.room_id
        room = services.directory.known_room(room_id)
        # One lane is one room: what holds in it holds for every turn of the lane.
        self._limits = context_of(room, services.policy, services.context)
        owed = await self._owed(turn, thread)
        self._limits = _less(self._limits, owed.lines)
        noted, gap = services.unseen.count, services.unseen.gap
        brief = await self._conversation(turn, thread)
        pointer = await self._pointer(turn)
        return replace(
            brief,
            context=_before(Block(_header(turn), owed.lines, None, ()), brief.context),
            line_count=brief.line_count + len(owed.lines),
            owed_ids=owed.later_ids,
            told=self._told(turn) if brief.drained else frozenset(),
            # Only a read that found the trigger to be the end tells of posts that were not kept.
            all_until=noted if brief.is_end else 0,
            gap=gap if self._closes_gap(turn, brief) else thread.gap,
            pointer=pointer,
        )

    def _told(self, turn: TurnActor) -> frozenset[str]:
        """Return the posts of the stream that a session holds which holds all up to a trigger."""
        posts = self._services.unseen.of(turn.row.room_id, turn.row.thread_root_id)
        is_there = turn.row.message_id in posts.numbers
        return frozenset([*posts.before(turn.row.message_id), turn.row.message_id] * is_there)

    def _closes_gap(self, turn: TurnActor, brief: Brief) -> bool:
        """Tell whether nothing that a gap hid is missing any more.

        What was posted behind a trigger that the gap hid as well came by on no stream.
        """
        row, unseen = turn.row, self._services.unseen
        is_heard = unseen.has_heard(row.room_id, row.thread_root_id, row.message_id)
        return brief.drained and (brief.is_end or is_heard)

    async def _conversation(self, turn: TurnActor, thread: ThreadRow) -> Brief:
        is_late = thread.frontier_at is not None and turn.row.posted_at < thread.frontier_at
        if is_late:
            # Found late, or meant for the agent only since an edit: nothing older is missing.
            return _stay(thread)
        if self._limits.thread_lines == 0 and not turn.opens_session:
            return _reach(turn)
        match thread.state:
            case "fresh" if turn.opens_session:
                return await self._room(turn, thread)
            case "fresh":
                return await self._beginning(turn, thread)
            case "seeded":
                return replace(_reach(turn), ahead_ids=self._ahead_of(turn, thread))
            case _:
                return await self._slice(turn, thread)

    def _ahead_of(self, turn: TurnActor, thread: ThreadRow) -> frozenset[str]:
        """Return what was handed over ahead and lies behind a trigger that is found late."""
        posts = self._services.unseen.of(turn.row.room_id, turn.row.thread_root_id)
        if turn.row.message_id not in posts.numbers:
            return _ahead(thread)
        return _ahead(thread) & posts.numbers.keys() - set(posts.before(turn.row.message_id))

    async def _room(self, turn: TurnActor, thread: ThreadRow) -> Brief:
        """Tell a new session what was said in the room before; once."""
        size = self._limits.room_lines
        if size == 0:
            return _reach(turn)
        room = Place(turn.row.room_id, RoomKind.CHANNEL, None)
        window = await self._reader.window(self._talk(thread, room), turn.row.message_id, size)
        kept = newest(window.lines, Budget(size, self._limits.characters))
        block = Block(Header.ROOM, (), None, kept.newest)
        return replace(_reach(turn), context=_text(block), line_count=_count(block))

    async def _beginning(self, turn: TurnActor, thread: ThreadRow) -> Brief:
        """Tell a session that begins in the middle: the root, and the newest lines."""
        size = self._limits.thread_lines
        talk = self._talk(thread, turn.place)
        window = await self._reader.window(talk, turn.row.message_id, size)
        budget = Budget(size, self._limits.characters)
        root, kept = beginning(window.root, window.lines, budget)
        left_out = (window.older or 0) + kept.left
        note = _note(left_out, "left out", is_all=window.older is not None)
        block = Block(_header(turn), root, note, kept.newest)
        return replace(
            _reach(turn),
            context=_text(block),
            line_count=_count(block),
            is_end=window.is_end,
        )

    async def _slice(self, turn: TurnActor, thread: ThreadRow) -> Brief:
        """Tell the next slice of a backlog, and the newest lines before the trigger."""
        backlog = await self._backlog(turn, thread)
        budget = Budget(self._limits.thread_lines, self._limits.characters)
        cut = next_slice(backlog.lines, backlog.tail, budget)
        note = _note(cut.left, "still to come", is_all=backlog.is_whole)
        block = Block(_header(turn), cut.oldest, note, cut.newest)
        told = replace(_reach(turn), context=_text(block), line_count=_count(block))
        position, moment = _position(cut.oldest, backlog, thread)
        if cut.left == 0 and backlog.is_whole:
            told = replace(told, is_end=backlog.is_end, ahead_ids=backlog.ahead_ids)
            last_id = None if backlog.has_trigger else backlog.last_row_id or position
            # One that lies before the frontier after all does not move it back.
            return replace(told, frontier_id=last_id, frontier_at=moment) if last_id else told
        is_blind = thread.state == "blind"
        return replace(
            told,
            drained=False,
            frontier_id=None if is_blind else position,
            frontier_at=moment,
            blind_until_id=position if is_blind else None,
            ahead_ids=frozenset(line.message_id for line in cut.newest) | _ahead(thread),
        )

    async def _backlog(self, turn: TurnActor, thread: ThreadRow) -> Backlog:
        talk, trigger_id = self._talk(thread, turn.place), turn.row.message_id
        anchor = thread.blind_until_id if thread.state == "blind" else thread.frontier_id
        if anchor is None:
            return await self._reader.from_start(talk, trigger_id)
        backlog = await self._reader.after(talk, anchor, trigger_id)
        if backlog is None and thread.frontier_at is not None:
            moment = datetime.fromisoformat(thread.frontier_at)
            return await self._reader.since(talk, anchor, moment, trigger_id)
        return backlog or await self._reader.from_start(talk, trigger_id)

    async def _owed(self, turn: TurnActor, thread: ThreadRow) -> _Owed:
        """Read what others overtook while it waited, and what then never ran; it comes first."""
        scope, ids = self._services.journal.scope, json.loads(thread.owed_ids)
        if not ids or self._limits.thread_lines == 0:
            return _Owed((), frozenset(ids))
        rows = await self._services.journal.read(lambda db: turns.find_all(db, scope, ids))
        never_ran = [id_ for id_, row in rows.items() if row.state in NEVER_RAN]
        waiting = {id_ for id_, row in rows.items() if row.state == "queued"}
        lines: list[Line] = []
        if never_ran:
            room_id = turn.row.room_id
            read = await self._services.server.read_messages(room_id, never_ran[:READ_AT_ONCE])
            in_order = sorted(read, key=lambda message: message.created_at)
            lines = await self._reader.show(turn.place, in_order)
        half = Budget(-(-self._limits.thread_lines // 2), self._limits.characters // 2)
        told = next_slice(lines, (), half).oldest
        shown = {line.message_id for line in lines} - {line.message_id for line in told}
        late = shown.union(never_ran[READ_AT_ONCE:])
        return _Owed(told, frozenset(waiting | late) - {turn.row.message_id})

    def _talk(self, thread: ThreadRow, place: Place) -> Conversation:
        return Conversation(
            place=place,
            session_key=self._key,
            session_token=thread.session_token,
            ahead_ids=_ahead(thread),
            asks_transcript=thread.state == "blind",
        )

    async def _pointer(self, turn: TurnActor) -> Pointer | None:
        """Read the message a trigger points at; what is gone costs the pointer, not the turn."""
        target_id = turn.row.in_reply_to
        if target_id is None:
            return None
        with anyio.move_on_after(self._limits.pointer_wait_s):
            try:
                read = await self._services.server.read_messages(turn.row.room_id, [target_id])
                if read:
                    return await self._point_at(turn, read[0])
            except ChatError as error:
                log.info("%s points at %s: %s", turn.row.message_id, target_id, error)
        log.info("%s points at %s, which cannot be read", turn.row.message_id, target_id)
        return None

    async def _point_at(self, turn: TurnActor, target: Message) -> Pointer:
        directory = self._services.directory
        author = (await directory.people([target.author_id]))[target.author_id]
        is_own = target.author_id == directory.account.user_id
        is_known = is_own or self._services.gateway.may_speak(target.author_id, turn.place)
        # The gateway writes it between quotation marks within brackets, in one line.
        said = " ".join(quotable_text(target.body)).translate(UNCLOSING) or "(no text)"
        text = said if len(said) <= POINTER_LENGTH else f"{said[:POINTER_LENGTH]}…"
        marks = ("" if is_known else Standing.UNVERIFIED.value) + EDITED[
            self._services.editors.of(target)
        ]
        return Pointer(
            message_id=target.message_id,
            text=f"{marks} {text}".lstrip(),
            author=replace(author, display_name=quotable_name(author.display_name)),
            is_own=is_own,
        )


def _reach(turn: TurnActor) -> Brief:
    """Leave the thread where the session holds everything up to the trigger."""
    return Brief(drained=True, frontier_id=turn.row.message_id, frontier_at=turn.row.posted_at)


def _stay(thread: ThreadRow) -> Brief:
    """Leave the thread where it stands: the trigger lies before its frontier."""
    return Brief(
        drained=thread.state == "seeded",
        frontier_id=thread.frontier_id,
        frontier_at=thread.frontier_at,
        ahead_ids=_ahead(thread),
        blind_until_id=thread.blind_until_id,
    )


def _position(
    oldest: Sequence[Line], backlog: Backlog, thread: ThreadRow
) -> tuple[str | None, str | None]:
    """Return how far a slice reaches, and when that was posted."""
    if oldest:
        last = oldest[-1]
        return last.message_id, utc_text(last.posted_at)
    if backlog.lines or backlog.last_row_id is None:
        return thread.blind_until_id or thread.frontier_id, thread.frontier_at
    return backlog.last_row_id, thread.frontier_at


def _ahead(thread: ThreadRow) -> frozenset[str]:
    return frozenset(json.loads(thread.ahead_ids))


def _header(turn: TurnActor) -> Header:
    return Header.CONVERSATION if turn.place.kind is RoomKind.DIRECT else Header.THREAD


def _note(count: int, what: str, *, is_all: bool) -> str | None:
    """Say how many messages are not shown; where they were not all counted, so much of it."""
    if count == 0:
        return None if is_all else f"there may be more messages {what}"
    at_least = "" if is_all else "at least "
    return f"{at_least}{count} message{'' if count == 1 else 's'} {what}"


def _less(limits: ContextLimits, lines: Sequence[Line]) -> ContextLimits:
    """Return what is left of the limits beside some lines; a limit of nothing means no block."""
    if limits.characters == 0:
        return replace(limits, thread_lines=0, room_lines=0)
    if not lines:
        return limits
    return replace(
        limits,
        thread_lines=max(limits.thread_lines - len(lines), 1),
        characters=limits.characters - sum(len(line.text) for line in lines),
    )


def _text(block: Block) -> str | None:
    return None if block.is_empty else str(block)


def _count(block: Block) -> int:
    return len(block.older) + len(block.newer)


def _before(block: Block, context: str | None) -> str | None:
    """Put a block before what else is told, under one header where both have the same."""
    if block.is_empty or context is None:
        return _text(block) if context is None else context
    header, _, rest = context.partition("\n")
    is_same = header == block.header.value
    return f"{block}\n{rest}" if is_same else f"{block}\n\n{context}"
