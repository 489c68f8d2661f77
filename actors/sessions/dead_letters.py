"""Mail that no actor could handle: what it was about ends with a name, in the rows."""

import logging
from collections.abc import Sequence
from typing import Any

from ...machines.turn import Reason
from ...store import turns
from ..runtime.mailbox import Address
from .answering import FAILED_INSIDE
from .journal import RESTING, Journal
from .mail import Answer, Received, RecoverMessage

__all__ = ["DeadLetters"]

log = logging.getLogger(__name__)


class DeadLetters:
    """The last stop of a mail whose handler failed again and again."""

    def __init__(self, journal: Journal) -> None:
        """Write into the same rows as the actors.

        Args:
            journal: where the end of what it was about is recorded.
        """
        self._journal = journal

    async def take(self, address: Address, mails: Sequence[Any], error: Exception) -> None:
        """End what the mails were about: whoever waits is told, a turn fails.

        Args:
            address: whose mail it was.
            mails: what could not be handled.
            error: the last error.
        """
        for mail in mails:
            log.error("%s: %s given up: %s", address, type(mail).__name__, type(error).__name__)
            if isinstance(mail, Answer):
                mail.promise.keep(FAILED_INSIDE)
            elif isinstance(mail, Received):
                await self._fail(mail.message_id, error)
            elif isinstance(mail, RecoverMessage):
                await self._fail(mail.row.message_id, error)

    async def _fail(self, message_id: str, error: Exception) -> None:
        scope = self._journal.scope
        row = await self._journal.read(lambda db: turns.find(db, scope, message_id))
        if row is None or row.state in RESTING:
            return
        draft = self._journal.draft()
        draft.turn(row, "fail", Reason(f"inside:{type(error).__name__}"))
        await draft.commit()
