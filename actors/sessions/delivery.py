"""Bring the parts of one delivery into the room, in order, each once."""

import logging
from collections.abc import Sequence
from datetime import datetime

from ...machines.delivery import OUTCOME_UNKNOWN, Posted, Refusal
from ...store import outbox, prompts
from ...store.database import Database
from ...store.outbox import PartRow
from ...store.prompts import PromptRow
from ..runtime.backoff import backoff
from .answering import result_of
from .errors import (
    ChatError,
    OutcomeUnknownError,
    RequestRefusedError,
    ServerBusyError,
    UnusableConnectionError,
)
from .journal import Draft
from .mail import THREAD, DeliveryEnded, QuestionPosted, Send
from .ports import Post
from .services import Services

__all__ = ["DeliveryActor"]

log = logging.getLogger(__name__)

LOOKS = 4  # how often a post that is not found in the room is given up


class DeliveryActor:
    """Owns the parts of one delivery; stops at the first that is refused."""

    def __init__(self, delivery_id: str, services: Services) -> None:
        """Take over a delivery; its rows are read whenever there is something to do.

        Args:
            delivery_id: the delivery.
            services: what the actors of the profile share.
        """
        self._delivery_id = delivery_id
        self._services = services
        self._journal = services.journal
        self._question_id: str | None = None
        """The part that ends a question of the agent; None: it asks nothing."""

    @classmethod
    async def load(cls, delivery_id: str, services: Services) -> "DeliveryActor":
        """Make the actor of a delivery."""
        return cls(delivery_id, services)

    async def handle(self, mails: Sequence[Send]) -> None:
        """Decide, record, act, part by part; then tell who waits and whose turn it is."""
        del mails  # each asks for the same: whatever is missing
        scope = self._journal.scope

        def rows(db: Database) -> tuple[list[PartRow], PromptRow | None]:
            parts = outbox.of_delivery(db, scope, self._delivery_id)
            return parts, prompts.find(db, scope, parts[-1].outbox_id)

        parts, question = await self._journal.read(rows)
        self._question_id = question.outbox_id if question else None
        for index, part in enumerate(parts):
            if part.state not in {"delivered", "superseded"}:
                parts[index] = await self._bring_out(part)
            if parts[index].state != "delivered":
                break
        self._tell(parts)
        if question is not None:
            self._tell_of_question(parts[-1], question.turn_id)

    async def _bring_out(self, part: PartRow) -> PartRow:
        """Work on one part until it is delivered or refused."""
        limits = self._services.limits
        waits = backoff(first=limits.first_wait_s, factor=2, longest=max(8, limits.first_wait_s))
        # What a wait may heal, and how long one is worth it.
        patience_s = {"busy": limits.busy_wait_s, "unreachable": limits.outage_wait_s}
        looks = 0
        while part.state not in {"delivered", "refused", "superseded"}:
            if part.state == "pending" and await self._is_pointless():
                part = await self._step(part, "supersede")
            elif part.state == "sending":
                # The process ended under the call.
                part = await self._step(part, "doubt", Refusal("process_ended"))
            elif part.state == "uncertain":
                part = await self._look(part, last=looks + 1 >= LOOKS)
                looks += part.state == "pending"
            else:
                part = await self._post(part)
            if part.reason in patience_s and part.state in {"pending", "uncertain"}:
                wait_s = next(waits)
                patience_s[part.reason] -= wait_s
                if patience_s[part.reason] < 0:
                    return await self._step(part, "refuse", Refusal(part.reason))
                await self._journal.clock.sleep(wait_s)
            elif looks > 1 and part.state == "pending":
                await self._journal.clock.sleep(next(waits))
        return part

    async def _post(self, part: PartRow) -> PartRow:
        part = await self._step(part, "post")
        try:
            async with self._services.locks.of(part.room_id):
                message_id = await self._services.server.post(_post_of(part))
        except ServerBusyError:
            return await self._step(part, "postpone", Refusal("busy"))
        except RequestRefusedError as error:
            log.warning("%s was refused by the server: %s", part.outbox_id, error)
            return await self._step(part, "refuse", Refusal(error.code))
        except UnusableConnectionError as error:
            self._services.give_up(error)
            return await self._step(part, "refuse", Refusal("not_connected"))
        except OutcomeUnknownError as error:
            log.warning("%s may or may not be in the room: %s", part.outbox_id, error)
            return await self._step(part, "doubt", Refusal(OUTCOME_UNKNOWN))
        return await self._step(part, "confirm", Posted(message_id))

    async def _look(self, part: PartRow, *, last: bool) -> PartRow:
        """Look into the room for a part that may be there.

        Args:
            part: the part.
            last: whether it is given up if it is not there.
        """
        began = datetime.fromisoformat(part.created_at)
        scope, room_id = self._journal.scope, part.room_id
        taken = await self._journal.read(lambda db: outbox.posted_in(db, scope, room_id))
        try:
            found = await self._services.server.find_post(
                _post_of(part), not_before=began, exclude=taken
            )
        except UnusableConnectionError as error:
            self._services.give_up(error)
            return await self._step(part, "refuse", Refusal(OUTCOME_UNKNOWN))
        except ChatError as error:
            log.warning("%s: the room could not be read back: %s", part.outbox_id, error)
            if isinstance(error, RequestRefusedError):
                return await self._step(part, "refuse", Refusal(OUTCOME_UNKNOWN))
            return await self._step(part, "doubt", Refusal("unreachable"))
        if found is not None:
            return await self._step(part, "confirm", Posted(found))
        if last:
            return await self._step(part, "refuse", Refusal(OUTCOME_UNKNOWN))
        return await self._step(part, "find_nothing")

    async def _is_pointless(self) -> bool:
        """Tell whether this asks something that nobody can answer any more."""
        question_id, scope = self._question_id, self._journal.scope
        if question_id is None:
            return False
        row = await self._journal.read(lambda db: prompts.find(db, scope, question_id))
        return row is not None and row.state in {"withdrawn", "expired"}

    async def _step(self, part: PartRow, event: str, ev: object = None) -> PartRow:
        draft: Draft = self._journal.draft()
        part = draft.part(part, event, ev)
        await draft.commit()
        return part

    def _tell(self, parts: Sequence[PartRow]) -> None:
        result = result_of(parts)
        first = parts[0]
        if first.turn_id is not None and first.kind == "answer":
            lane = self._services.lane_of(first.room_id, first.thread_root_id)
            ended = DeliveryEnded(self._delivery_id, first.turn_id)
            self._services.tell(THREAD, lane, ended)
        self._services.promises.settle(self._delivery_id, result)

    def _tell_of_question(self, part: PartRow, turn_id: str) -> None:
        lane = self._services.lane_of(part.room_id, part.thread_root_id)
        self._services.tell(THREAD, lane, QuestionPosted(part.outbox_id, turn_id))


def _post_of(part: PartRow) -> Post:
    return Post(part.room_id, part.thread_root_id, part.in_reply_to, part.body or "")
