"""What goes to the gateway, and when: one event of a lane at a time, with what it is told."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...machines.turn import Reason
from ..runtime.backoff import backoff
from .briefing import Brief, Briefing
from .errors import ChatError, ServerBusyError, ServerUnreachableError
from .facts import Person, RoomKind
from .holding import Holding
from .inert import askable_text, quotable_name, without_references
from .journal import Draft
from .lane import Lane
from .mail import THREAD, KeyReady, NotStarted
from .notices import TOO_MANY_ATTEMPTS, Notices
from .policy import RoomRules
from .ports import HandOver, TurnOrder
from .room_rules import said_of
from .services import Services
from .turn import TurnActor

__all__ = ["Dispatch"]

log = logging.getLogger(__name__)

LONGEST_WAIT_S = 8.0  # between two attempts to read a conversation


@dataclass(slots=True)
class Unread:
    """A turn whose conversation a server that does not answer did not tell."""

    message_id: str
    waits: Iterator[float]
    patience_s: float
    """Longest wait, in all, that is left."""
    due_at: float
    """When it is read again, by the clock that never jumps."""


class Dispatch:
    """Hands the turns of one lane over; lives in the lane's mailbox."""

    def __init__(self, session_key: str, lane: Lane, holding: Holding, services: Services) -> None:
        """Hand over for one lane.

        Args:
            session_key: the gateway's key.
            lane: who waits, and whom the gateway has.
            holding: what the session holds of its thread.
            services: what the actors of the profile share.
        """
        self._key = session_key
        self._lane = lane
        self._holding = holding
        self._services = services
        self._journal = services.journal
        self._briefing = Briefing(session_key, services)
        self._notices = Notices(services)
        self._unread: Unread | None = None
        """Who waits for a server that does not answer; None: nobody does."""

    async def pump(self, draft: Draft, about: TurnActor | None = None) -> None:
        """Record what was decided; as long as the key is free, the next turn goes out.

        Args:
            draft: what was decided.
            about: the turn it is about; its own hand-over is recorded together with it, that of
                another apart from it, so that one that cannot be handed over fails alone.
        """
        turn = self._next()
        while turn is not None:
            if turn is not about:
                await draft.commit()
                draft = self._journal.draft()
            brief = None if self._is_given_up(draft, turn) else await self._brief(draft, turn)
            if brief is not None:
                self._holding.hand_over(draft, turn, brief, self._lane.queued())
                await draft.commit()
                self._holding.settle(turn, brief)
                draft = self._journal.draft()
                await self._give(draft, turn, brief)
            elif self._unread is not None:
                break  # nobody overtakes whoever waits for the server
            turn = self._next()
        await draft.commit()

    def _is_given_up(self, draft: Draft, turn: TurnActor) -> bool:
        """Plan the end of a turn that was handed over often enough, and say so to its author."""
        if turn.row.attempt < self._services.limits.turn_attempts:
            return False
        self._holding.skip(draft, turn, TOO_MANY_ATTEMPTS)
        turn.fail(draft, TOO_MANY_ATTEMPTS)
        self._notices.too_many_attempts(draft, turn.row)
        self._lane.keep(turn)
        return True

    async def _brief(self, draft: Draft, turn: TurnActor) -> Brief | None:
        """Read what the turn is told; None: it does not go out now."""
        try:
            thread = await self._holding.review(draft, turn)
            brief = await self._briefing.prepare(turn, thread)
        except ChatError as error:
            if self._reads_again(turn, error):
                return None
            log.warning("%s: the conversation could not be read: %s", self._key, error)
            self._holding.skip(draft, turn, "context_unreadable")
            turn.fail(draft, "context_unreadable")
            self._lane.keep(turn)
            return None
        self._unread = None
        # The read took its time: a run that the gateway began meanwhile goes first.
        return brief if self._services.gateway.is_ready(self._key) else None

    def _reads_again(self, turn: TurnActor, error: ChatError) -> bool:
        """Have the lane read once more in a while; False: no wait helps, or none any more.

        The turn waits on, where an edit, a deletion or a command finds it. Whatever else happens
        in the lane reads as well, and costs no patience.
        """
        unread, self._unread = self._unread, None
        if not isinstance(error, ServerUnreachableError | ServerBusyError):
            return False
        limits, now = self._services.limits, self._journal.clock.monotonic()
        if unread is None or unread.message_id != turn.row.message_id:
            longest_s = max(LONGEST_WAIT_S, limits.first_wait_s)
            waits = backoff(first=limits.first_wait_s, factor=2, longest=longest_s)
            unread = Unread(turn.row.message_id, waits, limits.outage_wait_s, due_at=now)
        if now >= unread.due_at:
            wait_s = next(unread.waits)
            unread.patience_s -= wait_s
            if unread.patience_s < 0:
                return False
            unread.due_at = now + wait_s
            self._services.tell_later(wait_s, THREAD, self._key, KeyReady())
            log.info("%s, read again in %.1f s: %s", self._key, wait_s, error)
        self._unread = unread
        return True

    def _next(self) -> TurnActor | None:
        """Return the turn that goes to the gateway now; None: nobody waits, or it is busy.

        Commands that wait for the gateway's start go first, whatever came after them.
        """
        turn = self._lane.waiting()
        is_busy = self._lane.at_gateway() is not None or self._lane.held()
        if turn is None or is_busy:
            return None
        if not self._services.lanes_open.is_set():
            return None  # the server cannot be read yet; every lane is looked at once it can
        if not self._services.gateway.is_ready(self._key):
            return None
        return turn if self._services.slots.take(self._key) else None

    async def _give(self, draft: Draft, turn: TurnActor, brief: Brief) -> None:
        """Act on a recorded hand-over, and plan what follows from it at once."""
        limit_s = self._services.limits.start_within_s
        # Before the call: should that fail, something still has to look at the turn again.
        reminder = NotStarted(turn.row.message_id, turn.row.attempt)
        self._services.tell_later(limit_s, THREAD, self._key, reminder)
        order = await self.order(turn, self._words(turn))
        briefed = replace(_briefed(order, brief), is_for_the_agent=True)
        taken = await self._services.gateway.hand_over(briefed)
        if taken is HandOver.FOLDED:
            turn.fold(draft, "gateway")
        elif taken is HandOver.NOT_TAKEN:
            self.give_up(draft, turn, "not_taken")

    def give_up(self, draft: Draft, turn: TurnActor, reason: str) -> None:
        """Plan the end of a turn that never ran: its session does not hold it."""
        self._holding.undo(draft, turn)
        turn.undo(draft, "fail", Reason(reason))
        self._lane.keep(turn)

    async def order(self, turn: TurnActor, text: str) -> TurnOrder:
        """Return a turn, or a command, as the gateway gets it.

        Args:
            turn: whose words they are.
            text: what the gateway reads as the message.
        """
        directory, row = self._services.directory, turn.row
        room = directory.known_room(row.room_id)
        own = said_of(room, self._services.policy) if room else RoomRules()
        author = Person(row.author_id, "", row.author_name)
        try:
            author = (await directory.people([author.user_id]))[author.user_id]
        except ChatError as error:
            log.debug("%s: name of the author not read: %s", self._key, error)
        return TurnOrder(
            message_id=row.message_id,
            place=turn.place,
            room_name=room.name if room else "",
            author=author,
            # The gateway reads files and pages for a reference, whatever the tools of the room.
            text=text if own.toolsets is None else without_references(text),
            posted_at=turn.posted_at,
            prompt=own.prompt,
        )

    def _words(self, turn: TurnActor) -> str:
        """Return what the agent reads as the message.

        In a direct conversation of several people the gateway names nobody, so it is done here.
        """
        row = turn.row
        words = askable_text(row.body or "")
        is_direct = turn.place.kind is RoomKind.DIRECT
        if not is_direct or self._services.server.is_pair(row.room_id, row.author_id):
            return words
        return f"[{quotable_name(row.author_name)}] {words}"


def _briefed(order: TurnOrder, brief: Brief) -> TurnOrder:
    """Put beside a message what it is told with; never into its text, so that commands parse."""
    pointer = brief.pointer
    if pointer is None:
        return replace(order, context=brief.context)
    return replace(
        order,
        context=brief.context,
        reply_to_id=pointer.message_id,
        reply_to_text=pointer.text,
        reply_to_author=pointer.author,
        reply_to_is_own=pointer.is_own,
    )
