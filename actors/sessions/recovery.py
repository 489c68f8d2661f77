"""Go on with what an earlier process left in the rows."""

import logging
from datetime import datetime, timedelta

import anyio

from ...machines.prompt import Withdrawal
from ...store import outbox, prompts, transitions, turns
from ..runtime.clock import utc_text
from .journal import Journal
from .levels import note_levels
from .mail import (
    DELIVERY,
    ROOM,
    THREAD,
    Recover,
    RecoverMessage,
    Revisions,
    Send,
    TakeStock,
)
from .promise import Promise
from .services import Services
from .turn import AT_GATEWAY

__all__ = ["Recovery", "ended_at", "withdraw_questions"]

log = logging.getLogger(__name__)

UNSIGNED_FOR = timedelta(minutes=1)
"""A sign is put on within seconds of the step that asks for it; a process may end in between."""


class Recovery:
    """Done once per start: the gateway's part at once, ours when the server can be read."""

    def __init__(self, services: Services, left_at: datetime | None) -> None:
        """Wait to be told.

        Args:
            services: what the actors of the profile share.
            left_at: when the earlier process took its last step; None: there was none.
        """
        self._services = services
        self._left_at = left_at
        self._is_due = True

    async def ask_gateway(self) -> None:
        """Have the lanes learn what the gateway still has of their turns.

        Done before the gateway is told that we are connected: only then does it hand over what
        it owes and resume what it was at, and both would change its answer.
        """
        services = self._services
        scope = services.journal.scope
        rows = await services.journal.read(lambda db: turns.not_closed(db, scope))
        lanes = {row.session_key for row in rows if row.state in AT_GATEWAY}
        asked: list[Promise[None]] = []
        for session_key in sorted(lanes):
            asked.append(Promise())
            await services.send(THREAD, session_key, TakeStock(asked[-1]))
        with anyio.move_on_after(services.limits.asking_wait_s) as limit:
            for promise in asked:
                await promise.wait()
        if limit.cancelled_caught:
            log.warning("the gateway was not asked about all of its runs in time")

    async def run(self, revisions: Revisions = ()) -> None:
        """Tell every actor whose rows say that something is still to be done, the first time.

        Receipts are decided about again, lanes take up their turns, deliveries their parts.

        Args:
            revisions: what happened to open turns while nobody listened; told every time.

        Raises:
            SupervisorClosedError: the profile is being stopped.
        """
        if self._is_due:
            # Before the lanes are told: each then looks once whether its next turn can go out.
            self._services.lanes_open.set()
            await _recover(self._services, self._left_at, revisions)
            self._is_due = False
            note_levels(self._services)
        else:
            for session_key, revision in revisions:
                await self._services.send(THREAD, session_key, revision)
        self._services.following.take_up()


async def ended_at(journal: Journal) -> datetime | None:
    """Return when an earlier process took its last step; None: there was none."""
    at = await journal.read(transitions.newest_at)
    return datetime.fromisoformat(at) if at is not None else None


async def withdraw_questions(journal: Journal) -> None:
    """Record that nobody can answer what an earlier process asked, before anything else runs.

    The gateway keeps its open questions in memory alone.
    Source: Hermes 0.22, tools/approval.py, tools/clarify_gateway.py.
    """
    scope = journal.scope
    asked = await journal.read(lambda db: prompts.not_closed(db, scope))
    draft = journal.draft()
    for row in asked:
        draft.prompt(row, "withdraw", Withdrawal("process_died"))
    await draft.commit()


async def _recover(services: Services, left_at: datetime | None, revisions: Revisions) -> None:
    scope = services.journal.scope
    since = utc_text((left_at or services.journal.clock.now()) - UNSIGNED_FOR)
    rows, parts, signed, unsigned = await services.journal.read(
        lambda db: (
            turns.not_closed(db, scope),
            outbox.not_closed(db, scope),
            turns.left_signs(db, scope),
            turns.left_unsigned(db, scope, since),
        )
    )
    for row in [*signed, *unsigned, *rows]:
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
