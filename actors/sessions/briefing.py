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
from .lines import EDITED, Block, Header, Line, Standing, shorten
from .room_rules import context_of
from .services import Services
from .slicing import Budget, newest, next_slice
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
    told: frozenset[str] = frozenset()
    """Posts that came by on the stream and that the session holds afterwards."""
    all_until: int = 0
    """Number of the post up to which it holds everything; 0: not known."""
    pointer: Pointer | None = None

    @property
    def reason(self) -> str | None:
        """Say in a transition how much is told, never what; None: nothing."""
        return f"{self.line_count} lines" if self.line_count else None


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
        noted = services.unseen.count
        brief = await self._conversation(turn, thread)
        if thread.owed_ids != "[]" and self._limits.thread_lines > 0:
            brief = await self._with_owed(turn, thread, brief)
        if brief.drained:
            posts = self._services.unseen.of(turn.row.room_id, turn.row.thread_root_id).ids
            trigger_id = turn.row.message_id
            until = posts.index(trigger_id) + 1 if trigger_id in posts else 0
            brief = replace(brief, told=frozenset(posts[:until]))
        # Only a read that found the trigger to be the end tells about posts that were not kept.
        all_until = noted if brief.all_until else 0
        pointer = await self._pointer(turn)
        return replace(brief, all_until=all_until, pointer=pointer)

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
                return _reach(turn)
            case _:
                return await self._slice(turn, thread)

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
        half = self._limits.characters // 2
        root = [shorten(window.root, half)] if window.root else []
        rest = self._limits.characters - sum(len(line.text) for line in root)
        kept = newest(window.lines, Budget(size, rest))
        left_out = None if window.older is None else window.older + kept.left
        block = Block(_header(turn), root, _note(left_out, "left out"), kept.newest)
        return replace(
            _reach(turn),
            context=_text(block),
            line_count=_count(block),
            all_until=int(window.is_end),
        )

    async def _slice(self, turn: TurnActor, thread: ThreadRow) -> Brief:
        """Tell the next slice of a backlog, and the newest lines before the trigger."""
        backlog = await self._backlog(turn, thread)
        budget = Budget(self._limits.thread_lines, self._limits.characters)
        cut = next_slice(backlog.lines, backlog.tail, budget)
        left = cut.left if backlog.is_whole else None
        block = Block(_header(turn), cut.oldest, _note(left, "still to come"), cut.newest)
        told = replace(_reach(turn), context=_text(block), line_count=_count(block))
        if left == 0:
            return replace(told, all_until=int(backlog.is_end))
        position, moment = _position(cut.oldest, backlog, thread)
        ahead = frozenset(line.message_id for line in cut.newest) | _ahead(thread)
        is_blind = thread.state == "blind"
        return replace(
            told,
            drained=False,
            frontier_id=None if is_blind else position,
            frontier_at=None if is_blind else moment,
            blind_until_id=position if is_blind else None,
            ahead_ids=ahead,
        )

    async def _backlog(self, turn: TurnActor, thread: ThreadRow) -> Backlog:
        talk, trigger_id = self._talk(thread, turn.place), turn.row.message_id
        anchor = thread.blind_until_id if thread.state == "blind" else thread.frontier_id
        backlog = await self._reader.after(talk, anchor, trigger_id) if anchor else None
        if backlog is not None:
            return backlog
        if thread.frontier_at is not None:
            moment = datetime.fromisoformat(thread.frontier_at)
            return await self._reader.since(talk, moment, trigger_id)
        return await self._reader.from_start(talk, trigger_id)

    async def _with_owed(self, turn: TurnActor, thread: ThreadRow, brief: Brief) -> Brief:
        """Put first what others overtook while it waited, and what then never ran."""
        scope, ids = self._services.journal.scope, json.loads(thread.owed_ids)
        rows = await self._services.journal.read(lambda db: turns.find_all(db, scope, ids))
        never_ran = [id_ for id_, row in rows.items() if row.state in NEVER_RAN]
        waiting = {id_ for id_, row in rows.items() if row.state == "queued"}
        lines: list[Line] = []
        if never_ran:
            room_id = turn.row.room_id
            read = await self._services.server.read_messages(room_id, never_ran[:READ_AT_ONCE])
            in_order = sorted(read, key=lambda message: message.created_at)
            lines = await self._reader.show(turn.place, in_order)
        budget = Budget(self._limits.thread_lines, self._limits.characters // 2)
        told = next_slice(lines, (), budget).oldest
        shown = {line.message_id for line in lines} - {line.message_id for line in told}
        late = shown.union(never_ran[READ_AT_ONCE:])
        return replace(
            brief,
            context=_before(Block(_header(turn), told, None, ()), brief.context),
            line_count=brief.line_count + len(told),
            owed_ids=frozenset(waiting | late) - {turn.row.message_id},
        )

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
        drained=thread.state != "behind",
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


def _note(count: int | None, what: str) -> str | None:
    if count == 0:
        return None
    if count is None:
        return f"more messages {what}"
    return f"{count} message{'' if count == 1 else 's'} {what}"


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
