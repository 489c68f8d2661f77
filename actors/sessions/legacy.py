"""What an earlier process left of a turn the gateway had: asked about, then decided.

Between the hand-over and the gateway's own durable mark lie up to 80 ms, in which the end of the
process leaves nothing but our row. So nothing is assumed: the gateway says what it resumes, what
it owes and what its transcript holds.
Source: contract with Hermes 0.22, the delivery ledger and the resumption of runs.
"""

import logging
from datetime import datetime, timedelta
from typing import assert_never

from .admission import Cause
from .answering import NO_ANSWER, Answering
from .ending import Ending
from .holding import Holding
from .journal import Draft
from .mail import THREAD, KeyReady
from .owed import OWED
from .remains import Remains
from .services import Services
from .turn import TurnActor

__all__ = ["Legacy"]

log = logging.getLogger(__name__)

TO_BE_ASKED = frozenset({"handed", "processing", "interrupted"})
"""States about which only the gateway knows how they go on."""

RUN_LOST = "process_ended"
UNASKED = "gateway_unreadable"


class Legacy:
    """Takes up what a lane's turns were at the gateway; lives in the lane's mailbox."""

    def __init__(
        self,
        session_key: str,
        holding: Holding,
        answering: Answering,
        ending: Ending,
        services: Services,
    ) -> None:
        """Take up for one lane.

        Args:
            session_key: the gateway's key.
            holding: what the session holds of its thread.
            answering: knows what of an answer is in the room.
            ending: ends turns.
            services: what the actors of the profile share.
        """
        self._key = session_key
        self._holding = holding
        self._answering = answering
        self._ending = ending
        self._services = services

    async def take_stock(self, draft: Draft, turn: TurnActor) -> None:
        """Plan how a turn goes on that the gateway had; before the gateway resumes anything."""
        if turn.state in TO_BE_ASKED:
            await self._by_remains(draft, turn, await self._ask(turn))
        elif turn.state == "folded":
            turn.fail(draft, "process_died")

    def take_up(self, draft: Draft, turn: TurnActor) -> None:
        """Plan that a turn that waited goes on waiting, if its author still may speak.

        A command that did is refused: nobody knows what it would do now.
        """
        if turn.state == "held":
            is_strangers = turn.row.cause == Cause.STRANGER.value
            turn.refuse(draft, "author_not_allowed" if is_strangers else "command")
        if turn.state not in {"admitted", "queued"}:
            return
        if not self._services.gateway.may_speak(turn.row.author_id, turn.place):
            turn.refuse(draft, "author_not_allowed")
            self._holding.skip(draft, turn, "author_not_allowed")
        elif turn.state == "admitted":
            turn.enqueue(draft)

    async def without_run(self, draft: Draft, turn: TurnActor) -> None:
        """Plan how an interrupted turn goes on whose key is free: no run took it up."""
        remains = Remains.RESUMES if turn.row.reason == RUN_LOST else await self._ask(turn)
        was_owed = turn.row.reason == OWED
        if was_owed and (remains is not Remains.OWES or self._has_waited_enough(turn)):
            turn.fail(draft, "not_delivered")
        elif remains in {Remains.RESUMES, Remains.UNKNOWN}:
            turn.fail(draft, "not_resumed")
        elif not was_owed:
            await self._by_remains(draft, turn, remains)
        if turn.state == "interrupted":
            again_s = self._services.limits.owed_look_s
            self._services.tell_later(again_s, THREAD, self._key, KeyReady())

    async def _ask(self, turn: TurnActor) -> Remains:
        row = turn.row
        received_at = datetime.fromisoformat(row.received_at)
        remains = await self._services.gateway.remains_of(
            self._key, row.message_id, since=received_at
        )
        log.info("%s: of %s the gateway %s", self._key, row.message_id, remains.value)
        return remains

    async def _by_remains(self, draft: Draft, turn: TurnActor, remains: Remains) -> None:
        match remains:
            case Remains.RESUMES:
                turn.interrupt(draft, RUN_LOST)
            case Remains.OWES:
                turn.interrupt(draft, OWED)
            case Remains.UNKNOWN:
                turn.interrupt(draft, UNASKED)
            case Remains.HOLDS:
                await self._by_outbox(draft, turn)
            case Remains.WORDLESS:
                await self._services.gateway.call_off_resumption(self._key)
                self._put_back(draft, turn)
            case Remains.NOTHING:
                self._put_back(draft, turn)
            case _:
                assert_never(remains)

    def _put_back(self, draft: Draft, turn: TurnActor) -> None:
        """Plan that it waits again: it never ran, and its session does not hold it."""
        self._holding.undo(draft, turn)
        turn.undo(draft, "put_back", reason="never_ran")

    async def _by_outbox(self, draft: Draft, turn: TurnActor) -> None:
        if await self._answering.failure_of(turn.row.message_id) == NO_ANSWER:
            turn.fail(draft, "process_died")
        else:
            turn.deliver(draft)
            await self._ending.without_run(draft, turn)

    def _has_waited_enough(self, turn: TurnActor) -> bool:
        since = datetime.fromisoformat(turn.row.updated_at)
        waited: timedelta = self._services.journal.clock.now() - since
        return waited.total_seconds() > self._services.limits.owed_wait_s
