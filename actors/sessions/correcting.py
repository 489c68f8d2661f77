"""Edits and deletions of turns: in place while they wait, else by ending their run first."""

import logging
from collections.abc import Iterable
from typing import assert_never

from ...store import turns
from .admission import Refused
from .holding import Holding
from .journal import Draft
from .lane import Lane
from .mail import (
    THREAD,
    Edited,
    EditedUnseen,
    Outlived,
    RestartDue,
    Retracted,
    Revision,
    RunStopped,
)
from .ports import RunStop
from .services import Services
from .signage import EDITED_UNSEEN
from .turn import TurnActor

__all__ = ["Correcting"]

log = logging.getLogger(__name__)

OVER = frozenset({RunStop.ENDED, RunStop.NO_RUN})
"""Results of a stop after which no prompt holds the turn's words."""


class Correcting:
    """Plans what edits and deletions do to the turns of one lane; lives in the lane's mailbox."""

    def __init__(self, session_key: str, lane: Lane, holding: Holding, services: Services) -> None:
        """Correct turns of one lane.

        Args:
            session_key: the gateway's key.
            lane: its turns.
            holding: what the session holds of the thread.
            services: what the actors of the profile share.
        """
        self._key = session_key
        self._lane = lane
        self._holding = holding
        self._services = services
        self._journal = services.journal
        self._stops: set[str] = set()
        """Messages whose run is being stopped right now."""

    def awaits_stop(self, turn: TurnActor) -> bool:
        """Tell whether only the end of a stop leads on from where a turn stands."""
        is_deleted = turn.state == "stopping" and turn.row.ends_as == "retracted"
        return turn.state == "correcting" or is_deleted

    async def revise(self, draft: Draft, mail: Revision) -> TurnActor | None:
        """Plan what an edit or a deletion does; return the turn that goes on because of it."""
        match mail:
            case Edited():
                return await self.edit(draft, mail)
            case EditedUnseen():
                await self.refuse_unseen(draft, mail)
            case Retracted():
                await self.retract(draft, mail)
            case Outlived():
                self.expire(draft, mail)
            case _:
                assert_never(mail)
        return None

    async def refuse_unseen(self, draft: Draft, mail: EditedUnseen) -> None:
        """Plan the end of what would run with words of nobody knows whom.

        What runs already runs with the words of its author.
        """
        turn = await self._find(mail.message_id)
        if turn is None:
            return
        if turn.state in {"received", "admitted", "queued"}:
            turn.refuse(draft, EDITED_UNSEEN)
            self._holding.skip(draft, turn, EDITED_UNSEEN)
        else:
            turn.ignore_edit(draft, EDITED_UNSEEN)
        self._lane.keep(turn)

    def expire(self, draft: Draft, mail: Outlived) -> None:
        """Plan the end of what waited too long over a restart; what runs is answered."""
        turn = self._lane.find(mail.message_id)
        if turn is not None and turn.state in {"admitted", "queued"}:
            turn.expire(draft)
            self._holding.skip(draft, turn, "too_old")
            self._lane.keep(turn)

    async def edit(self, draft: Draft, mail: Edited) -> TurnActor | None:
        """Plan an edit; return the turn that goes on because of it, None: none does."""
        turn = await self._find(mail.message_id)
        if turn is None:
            log.warning("%s: an edit of %s, which has no row", self._key, mail.message_id)
            return None
        if turn.state == "refused":
            turn.judge(draft, mail.verdict, mail.words)
        elif isinstance(mail.verdict, Refused):
            turn.ignore_edit(draft, mail.verdict.reason)
        else:
            was = turn.state
            turn.edit(draft, mail.words)
            if turn.state == "correcting" and was not in {"correcting", "interrupted"}:
                self.stop(turn)
        self._lane.keep(turn)
        return turn

    async def retract(self, draft: Draft, mail: Retracted) -> None:
        """Plan a deletion: what waits never runs, what runs is stopped, the rest is past."""
        turn = await self._find(mail.message_id)
        if turn is None:
            return
        was = turn.state
        turn.retract(draft, mail.reason)
        if turn.state == "stopping" and was != "interrupted":
            # Also where a command stops it already: nobody else takes its words out.
            self.stop(turn)
        if turn.state == "retracted":
            self._holding.skip(draft, turn, mail.reason)
        self._lane.keep(turn)

    def corrections(self) -> list[TurnActor]:
        """Return the turns that are being corrected: at most one."""
        return [turn for turn in self._lane if turn.state == "correcting"]

    def end_pauses(self, turns: Iterable[TurnActor]) -> None:
        """Have an end come to what a command ended while it was being corrected.

        In the pause before its new start no run is left whose end would be reported.
        """
        for turn in turns:
            if turn.state == "stopping" and self._services.gateway.is_ready(self._key):
                self.stop(turn)

    def stop(self, turn: TurnActor) -> None:
        """Have the run of a turn stopped; the lane is told when that is over.

        Not for what a process left interrupted: the gateway may resume its run, which is stopped
        as soon as it begins, or says that it does not.

        Asked again, as after a restart, it does no harm: what does not run is not stopped.
        """
        row = turn.row
        if row.message_id not in self._stops:
            self._stops.add(row.message_id)
            self._services.tasks.start_soon(self._stop, row.message_id, row.attempt)

    async def stopped(self, draft: Draft, mail: RunStopped) -> None:
        """Plan what follows from the end of a stop."""
        self._stops.discard(mail.message_id)
        turn = self._lane.find(mail.message_id)
        if turn is None or turn.row.attempt != mail.attempt:
            log.debug("%s: the stop of %s is no longer waited for", self._key, mail.message_id)
            return
        if turn.state not in {"correcting", "stopping"}:
            return
        if mail.result is RunStop.NO_RUN and not self._services.gateway.is_ready(self._key):
            # The gateway may still resume its run; it says when it would take another.
            return
        if mail.result is RunStop.DOES_NOT_END:
            turn.fail(draft, "run_does_not_end")
        elif turn.state == "stopping":
            self._undo(draft, turn, mail.result)
            turn.end_stopped(draft)
        else:
            self._undo(draft, turn, mail.result)
            pause_s = self._services.policy.revisions.pause_s
            due = RestartDue(mail.message_id, mail.attempt)
            self._services.tell_later(pause_s, THREAD, self._key, due)
        self._lane.keep(turn)

    def restart(self, draft: Draft, mail: RestartDue) -> None:
        """Plan that a corrected turn waits again, at its old place: the pause is over."""
        turn = self._lane.find(mail.message_id)
        if turn is not None and turn.state == "correcting" and turn.row.attempt == mail.attempt:
            turn.put_back(draft, "corrected")

    def _undo(self, draft: Draft, turn: TurnActor, result: RunStop) -> None:
        """Plan that the session does not hold the turn, where its words are out of it."""
        if result in OVER:
            self._holding.undo(draft, turn)
            turn.let_go(draft)
        else:
            log.info("%s: %s stays in the transcript", self._key, turn.row.message_id)

    async def _stop(self, message_id: str, attempt: int) -> None:
        result = await self._services.gateway.stop_run(
            self._key, message_id, within_s=self._services.limits.stop_within_s
        )
        mail = RunStopped(message_id, attempt, result)
        self._services.tell_later(0.0, THREAD, self._key, mail)

    async def _find(self, message_id: str) -> TurnActor | None:
        known = self._lane.find(message_id)
        if known is not None:
            return known
        scope = self._journal.scope
        row = await self._journal.read(lambda db: turns.find(db, scope, message_id))
        return TurnActor(row) if row is not None else None
