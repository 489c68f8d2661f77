"""Say once that the state file cannot be used, and once that it can again."""

import logging

from .clock import Clock
from .store_errors import is_outage

__all__ = ["Outage"]

_log = logging.getLogger(__name__)


class Outage:
    """A stretch in which nothing can be written; there may be a thousand attempts in it."""

    def __init__(self, clock: Clock) -> None:
        """Begin with a file that can be used."""
        self._clock = clock
        self._since: float | None = None
        self._is_lock_told = False

    def waits_for_lock(self, path: str, error: Exception) -> None:
        """Tell that a lock is waited for, the first time."""
        if not self._is_lock_told:
            _log.warning("%s: locked by another process, waiting (%s)", path, error)
        self._is_lock_told = True

    def notice(self, error: Exception) -> None:
        """Tell why the file cannot be used, the first time."""
        if self._since is None and is_outage(error):
            self._since = self._clock.monotonic()
            _log.error(
                "%s; new questions wait until it can be written, nothing is lost meanwhile", error
            )

    def end(self, path: str) -> None:
        """Tell that it can be written again, if it could not."""
        if self._since is not None:
            lasted_s = self._clock.monotonic() - self._since
            _log.warning("%s: can be written again, after %.0f s", path, lasted_s)
        self._since = None
        self._is_lock_told = False
