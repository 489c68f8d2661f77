"""Mail that no actor could handle: what it was about ends with a name, in the rows."""

import logging
from collections.abc import Sequence
from typing import Any

from ...machines.delivery import Refusal
from ...machines.turn import Reason
from ...store import outbox, turns
from ..runtime.mailbox import Address
from .answering import FAILED_INSIDE, result_of
from .journal import RESTING
from .mail import (
    THREAD,
    Answer,
    DeliveryEnded,
    KeyReady,
    NotStarted,
    Received,
    RecoverMessage,
    RunEnded,
    RunStarted,
    Send,
)
from .receipt import receipt_of_unread
from .services import Services
from .stream_events import MessagePosted

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
        reason = f"inside:{type(error).__name__}"
        for mail in mails:
            log.error("%s: %s given up: %s", address, type(mail).__name__, type(error).__name__)
            if isinstance(mail, Answer):
                mail.promise.keep(FAILED_INSIDE)
            elif isinstance(mail, Send):
                await self._refuse_parts(address.key, reason)
            elif isinstance(mail, MessagePosted):
                await self._write_unread(mail)
            if (message_id := _message_about(mail)) is not None:
                await self._fail(message_id, reason)

    async def _fail(self, message_id: str, reason: str) -> None:
        """End a turn; its lane, made anew from the rows, goes on with the next one."""
        scope = self._journal.scope
        row = await self._journal.read(lambda db: turns.find(db, scope, message_id))
        if row is None or row.state in RESTING:
            return
        draft = self._journal.draft()
        draft.turn(row, "fail", Reason(reason))
        await draft.commit()
        self._services.tell(THREAD, row.session_key, KeyReady())

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
    """Return the message whose turn a mail would have moved; None: that of no turn."""
    match mail:
        case RecoverMessage(row):
            return row.message_id
        case DeliveryEnded():
            return mail.turn_id
        case MessagePosted() | Received() | NotStarted() | RunStarted() | RunEnded():
            return mail.message_id
        case _:
            # Whoever told it tells it again in time, or it was about nobody's message.
            return None
