"""Mail that no actor could handle: what it was about ends with a name, in the rows."""

import logging
from collections.abc import Sequence
from typing import Any

from ...machines.delivery import Refusal
from ...store import outbox, prompts, turns
from ...store.turns import TurnRow
from ..runtime.mailbox import Address
from .answering import FAILED_INSIDE, result_of
from .journal import RESTING
from .mail import (
    ROOM,
    THREAD,
    Answer,
    DeliveryEnded,
    KeyReady,
    LookBack,
    NotStarted,
    QuestionPosted,
    Received,
    RecoverMessage,
    RunEnded,
    RunStarted,
    Send,
    TakeStock,
)
from .receipt import receipt_of_unread
from .services import Services
from .stream_events import MessagePosted
from .turn import AT_GATEWAY, TurnActor

__all__ = ["DeadLetters"]

log = logging.getLogger(__name__)

OPEN_PARTS = frozenset({"pending", "sending", "uncertain"})


class DeadLetters:
    """The last stop of a mail whose handler failed again and again."""

    def __init__(self, services: Services) -> None:
        """Write into the same rows as the actors.

        Args:
            services: what the actors of the profile share.
        """
        self._services = services
        self._journal = services.journal

    async def take(self, address: Address, mails: Sequence[Any], error: Exception) -> None:
        """End what the mails were about: whoever waits is told, a turn fails, its lane goes on.

        May be told again about the same mails.

        Args:
            address: whose mail it was.
            mails: what could not be handled.
            error: the last error.
        """
        if address.kind == ROOM:
            self._services.keeper.position.apply(mails)
        reason = f"inside:{type(error).__name__}"
        for mail in mails:
            log.error("%s: %s given up: %s", address, type(mail).__name__, type(error).__name__)
            await self._end(address, mail, reason)
        self._services.keeper.write_soon()

    async def _end(self, address: Address, mail: object, reason: str) -> None:
        """End what one mail was about."""
        match mail:
            case Answer():
                mail.promise.keep(FAILED_INSIDE)
            case Send():
                await self._refuse_parts(address.key, reason)
            case LookBack():
                mail.outcome.keep(None)
            case MessagePosted():
                await self._write_unread(mail)
                await self._fail(mail.message_id, reason)
                self._services.keeper.position.settle([mail.message_id])
            case RecoverMessage():
                await self._fail(mail.row.message_id, reason)
            case _ if address.kind == THREAD:
                await self._fail_in_lane(address.key, _message_about(mail), reason)
            case _:
                log.debug("%s: nobody waits for it", type(mail).__name__)
        if isinstance(mail, TakeStock):
            mail.promise.keep(None)  # no start waits for a lane that is broken

    async def _fail(self, message_id: str, reason: str) -> None:
        """End a turn; its lane, made anew from the rows, goes on with the next one."""
        scope = self._journal.scope
        row, asked = await self._journal.read(
            lambda db: (turns.find(db, scope, message_id), prompts.of_turn(db, scope, message_id))
        )
        if row is None or row.state in RESTING:
            return
        draft = self._journal.draft()
        TurnActor(row, None, asked).fail(draft, reason)
        await draft.commit()
        self._services.tell(THREAD, row.session_key, KeyReady())

    async def _fail_in_lane(self, session_key: str, about: str | None, reason: str) -> None:
        """End the turn at which the handling of a lane's mail stopped."""
        scope = self._journal.scope
        lane = await self._journal.read(lambda db: turns.in_lane(db, scope, session_key))
        stopped_at = _where_it_stopped(lane, about)
        if stopped_at is not None:
            await self._fail(stopped_at, reason)

    async def _write_unread(self, mail: MessagePosted) -> None:
        """Leave a row of what was never read, though it may have been a question."""
        scope = self._journal.scope
        row = await self._journal.read(lambda db: turns.find(db, scope, mail.message_id))
        if row is None:
            draft = self._journal.draft()
            draft.receive(receipt_of_unread(mail, self._services))
            await draft.commit()

    async def _refuse_parts(self, delivery_id: str, reason: str) -> None:
        """Give up what is missing of a delivery, and tell who waits and whose turn it is."""
        scope = self._journal.scope
        parts = await self._journal.read(lambda db: outbox.of_delivery(db, scope, delivery_id))
        draft = self._journal.draft()
        parts = [
            draft.part(part, "refuse", Refusal(reason)) if part.state in OPEN_PARTS else part
            for part in parts
        ]
        await draft.commit()
        self._services.promises.settle(delivery_id, result_of(parts))
        turn_id = parts[0].turn_id
        if turn_id is not None and parts[0].kind == "answer":
            lane = self._services.lane_of(parts[0].room_id, parts[0].thread_root_id)
            self._services.tell(THREAD, lane, DeliveryEnded(delivery_id, turn_id))


def _message_about(mail: object) -> str | None:
    """Return the message whose turn a mail of a lane moves; None: that of no certain one."""
    match mail:
        case DeliveryEnded() | QuestionPosted():
            return mail.turn_id
        case Received() | NotStarted() | RunStarted() | RunEnded():
            return mail.message_id
        case _:
            return None


def _where_it_stopped(lane: Sequence[TurnRow], about: str | None) -> str | None:
    """Return the message of the turn that could not be moved.

    A mail moves its own turn first and records that, then the lane hands over the turn that has
    waited longest. A mail about no certain turn looks at the one the gateway has.

    Args:
        lane: the turns that are not at rest, in order.
        about: whose turn the mail moves; None: that of no certain message.
    """
    waiting = [row.message_id for row in lane if row.state == "queued"]
    at_gateway = [row.message_id for row in lane if row.state in AT_GATEWAY]
    own = [row for row in lane if row.message_id == about]
    if own and own[0].state != "queued":
        return about
    if at_gateway:
        return at_gateway[0] if about is None else None
    return waiting[0] if waiting else None
