"""The reaction on a message that says how its turn stands: one at a time, none left behind."""

import logging
from collections.abc import Sequence

from ...store import turns
from ...store.turns import TurnRow
from .errors import ChatError, RequestRefusedError
from .mail import Refresh
from .services import Services
from .signage import sign_of

__all__ = ["SignActor", "sign_again"]

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
        self._is_sure = False
        """Whether what the row says did show: an earlier process may have ended before."""

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
        is_shown = wanted == row.sign and (self._is_sure or wanted is None)
        if is_shown or row.room_id in self._services.no_signs:
            return
        shown = row.sign
        try:
            if row.sign is not None and row.sign != wanted:
                await self._react(row, row.sign, on=False)
                shown = None
            # Before it shows: should the process end now, the row says what to take back.
            await self._journal.store.run(lambda db: turns.show(db, scope, message_id, wanted))
            if wanted is not None:
                await self._react(row, wanted, on=True)
            self._is_sure = True
        except RequestRefusedError as error:
            log.info("room %s takes no reactions: %s", row.room_id, error)
            self._services.no_signs.setdefault(row.room_id, row.received_at)
            await self._journal.store.run(lambda db: turns.show(db, scope, message_id, shown))
        except ChatError as error:
            self._is_sure = False
            log.debug("the sign on %s was not changed: %s", message_id, error)

    async def _react(self, row: TurnRow, emoji: str, *, on: bool) -> None:
        await self._services.server.react(row.room_id, row.message_id, emoji, on=on)


async def sign_again(services: Services, room_id: str) -> None:
    """Put on, and take off, what a room refused, as it may take it now; else nothing is done.

    Raises:
        StoreBusyError, StoreUnavailableError: the rows cannot be read; it is not tried again.
    """
    since = services.no_signs.pop(room_id, None)
    if since is None:
        return
    scope = services.journal.scope
    unsigned, signed = await services.journal.read(
        lambda db: (turns.left_unsigned(db, scope, since), turns.left_signs(db, scope))
    )
    for row in [*unsigned, *signed]:
        if row.room_id == room_id and (row.closed_at or "") >= since:
            services.journal.on_sign(row.message_id)
