"""The reaction on a message that says how its turn stands: one at a time, none left behind."""

import logging
from collections.abc import Sequence

from ...store import turns
from ...store.turns import TurnRow
from .errors import ChatError, RequestRefusedError
from .mail import Refresh
from .services import Services
from .signage import sign_of

__all__ = ["SignActor"]

log = logging.getLogger(__name__)


class SignActor:
    """Keeps the reaction on one message what its turn's state asks for.

    Told again and again, it looks at the row each time: what matters is how the turn stands
    now. The row keeps what is shown, so a new start takes back what an old one left.
    """

    def __init__(self, message_id: str, services: Services) -> None:
        """Look after one message.

        Args:
            message_id: the message.
            services: what the actors of the profile share.
        """
        self._message_id = message_id
        self._services = services
        self._journal = services.journal

    @classmethod
    async def load(cls, message_id: str, services: Services) -> "SignActor":
        """Make the actor of a message; its row is read whenever there is something to do."""
        return cls(message_id, services)

    async def handle(self, mails: Sequence[Refresh]) -> None:
        """Bring what is shown in line with the state."""
        del mails  # each asks for the same
        scope, message_id = self._journal.scope, self._message_id
        row = await self._journal.read(lambda db: turns.find(db, scope, message_id))
        if row is None:
            return
        wanted = sign_of(row.state, row.reason, self._services.policy.signs)
        if wanted == row.sign or row.room_id in self._services.no_signs:
            return
        try:
            if row.sign is not None:
                await self._react(row, row.sign, on=False)
            if wanted is not None:
                await self._react(row, wanted, on=True)
        except RequestRefusedError as error:
            log.info("room %s takes no reactions: %s", row.room_id, error)
            self._services.no_signs.add(row.room_id)
            return
        except ChatError as error:
            log.debug("the sign on %s was not changed: %s", message_id, error)
            return
        await self._journal.store.run(lambda db: turns.show(db, scope, message_id, wanted))

    async def _react(self, row: TurnRow, emoji: str, *, on: bool) -> None:
        await self._services.server.react(row.room_id, row.message_id, emoji, on=on)
