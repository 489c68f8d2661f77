"""Forget in small batches what is over: at the start and about every hour, beside all else."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from ...store import idle_sessions, ignored, loops, retention
from ...store.database import Database
from ...store.retention import Batch, Stretch, Table
from ..runtime.clock import utc_text
from ..runtime.mailbox import SupervisorClosedError
from .mail import RETENTION, Prune
from .promise import Promise
from .services import Services

__all__ = ["RetentionActor", "prune_now_and_then"]

log = logging.getLogger(__name__)

REDELIVERY_S = 25 * 3_600
"""The gateway may hand an answer over again for a day. Source: Hermes 0.22, delivery ledger."""
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)  # nothing is older, whatever the setting says
SLACK_S = 3_600  # between the server's clock, which edits go by, and ours

Prunes = Callable[[Database, Stretch], Batch]

TABLES: Mapping[str, tuple[Table, Prunes, int]] = {
    # One commit each: whoever asks something meanwhile waits for no more than that.
    "turns": (retention.TURN_ROWS, retention.prune_turns, 100),
    "outbox": (retention.PART_ROWS, retention.prune_parts, 500),
    "transitions": (retention.STEP_ROWS, retention.prune_steps, 500),
}
"""What is pruned, in this order, how, and how many rows are looked at in one transaction."""
SESSION_ROWS = 200


class RetentionActor:
    """Prunes one batch a mail, and tells itself where to go on."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services
        self._journal = services.journal

    @classmethod
    async def load(cls, scope: str, services: Services) -> "RetentionActor":
        """Make the one there is."""
        del scope
        return cls(services)

    async def handle(self, mails: Sequence[Prune]) -> None:
        """Prune the next batch."""
        for mail in mails:
            before = mail.before or await self._horizon()
            if mail.table == "threads":
                await self._prune_sessions(mail, before)
            else:
                await self._prune(mail, before)

    async def _prune_sessions(self, mail: Prune, before: str) -> None:
        """Forget sessions that rest and that the gateway has no conversation for any more.

        With the first batch the counters go that nothing was added to any more.
        """
        scope, store = self._journal.scope, self._journal.store
        removed = mail.removed
        if not mail.after_key:
            removed += await self._forget_counters(before)
        page = await self._journal.read(
            lambda db: idle_sessions.find_idle(
                db, scope, before=before, after=mail.after_key, rows=SESSION_ROWS
            )
        )
        gateway = self._services.gateway
        over = [key for key in page.idle_keys if not gateway.has_session(key)]
        if over:
            removed += await store.run(
                lambda db: idle_sessions.forget_sessions(db, scope, before, over)
            )
        if page.last_key is not None:
            self._go_on(Prune("threads", before, 0, page.last_key, removed))
        else:
            self._go_on(Prune(next(iter(TABLES)), before, removed=removed))

    async def _forget_counters(self, before: str) -> int:
        scope, store = self._journal.scope, self._journal.store
        are_idle = await self._journal.read(
            lambda db: loops.are_idle(db, scope, before) or ignored.are_idle(db, scope, before)
        )
        if not are_idle:
            return 0
        return await store.run(
            lambda db: (
                loops.forget_idle(db, scope, before) + ignored.forget_idle(db, scope, before)
            )
        )

    async def _prune(self, mail: Prune, before: str) -> None:
        table, prune, rows = TABLES[mail.table]
        stretch = Stretch(self._journal.scope, before, mail.after, rows)
        batch = Batch(0, None)
        if await self._journal.read(lambda db: retention.are_old(db, table, stretch)):
            batch = await self._journal.store.run(lambda db: prune(db, stretch))
        removed = mail.removed + batch.removed
        if batch.after is not None:
            self._go_on(Prune(mail.table, before, batch.after, removed=removed))
            return
        tables = list(TABLES)
        later = tables[tables.index(mail.table) + 1 :]
        if later:
            self._go_on(Prune(later[0], before, removed=removed))
        elif removed:
            log.info("%d rows of what was over before %s are removed", removed, before)

    def _go_on(self, mail: Prune) -> None:
        pause_s = self._services.limits.retention_pause_s
        self._services.tell_later(pause_s, RETENTION, self._journal.scope, mail)

    async def _horizon(self) -> str:
        """Return the time before which what is over may be forgotten.

        The last day of activity stays however long ago it was: what was missed since then is
        read from its end, and is compared with it.
        """
        scope = self._journal.scope
        newest = await self._journal.read(lambda db: retention.newest_receipt(db, scope))
        now = self._journal.clock.now()
        keep_s = max(
            self._services.limits.retention_s,
            REDELIVERY_S,
            self._services.policy.revisions.window_s + SLACK_S,
        )
        keep = timedelta(seconds=min(keep_s, (now - BEGINNING).total_seconds()))
        last = now if newest is None else datetime.fromisoformat(newest)
        return utc_text(min(now - keep, last - timedelta(seconds=REDELIVERY_S)))


async def prune_now_and_then(services: Services, first_outcome: Promise[None]) -> None:
    """Begin when the connection had its first outcome, and again every hour."""
    await first_outcome.wait()
    while True:
        try:
            await services.send(RETENTION, services.journal.scope, Prune("threads"))
        except SupervisorClosedError:
            log.debug("nothing is removed any more: the profile is being stopped")
            return
        await services.journal.clock.sleep(services.limits.retention_every_s)
