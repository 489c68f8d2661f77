"""Texts of the gateway become deliveries: whose they are, in which parts, and how it ended."""

import logging
import secrets
from collections.abc import Sequence
from dataclasses import replace

from ...store import outbox, turns
from ...store.outbox import PartRow
from ..runtime.clock import utc_text
from .bodies import Bodies
from .journal import Draft
from .mail import DELIVERY, Answer, Send
from .owed import OwedAnswers
from .ports import DeliveryResult, DeliveryState, Outgoing
from .repetition import KEPT, digest_of, ends_in, written
from .services import Services
from .turn import TurnActor

__all__ = ["FAILED_INSIDE", "NO_ANSWER", "Answering", "result_of"]

log = logging.getLogger(__name__)

NOTHING_TO_POST = DeliveryResult(DeliveryState.DELIVERED, ())
"""The server takes no text without a visible character; there is nothing to be said about it."""

UNSENT = DeliveryResult(DeliveryState.SUPERSEDED, (), "run_stopped")

FAILED_INSIDE = DeliveryResult(DeliveryState.REFUSED, (), "failed_inside")
"""Our own code failed; the log has the traceback."""

NO_ANSWER = "no_answer"
"""What is missing of an answer that was never given."""

BEING_STOPPED = frozenset({"correcting", "stopping"})


class Answering:
    """Plans deliveries; lives in the mailbox of a lane, since an answer moves its turn."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services
        self._journal = services.journal
        self._owed = OwedAnswers(services)
        self._bodies = Bodies(services.directory)

    async def post(self, mail: Answer, turn: TurnActor | None) -> None:
        """Write the parts of a text into the outbox and send them on their way.

        Args:
            mail: the text, and who waits for what becomes of it.
            turn: the turn the gateway has on this key; None: none.
        """
        if await self._is_planned(mail):
            return
        outgoing = mail.outgoing
        again = await self._handed_over_before(outgoing, turn)
        if again:
            await self._send_again(mail, again)
            return
        outgoing = await self._owed.as_answer(outgoing, turn)
        mail = replace(mail, outgoing=outgoing)
        bodies = await self._bodies.of(outgoing.text)
        is_commands = await self._command_of(outgoing, turn) is not None
        owner = turn if outgoing.job_id is None and not is_commands else None
        if not bodies:
            mail.promise.keep(NOTHING_TO_POST)
        elif owner is not None and owner.state in BEING_STOPPED:
            await self._supersede(outgoing, owner, bodies)
            mail.promise.keep(UNSENT)
        else:
            await self._send(mail, owner, bodies)

    async def failure_of(self, turn_id: str) -> str | None:
        """Say what is missing of a turn's answer; None: all of it is in the room."""
        answer = await self._answer_of(turn_id)
        missing = _first_missing(answer)
        if missing is not None:
            return missing.reason or f"answer_{missing.state}"
        return None if answer else NO_ANSWER

    async def is_under_way(self, turn_id: str) -> bool:
        """Tell whether a turn's answer is still being brought out; it stops at a refused part."""
        missing = _first_missing(await self._answer_of(turn_id))
        return missing is not None and missing.state in {"pending", "sending", "uncertain"}

    async def _answer_of(self, turn_id: str) -> Sequence[PartRow]:
        """Return the parts of a turn's answer.

        After a refused answer the gateway may have posted another: the last one counts.
        """
        scope = self._journal.scope
        parts = await self._journal.read(lambda db: outbox.of_turn(db, scope, turn_id))
        answers = [part for part in parts if part.kind == "answer"]
        return [part for part in answers if part.delivery_id == answers[-1].delivery_id]

    async def _send(self, mail: Answer, turn: TurnActor | None, bodies: Sequence[str]) -> None:
        draft = self._journal.draft()
        parts = await self._plan(draft, mail.outgoing, turn, bodies)
        _note_question(draft, mail.outgoing, turn, parts[-1])
        if turn is not None and turn.state != "folded" and mail.outgoing.is_final:
            turn.deliver(draft)
        await self._dispatch(draft, mail, parts[0].delivery_id)

    async def _send_again(self, mail: Answer, parts: Sequence[PartRow]) -> None:
        """Send what is missing of a delivery; what is in the room stays as it is."""
        draft = self._journal.draft()
        for part in parts:
            draft.part(part, "retry")
        await self._dispatch(draft, mail, parts[0].delivery_id)

    async def _dispatch(self, draft: Draft, mail: Answer, delivery_id: str) -> None:
        # Before the commit: from there on it goes out, whoever is told what meanwhile.
        self._services.promises.expect(delivery_id, mail.promise)
        await draft.commit()
        self._services.tell_surely(DELIVERY, delivery_id, Send())

    async def _is_planned(self, mail: Answer) -> bool:
        """Tell whether this very mail was handled before, and see to its delivery.

        The lane may have failed after the parts were written, and is handed the mail again.
        """
        delivery_id = self._services.promises.delivery_of(mail.promise)
        if delivery_id is None:
            return mail.promise.is_kept
        scope = self._journal.scope
        if not await self._journal.read(lambda db: outbox.of_delivery(db, scope, delivery_id)):
            return False
        self._services.tell_surely(DELIVERY, delivery_id, Send())
        return True

    async def _handed_over_before(
        self, outgoing: Outgoing, turn: TurnActor | None
    ) -> Sequence[PartRow]:
        """Return the parts of the same text where the gateway hands it over once more."""
        scope = self._journal.scope
        if outgoing.job_id is not None:
            return []
        if outgoing.is_final:
            if turn is None or turn.state != "delivering":
                return []
            answer = await self._answer_of(turn.row.message_id)
            same = digest_of(written(outgoing.text))
            return answer if answer and answer[0].text_digest == same else []
        since = utc_text(self._journal.clock.now() - KEPT)
        room_id, root_id = outgoing.room_id, outgoing.thread_root_id
        opened = self._services.opened_at
        answers = await self._journal.read(
            lambda db: outbox.answers_at(db, scope, room_id, root_id, since=since, opened=opened)
        )
        delivery_id = ends_in(outgoing.text, answers)
        if delivery_id is None:
            return []
        log.info("%s: the gateway hands its text over once more", delivery_id)
        return await self._journal.read(lambda db: outbox.of_delivery(db, scope, delivery_id))

    async def answered_late(self, turn_id: str) -> TurnActor | None:
        """Return a turn that had failed though all of its answer is in the room by now."""
        scope = self._journal.scope
        row = await self._journal.read(lambda db: turns.find(db, scope, turn_id))
        if row is None or row.state != "failed" or await self.failure_of(turn_id) is not None:
            return None
        return TurnActor(row)

    async def _plan(
        self,
        draft: Draft,
        outgoing: Outgoing,
        turn: TurnActor | None,
        bodies: Sequence[str],
    ) -> list[PartRow]:
        """Plan the parts of a new delivery."""
        owner_id = turn.row.message_id if turn else await self._command_of(outgoing, None)
        kind = "other" if turn is None else "answer" if outgoing.is_final else "interim"
        # What is said on the way answers nothing yet; later parts belong to the first.
        answers = owner_id if outgoing.is_final else None
        delivery_id = f"{owner_id or outgoing.room_id}:{secrets.token_hex(4)}"
        now = self._journal.now()
        text = written(outgoing.text)
        rows = [
            PartRow(
                scope=self._journal.scope,
                outbox_id=f"{delivery_id}/{number}",
                delivery_id=delivery_id,
                turn_id=owner_id,
                kind=kind,
                part=number,
                parts=len(bodies),
                room_id=outgoing.room_id,
                thread_root_id=turn.row.thread_root_id if turn else outgoing.thread_root_id,
                in_reply_to=answers if number == 1 else None,
                body=body,
                bytes=len(body.encode()),
                digest=digest_of(body.encode()),
                state="pending",
                reason=None,
                attempt=0,
                message_id=None,
                created_at=now,
                updated_at=now,
                text_bytes=len(text),
                text_digest=digest_of(text),
            )
            for number, body in enumerate(bodies, start=1)
        ]
        return [draft.add_part(row) for row in rows]

    async def _command_of(self, outgoing: Outgoing, turn: TurnActor | None) -> str | None:
        """Return the command a text is the reply to; None: it is no command's.

        A command goes past the lane, so its reply can come while a turn runs, or is ended by it.
        """
        message_id = outgoing.answers_id
        if message_id is None or not outgoing.is_final:
            return None
        if turn is not None and turn.row.message_id == message_id:
            return None
        scope = self._journal.scope
        row = await self._journal.read(lambda db: turns.find(db, scope, message_id))
        return message_id if row and row.state == "bypassed" else None

    async def _supersede(self, outgoing: Outgoing, turn: TurnActor, bodies: Sequence[str]) -> None:
        """Record what a run said that is being stopped; it is never sent."""
        draft = self._journal.draft()
        for part in await self._plan(draft, outgoing, turn, bodies):
            draft.part(part, "supersede")
        await draft.commit()


def _note_question(
    draft: Draft, outgoing: Outgoing, turn: TurnActor | None, last: PartRow
) -> None:
    """Plan the row of what a turn's run asks; a run that is no turn has nobody to ask."""
    if outgoing.asks is not None and turn is not None and turn.may_ask:
        turn.asking.ask(draft, last, turn.row.message_id, outgoing.asks)


def result_of(parts: Sequence[PartRow]) -> DeliveryResult:
    """Read off its parts how a delivery ended."""
    posted = tuple(part.message_id for part in parts if part.message_id is not None)
    missing = _first_missing(parts)
    if missing is None:
        return DeliveryResult(DeliveryState.DELIVERED, posted)
    if missing.state == "superseded":
        return DeliveryResult(DeliveryState.SUPERSEDED, posted, missing.reason)
    state = DeliveryState.PARTIAL if posted else DeliveryState.REFUSED
    return DeliveryResult(state, posted, missing.reason)


def _first_missing(parts: Sequence[PartRow]) -> PartRow | None:
    return next((part for part in parts if part.state != "delivered"), None)
