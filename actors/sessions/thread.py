"""The lane of one session key: its thread, its turns, and what goes to the gateway when."""

import logging
from collections.abc import Sequence
from typing import assert_never

from ...store import prompts, room_sessions, threads, turns
from ...store.threads import ThreadRow
from .admission import Admitted, Bypassed, Refused
from .answering import Answering
from .bypass import Bypass
from .correcting import Correcting
from .dispatch import Dispatch
from .ending import Ending
from .holding import Holding
from .lane import Lane
from .legacy import Legacy
from .limit_notices import LimitNotices
from .mail import (
    Answer,
    DeliveryEnded,
    Edited,
    EditedUnseen,
    KeyReady,
    LookAtQuestions,
    NotStarted,
    Outlived,
    QuestionPosted,
    Received,
    Recover,
    RestartDue,
    Retracted,
    Revision,
    RunEnded,
    RunStarted,
    RunStopped,
    TakeStock,
    ThreadMail,
)
from .notices import LANE_FULL, Notices
from .own_words import OwnWords
from .questions import Questions
from .services import Services
from .turn import TurnActor

__all__ = ["ThreadActor"]

log = logging.getLogger(__name__)


class ThreadActor:
    """Keeps one lane: one event at the gateway, everybody else waits here in order."""

    def __init__(
        self,
        session_key: str,
        thread: ThreadRow | None,
        waiting: Sequence[TurnActor],
        services: Services,
    ) -> None:
        """Take over a lane as its rows say.

        Args:
            session_key: the gateway's key.
            thread: None: nothing was handed over for this key yet.
            waiting: its turns that are not at rest, in order of receipt.
            services: what the actors of the profile share.
        """
        self._key = session_key
        self._services = services
        self._journal = services.journal
        self._lane = Lane(waiting)
        self._holding = Holding(session_key, thread, services)
        self._dispatch = Dispatch(session_key, self._lane, self._holding, services)
        self._answering = Answering(services)
        self._notices = Notices(services)
        self._correcting = Correcting(session_key, self._lane, self._holding, services)
        self._limit_notices = LimitNotices(self._notices, services)
        self._bypass = Bypass(
            session_key,
            self._lane,
            holding=self._holding,
            dispatch=self._dispatch,
            correcting=self._correcting,
            own_words=OwnWords(self._answering, services),
            services=services,
        )
        self._questions = Questions(session_key, self._lane, services)
        self._ending = Ending(self._lane, self._answering)
        self._legacy = Legacy(session_key, self._holding, self._answering, self._ending, services)

    @classmethod
    async def load(cls, session_key: str, services: Services) -> "ThreadActor":
        """Make the actor of a key from its rows."""
        scope = services.journal.scope
        thread, rows = await services.journal.read(
            lambda db: (
                threads.find(db, scope, session_key),
                [
                    TurnActor(
                        row,
                        room_sessions.find(db, scope, row.message_id),
                        prompts.of_turn(db, scope, row.message_id),
                    )
                    for row in turns.in_lane(db, scope, session_key)
                ],
            )
        )
        return cls(session_key, thread, rows, services)

    async def handle(self, mails: Sequence[ThreadMail]) -> None:
        """Decide, record, act; an error ends the actor, the rows are what remains."""
        try:
            for mail in mails:
                await self._handle(mail)
        finally:
            is_busy = self._lane.at_gateway() is not None
            self._services.slots.settle(self._key, is_busy=is_busy)
        self._show_running()
        self._questions.watch()

    async def _handle(self, mail: ThreadMail) -> None:  # noqa: C901  one case a mail
        match mail:
            case Received():
                await self._receive(mail)
            case (
                Edited() | EditedUnseen() | Outlived() | Retracted() | RunStopped() | RestartDue()
            ):
                await self._revise(mail)
            case RunStarted():
                await self._run_started(mail)
            case RunEnded():
                await self._run_ended(mail)
            case KeyReady():
                await self._key_ready()
            case NotStarted():
                await self._not_started(mail)
            case Answer():
                await self._answering.post(mail, self._lane.at_gateway())
            case DeliveryEnded():
                await self._delivery_ended(mail)
            case QuestionPosted() | LookAtQuestions():
                await self._ask(mail)
            case TakeStock():
                await self._take_stock(mail)
            case Recover():
                await self._recover(mail)
            case _:
                assert_never(mail)

    def _show_running(self) -> None:
        """Let the agent be shown typing while a run is under way here, and no longer."""
        turn = self._lane.at_gateway()
        if turn is not None and turn.state in {"handed", "processing", "folded"}:
            self._services.running.add(self._key)
        else:
            self._services.running.discard(self._key)

    # --- what comes in ------------------------------------------------------------------------

    async def _receive(self, mail: Received) -> None:
        scope = self._journal.scope
        row = await self._journal.read(lambda db: turns.find(db, scope, mail.message_id))
        draft = self._journal.draft()
        if row is None or row.state != "received":
            # Told before and decided then; what was left to do is looked at again.
            await self._dispatch.pump(draft)
            return
        turn = TurnActor(row)
        verdict = await self._bypass.in_view_of_run(row, mail.verdict)
        most = self._services.limits.waiting_turns
        if isinstance(verdict, Admitted) and self._lane.waiting_count() >= most:
            verdict = Refused(verdict.cause, LANE_FULL)
            self._notices.lane_full(draft, row)
        if isinstance(verdict, Bypassed):
            await self._bypass.take(draft, turn, verdict)
        else:
            turn.judge(draft, verdict)
            self._lane.keep(turn)
            await self._limit_notices.plan(draft, turn, self._lane.at_gateway())
            await self._dispatch.pump(draft, turn)

    async def _revise(self, mail: Revision | RunStopped | RestartDue) -> None:
        draft = self._journal.draft()
        turn: TurnActor | None = None
        match mail:
            case Edited() | EditedUnseen() | Outlived() | Retracted():
                turn = await self._correcting.revise(draft, mail)
            case RunStopped():
                await self._correcting.stopped(draft, mail)
            case RestartDue():
                self._correcting.restart(draft, mail)
            case _:
                assert_never(mail)
        await self._dispatch.pump(draft, turn)

    async def _ask(self, mail: QuestionPosted | LookAtQuestions) -> None:
        draft = self._journal.draft()
        if isinstance(mail, QuestionPosted):
            await self._questions.posted(draft, mail)
        else:
            self._questions.look(draft)
        await draft.commit()

    # --- what the gateway reports -------------------------------------------------------------

    async def _run_started(self, mail: RunStarted) -> None:
        turn = self._lane.reported(mail.message_id)
        if turn is None:
            log.debug("%s: a run of the gateway's own, or of a command, began", self._key)
            return
        if turn.state != "folded":
            draft = self._journal.draft()
            turn.start(draft)
            await draft.commit()
        if mail.message_id is None and turn.state in {"correcting", "stopping"}:
            # The gateway resumed, after a restart, a run that was being stopped.
            self._correcting.stop(turn)

    async def _run_ended(self, mail: RunEnded) -> None:
        turn = self._lane.reported(mail.message_id)
        draft = self._journal.draft()
        if turn is not None:
            await self._ending.of_run(draft, turn, mail.outcome)
        await self._holding.keep_token(draft)
        await self._dispatch.pump(draft)

    async def _delivery_ended(self, mail: DeliveryEnded) -> None:
        turn = self._lane.find(mail.turn_id)
        draft = self._journal.draft()
        if turn is not None:
            has_run = not self._services.gateway.is_ready(self._key)
            await self._ending.of_delivery(draft, turn, has_run=has_run)
        elif (late := await self._answering.answered_late(mail.turn_id)) is not None:
            late.answer(draft)
        await self._dispatch.pump(draft)

    async def _key_ready(self) -> None:
        """Look for what no run will end any more, then let the next one go.

        Reports come in order, so a run whose end was reported is gone from here already.
        """
        await self._bypass.release()
        draft = self._journal.draft()
        turn = self._lane.at_gateway()
        if turn is not None and self._services.gateway.is_ready(self._key):
            if self._correcting.awaits_stop(turn):
                self._correcting.stop(turn)
            elif turn.state == "interrupted":
                await self._legacy.without_run(draft, turn)
                self._lane.keep(turn)
            else:
                await self._ending.without_run(draft, turn)
        await self._dispatch.pump(draft)

    def _is_left_alone(self, turn: TurnActor) -> bool:
        """Tell whether neither a run nor a stop will end a turn any more."""
        is_ready = self._services.gateway.is_ready(self._key)
        return is_ready and not self._correcting.awaits_stop(turn)

    async def _not_started(self, mail: NotStarted) -> None:
        turn = self._lane.find(mail.message_id)
        draft = self._journal.draft()
        if turn is not None and turn.row.attempt == mail.attempt:
            if turn.state == "handed":
                self._dispatch.give_up(draft, turn, "not_taken")
            elif turn.state == "held":
                turn.fail(draft, "not_taken")
                self._lane.keep(turn)
            elif turn.state == "stopping" and self._is_left_alone(turn):
                await self._ending.without_run(draft, turn)
        await self._dispatch.pump(draft)

    # --- after a restart ----------------------------------------------------------------------

    async def _take_stock(self, mail: TakeStock) -> None:
        """Learn what the gateway still has of what an earlier process handed over."""
        draft = self._journal.draft()
        for turn in self._lane:
            await self._legacy.take_stock(draft, turn)
            self._lane.keep(turn)
        await draft.commit()
        mail.promise.keep(None)

    async def _recover(self, mail: Recover) -> None:
        """Go on where an earlier process ended, now that the server can be read."""
        draft = self._journal.draft()
        for turn in self._lane:
            self._legacy.take_up(draft, turn)
            self._lane.keep(turn)
        for revision in mail.revisions:
            await self._correcting.revise(draft, revision)
        await draft.commit()
        await self._key_ready()
