"""Keep one realtime stream open for the profile, and know how it is."""

import logging
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import assert_never

from ...machines.connection import Account, Loss, Subscription
from ...store import connection
from ...store.connection import ConnectionRow
from ..runtime.backoff import backoff
from .connection_mail import (
    ConnectionMail,
    Deaf,
    GiveUp,
    Identified,
    IsCaughtUp,
    RetryDue,
    Start,
    Steady,
    Stop,
    StreamIsLost,
    StreamIsOpen,
    StreamIsRefused,
)
from .errors import UnusableConnectionError
from .mail import CONNECTION
from .ports import ConnectionReport
from .promise import Promise
from .recovery import Recovery
from .services import Services
from .stream import StreamReader

__all__ = ["ConnectionActor", "load_connection"]

log = logging.getLogger(__name__)

OPEN = frozenset({"connecting", "catching_up", "live"})
"""States in which a stream is open, or being opened."""

COUNTS_IN: Mapping[type[Identified | IsCaughtUp | Steady], frozenset[str]] = {
    Identified: frozenset({"connecting"}),
    # Live: it may have failed after the step, and comes again for what was left to do.
    IsCaughtUp: frozenset({"catching_up", "live"}),
    Steady: frozenset({"live"}),
}
"""States in which what a stream says counts."""


class ConnectionActor:
    """Owns the connection's chart and row; the stream reader tells it how the stream goes."""

    def __init__(
        self,
        row: ConnectionRow,
        services: Services,
        reader: StreamReader,
        recovery: Recovery,
        first_outcome: Promise[None],
    ) -> None:
        """Take over the connection as its row says.

        Args:
            row: the row, which an earlier process may have left in any state.
            services: what the actors of the profile share.
            reader: opens and closes the stream, and catches up; outlives this actor.
            recovery: what is to be done at the first live connection; outlives this actor.
            first_outcome: kept as soon as it is live, lost or refused for the first time.
        """
        self._row = row
        self._services = services
        self._journal = services.journal
        self._reader = reader
        self._recovery = recovery
        self._first_outcome = first_outcome

    async def handle(self, mails: Sequence[ConnectionMail]) -> None:
        """Decide, record, act."""
        for mail in mails:
            if self._counts(mail):
                await self._handle(mail)
            else:
                log.debug("%s of an older stream passed over", type(mail).__name__)

    def _counts(self, mail: ConnectionMail) -> bool:
        """Tell whether a mail is about what is still going on.

        One that was handled already may come again (its handler failed later on), and one of
        an older stream may come late.
        """
        state = self._row.state
        match mail:
            case Start() | Stop():
                return True
            case RetryDue():
                return state == "backing_off"
            case Deaf():
                return state == "live"
            case GiveUp():
                return state in OPEN
            case Identified() | IsCaughtUp() | Steady():
                return self._is_current(mail.stream) and state in COUNTS_IN[type(mail)]
            case StreamIsOpen() | StreamIsLost() | StreamIsRefused():
                return self._is_current(mail.stream) and state in OPEN
            case _:
                assert_never(mail)

    def _is_current(self, stream: int) -> bool:
        return stream == self._reader.number

    async def _handle(self, mail: ConnectionMail) -> None:  # noqa: C901  one case a mail
        match mail:
            case Start():
                await self._step("start")
                self._reader.open(self._row.gap)
            case Identified():
                await self._step("identify", Account(mail.account_id))
            case StreamIsOpen():
                await self._catch_up(mail)
            case IsCaughtUp():
                await self._go_live(mail)
            case StreamIsLost():
                await self._lose(mail)
            case Deaf():
                text = f"the stream says nothing of room {mail.room_id}, which is ours again"
                await self._lose(StreamIsLost(self._reader.number, "deaf_to_room", text, 0.0))
            case StreamIsRefused() | GiveUp():
                await self._refuse(mail.error)
            case RetryDue():
                await self._step("retry")
                self._reader.open(self._row.gap)
            case Steady():
                await self._step("settle")
            case Stop():
                self._reader.close()
                await self._step("stop", Loss("stopped"))
            case _:
                assert_never(mail)

    async def _catch_up(self, mail: StreamIsOpen) -> None:
        if self._row.state == "connecting":
            await self._step("subscribe", Subscription(mail.server_version))
        if mail.is_resumed:
            await self._go_live(IsCaughtUp(mail.stream, "resumed", ()))
        else:
            self._reader.catch_up.begin(mail.stream)

    async def _go_live(self, mail: IsCaughtUp) -> None:
        if self._row.state == "catching_up":
            if mail.reason is not None:
                await self._step("catch_up", Loss(mail.reason))
            await self._step("go_live")
        account = self._services.directory.account
        text = f"connected to Chatto {self._row.server_version} as {account.login}"
        log.info("%s", text)
        await self._services.gateway.report(ConnectionReport.LIVE, text)
        steady_s = self._services.limits.steady_after_s
        scope = self._journal.scope
        self._services.tell_later(steady_s, CONNECTION, scope, Steady(mail.stream))
        await self._recovery.run(mail.revisions)
        await self._reader.catch_up.release()
        self._first_outcome.keep(None)

    async def _lose(self, mail: StreamIsLost) -> None:
        is_first = self._row.attempt == 0
        self._reader.close()
        await self._step("lose", Loss(mail.reason))
        longest_s = self._services.limits.reconnect_longest_s
        wait_s = min(max(self._wait_s(), mail.retry_after_s), longest_s)
        level = logging.WARNING if is_first else logging.INFO
        text = f"not connected to the Chatto server: {mail.text}; next attempt in {wait_s:.0f} s"
        log.log(level, "%s", text)
        self._services.tell_later(wait_s, CONNECTION, self._journal.scope, RetryDue())
        await self._services.gateway.report(ConnectionReport.LOST, text)
        self._first_outcome.keep(None)

    async def _refuse(self, error: UnusableConnectionError) -> None:
        text = str(error)
        self._reader.close()
        await self._step("refuse", Loss(type(error).__name__))
        log.error("the connection to the Chatto server is given up: %s", text)
        await self._services.gateway.report(ConnectionReport.REFUSED, text)
        self._first_outcome.keep(None)

    def _wait_s(self) -> float:
        """Return how long to wait after this loss: longer after each in a row."""
        limits = self._services.limits
        waits = backoff(limits.reconnect_first_s, 2, limits.reconnect_longest_s)
        return next(islice(waits, self._row.attempt - 1, None))

    async def _step(self, event: str, ev: object = None) -> None:
        draft = self._journal.draft()
        self._row = draft.connection(self._row, event, ev)
        await draft.commit()


async def load_connection(services: Services, server_url: str) -> ConnectionRow:
    """Read the row of the connection; the address is that of now."""
    scope = services.journal.scope
    row = await services.journal.read(lambda db: connection.find(db, scope))
    blank = ConnectionRow(
        scope=scope,
        server_url=server_url,
        state="offline",
        reason=None,
        attempt=0,
        gap=0,
        account_id=None,
        server_version=None,
        updated_at=services.journal.now(),
    )
    return (row or blank)._replace(server_url=server_url)
