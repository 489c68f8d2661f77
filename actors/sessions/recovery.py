"""Go on with what an earlier process left in the rows."""

import logging

from ...store import outbox, turns
from .levels import note_levels
from .mail import DELIVERY, ROOM, THREAD, Recover, RecoverMessage, Revisions, Send
from .services import Services

__all__ = ["Recovery"]

log = logging.getLogger(__name__)


class Recovery:
    """Done once per start, as soon as the server can be read."""

    def __init__(self, services: Services) -> None:
        """Wait for the first live connection.

        Args:
            services: what the actors of the profile share.
        """
        self._services = services
        self._is_due = True

    async def run(self, revisions: Revisions = ()) -> None:
        """Tell every actor whose rows say that something is still to be done, the first time.

        Receipts are decided about again, lanes take up their turns, deliveries their parts.

        Args:
            revisions: what happened to open turns while nobody listened; told every time.

        Raises:
            SupervisorClosedError: the profile is being stopped.
        """
        if self._is_due:
            await _recover(self._services, revisions)
            self._is_due = False
            self._services.following.take_up()
            note_levels(self._services)
            return
        for session_key, revision in revisions:
            await self._services.send(THREAD, session_key, revision)


async def _recover(services: Services, revisions: Revisions) -> None:
    scope = services.journal.scope
    rows, parts, signed = await services.journal.read(
        lambda db: (
            turns.not_closed(db, scope),
            outbox.not_closed(db, scope),
            turns.left_signs(db, scope),
        )
    )
    for row in [*signed, *(row for row in rows if row.sign is not None)]:
        services.journal.on_sign(row.message_id)
    received = [row for row in rows if row.state == "received"]
    lanes = {row.session_key for row in rows if row.state != "received"}
    deliveries = {part.delivery_id for part in parts if part.state != "refused"}
    for delivery_id in sorted(deliveries):
        await services.send(DELIVERY, delivery_id, Send())
    for session_key in sorted(lanes):
        own = tuple(revision for key, revision in revisions if key == session_key)
        await services.send(THREAD, session_key, Recover(own))
    for row in received:
        await services.send(ROOM, row.room_id, RecoverMessage(row))
    if rows or deliveries:
        log.info(
            "taken up from before: %d messages, %d lanes, %d deliveries",
            len(received),
            len(lanes),
            len(deliveries),
        )
