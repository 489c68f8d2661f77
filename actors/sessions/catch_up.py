"""Catch up what a gap in the stream hid: after every subscription, also after a restart."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from itertools import islice

import anyio

from ..runtime.backoff import backoff
from ..runtime.mailbox import Address, SupervisorClosedError
from ..runtime.store_errors import StoreBusyError, StoreClosedError, StoreUnavailableError
from .connection_mail import ConnectionMail, IsCaughtUp, StreamIsLost, StreamIsRefused
from .errors import (
    ChatError,
    RequestRefusedError,
    UnusableConnectionError,
)
from .gap import Gap, Since
from .mail import CONNECTION, ROOM, LookBack, Revisions
from .position import PositionKeeper
from .reception import Reception
from .services import Services

__all__ = ["CatchUp"]

log = logging.getLogger(__name__)

ROOMS_AT_ONCE = 8  # rooms that are read beside each other
ATTEMPTS = 4  # readings of the lists, before the stream is given up with them


class CatchUp:
    """Has every room look at what a gap may have hidden there; one gap at a time."""

    def __init__(self, services: Services, reception: Reception) -> None:
        """Start without a gap.

        Args:
            services: what the actors of the profile share.
            reception: holds back what is posted meanwhile.
        """
        self._services = services
        self._reception = reception
        self._scope = anyio.CancelScope()
        self._stream = 0
        """Number of the stream the newest gap came before."""
        self._caught_up = 0
        """Gaps this process has caught up; the first one lies between two processes."""

    def begin(self, stream: int) -> None:
        """Catch up beside the stream that is now open; the connection is told of the end."""
        self.end()
        self._scope = anyio.CancelScope()
        self._stream = stream
        self._services.tasks.start_soon(self._run, stream, self._scope)
        self._services.tasks.start_soon(self._release_late, stream)

    def end(self) -> None:
        """Go no further; what was found is decided, the rest is found again."""
        self._scope.cancel()

    async def release(self) -> None:
        """Let through what was held back meanwhile. Raises: SupervisorClosedError."""
        await self._reception.release()

    async def _run(self, stream: int, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                self._tell(await self._outcome(stream))
            except SupervisorClosedError:
                log.debug("not caught up: the profile is being stopped")

    async def _release_late(self, stream: int) -> None:
        """Keep nobody waiting for ever who asks something now."""
        await self._services.journal.clock.sleep(self._services.limits.hold_longest_s)
        try:
            if self._stream == stream:
                await self._reception.release()
        except SupervisorClosedError:
            log.debug("what was held back is found again after the next start")

    async def _outcome(self, stream: int) -> ConnectionMail:
        limits = self._services.limits
        failure = ""
        waits = backoff(limits.reconnect_first_s, 2, limits.reconnect_longest_s)
        for wait_s in islice(waits, ATTEMPTS):
            try:
                return await self._catch_up(stream)
            except UnusableConnectionError as error:
                return StreamIsRefused(stream, error)
            except RequestRefusedError as error:
                log.warning("what was missed cannot be read from this server: %s", error)
                return IsCaughtUp(stream, "inbox_refused", ())
            except (ChatError, StoreBusyError, StoreUnavailableError) as error:
                log.info("what was missed is read again in %.1f s: %s", wait_s, error)
                failure = str(error)
                await self._services.journal.clock.sleep(wait_s)
            except StoreClosedError as error:
                raise SupervisorClosedError(
                    Address(CONNECTION, self._services.journal.scope)
                ) from error
        return StreamIsLost(stream, "unreachable", failure, 0.0)

    async def _catch_up(self, stream: int) -> IsCaughtUp:
        services = self._services
        keeper = services.keeper
        now = services.server.server_time() or services.journal.clock.now()
        since = Since(
            now=now,
            position=keeper.position.at,
            begun_at=keeper.begun_at,
            window=timedelta(seconds=services.limits.resume_window_s),
        )
        refusal = _refusal_of(keeper, since)
        gap = Gap(services, since, self._reception.announced)
        found = await gap.survey(services.directory.own_rooms())
        revisions, is_whole = await self._look_back(found)
        if not self._caught_up:
            revisions += tuple(gap.outlived)
        if is_whole:
            self._caught_up += 1
            keeper.end_gap(now)
        missed = sum(len(mail.finds) for _, mail in found)
        if missed or revisions:
            log.info(
                "caught up since %s: %d messages in %d rooms looked at, %d open turns changed",
                since.back_to,
                missed,
                len({room_id for room_id, _ in found}),
                len(revisions),
            )
        return IsCaughtUp(stream, refusal or (f"missed: {missed}" if missed else None), revisions)

    async def _look_back(self, found: Sequence[tuple[str, LookBack]]) -> tuple[Revisions, bool]:
        """Have the rooms look; return what became of open turns, and whether all could look."""
        revisions: Revisions = ()
        is_whole = True
        for start in range(0, len(found), ROOMS_AT_ONCE):
            for room_id, mail in found[start : start + ROOMS_AT_ONCE]:
                await self._services.send(ROOM, room_id, mail)
            for room_id, mail in found[start : start + ROOMS_AT_ONCE]:
                outcome = await mail.outcome.wait()
                if outcome is None:
                    log.warning("room %s: what was missed there could not be read", room_id)
                    is_whole = False
                else:
                    revisions += outcome
        return revisions, is_whole

    def _tell(self, mail: ConnectionMail) -> None:
        self._services.tell(CONNECTION, self._services.journal.scope, mail)


def _refusal_of(keeper: PositionKeeper, since: Since) -> str | None:
    """Say, once, why a position is not what a catch-up begins with; None: it is.

    One line that names what is lost by it, and the word for the row.
    """
    refusal, keeper.refusal = keeper.refusal, None
    if refusal is not None:
        log.warning(
            "the position in the state file belongs to another %s and is not used: what was "
            "asked before %s is not answered, what has an answer since then is left alone",
            refusal.removeprefix("foreign_"),
            since.young_from,
        )
        return refusal
    if since.position is not None and since.position < since.young_from:
        log.warning(
            "nothing was heard from the server between %s and %s, longer than "
            "CHATTO_RESUME_WINDOW allows: what was asked before %s is not answered",
            since.position,
            since.now,
            since.young_from,
        )
        return "position_too_old"
    return None
