"""Bring the parts of one delivery into the room, in order, each once."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from ...machines.delivery import OUTCOME_UNKNOWN, Posted, Refusal
from ...store import outbox, prompts, turns
from ...store.database import Database
from ...store.outbox import PartRow
from ...store.prompts import PromptRow
from ...store.turns import TurnRow
from ..runtime.backoff import backoff
from .answering import result_of
from .errors import (
    AnswerUnclearError,
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

LONGEST_WAIT_S = 8.0  # between two attempts

CLOCK_TOLERANCE = timedelta(seconds=60)
"""So far the server's clock may be behind ours where nothing tells by how much."""
DRIFT = timedelta(seconds=5)
"""So far our clock may have been set, or run, forward while a turn ran."""


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
        self._tried: dict[str, int] = {}
        """By part: what the stream had shown when it was first tried."""
        self._may_come: set[str] = set()
        """Parts whose post broke off without an answer: it may still be on its way."""

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
        longest_s = max(LONGEST_WAIT_S, limits.first_wait_s)
        waits = backoff(first=limits.first_wait_s, factor=2, longest=longest_s)
        # What a wait may heal, and how long one is worth it.
        patience_s = {"busy": limits.busy_wait_s, "unreachable": limits.outage_wait_s}
        looks = 0
        while part.state not in {"delivered", "refused", "superseded"}:
            if part.state == "sending":
                # The process ended under the call.
                self._may_come.add(part.outbox_id)
                part = await self._step(part, "doubt", Refusal("process_ended"))
            elif part.state == "uncertain":
                part = await self._look(part, last=looks + 1 >= LOOKS)
                looks += part.state == "pending"
            else:
                part = await self._post(part)
                if part.state == "uncertain":
                    await self._journal.clock.sleep(limits.look_after_s)
            if part.reason in patience_s and part.state in {"pending", "uncertain"}:
                wait_s = next(waits)
                patience_s[part.reason] -= wait_s
                if patience_s[part.reason] < 0:
                    reason = "rate_limited" if part.reason == "busy" else part.reason
                    log.warning("%s was given up: %s", part.outbox_id, reason)
                    return await self._step(part, "refuse", Refusal(reason))
                await self._journal.clock.sleep(wait_s)
            elif looks > 1 and part.state == "pending":
                await self._journal.clock.sleep(next(waits))
        return part

    async def _post(self, part: PartRow) -> PartRow:
        if await self._is_pointless():
            return await self._step(part, "supersede")
        part = await self._step(part, "post")
        own_posts = self._services.own_posts
        try:
            async with self._services.locks.of(part.room_id):
                self._tried.setdefault(part.outbox_id, own_posts.now())
                message_id = await self._services.server.post(_post_of(part))
                own_posts.claim(message_id, part.outbox_id)
        except ServerBusyError:
            return await self._step(part, "postpone", Refusal("busy"))
        except RequestRefusedError as error:
            log.warning("%s was refused by the server: %s", part.outbox_id, error)
            # Perhaps a right was taken away, of which no event tells.
            self._services.directory.forget_room(part.room_id)
            return await self._step(part, "refuse", Refusal(_reason_of(error)))
        except UnusableConnectionError as error:
            self._services.give_up(error)
            return await self._step(part, "refuse", Refusal("not_connected"))
        except OutcomeUnknownError as error:
            log.warning("%s may or may not be in the room: %s", part.outbox_id, error)
            if not isinstance(error, AnswerUnclearError):
                self._may_come.add(part.outbox_id)
            return await self._step(part, "doubt", Refusal(OUTCOME_UNKNOWN))
        return await self._step(part, "confirm", Posted(message_id))

    async def _look(self, part: PartRow, *, last: bool) -> PartRow:
        """Look into the room for a part that may be there.

        Args:
            part: the part.
            last: whether it is given up if it is not there.
        """
        try:
            found = await self._find_in_time(part)
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

    async def _find_in_time(self, part: PartRow) -> str | None:
        """Look for a part as long as it may still come; between two looks others may post."""
        pauses_s = self._services.limits.late_looks_s if part.outbox_id in self._may_come else ()
        found = await self._look_once(part)
        for pause_s in pauses_s:
            if found is not None:
                break
            await self._journal.clock.sleep(pause_s)
            found = await self._look_once(part)
        self._may_come.discard(part.outbox_id)
        return found

    async def _look_once(self, part: PartRow) -> str | None:
        async with self._services.locks.of(part.room_id):
            return await self._find(part)

    async def _find(self, part: PartRow) -> str | None:
        """Read the place back; the room's lock is held, so that nobody else's post is half known.

        Not it are the messages that are other parts, and those that were there before it was
        tried: people may say the same twice, and other processes use the account as well.
        """
        scope, room_id = self._journal.scope, part.room_id
        own_posts = self._services.own_posts
        taken, turn = await self._journal.read(
            lambda db: (
                outbox.posted_in(db, scope, room_id),
                (turns.find(db, scope, part.turn_id) if part.turn_id else None)
                or turns.newest(db, scope),
            )
        )
        earlier = own_posts.before(self._tried.get(part.outbox_id, 0))
        found = await self._services.server.find_post(
            _post_of(part),
            not_before=_earliest(part, turn),
            exclude=taken | own_posts.claimed_by_others(part.outbox_id) | earlier,
        )
        if found is not None:
            own_posts.claim(found, part.outbox_id)
        return found

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


def _earliest(part: PartRow, turn: TurnRow | None) -> datetime:
    """Return the earliest time the server's clock can have shown when a part was posted.

    A question has a time of the server's and one of ours, so what passed since is measured on
    our clock alone; the two clocks need not agree.

    Args:
        part: the part.
        turn: that of its own question, else the newest; None: there never was one.
    """
    made = datetime.fromisoformat(part.created_at)
    if turn is None:
        return made - CLOCK_TOLERANCE
    passed = made - datetime.fromisoformat(turn.received_at)
    return datetime.fromisoformat(turn.posted_at) + passed - DRIFT


def _reason_of(error: RequestRefusedError) -> str:
    """Return the word for a refusal that an operator can do something with."""
    match error.code:
        case "failed_precondition" if "archived" in error.text:
            return "archived"
        case "resource_exhausted":
            return "too_large"
        case code:
            return code


def _post_of(part: PartRow) -> Post:
    return Post(part.room_id, part.thread_root_id, part.in_reply_to, part.body or "")
