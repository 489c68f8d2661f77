"""The time by the server's clock, read off its answers."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

__all__ = ["ServerClock"]


class ServerClock:
    """Knows the server's time as of its newest answer, and counts on from there.

    Whatever the clock of this machine says, and however it jumps, plays no part in it.
    Source: Go, net/http: every answer has a Date, in whole seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Know nothing yet; `monotonic` gives seconds that never go back."""
        self._monotonic = monotonic
        self._read: tuple[datetime, float] | None = None

    def note(self, date: str | None) -> None:
        """Take the time of an answer; one without it, or with another text in it, says nothing."""
        if date is None:
            return
        try:
            moment = parsedate_to_datetime(date)
        except ValueError:
            return
        if moment.tzinfo is not None:
            self._read = moment, self._monotonic()

    def now(self) -> datetime | None:
        """Return the server's time, up to a second early; None before the first answer."""
        if self._read is None:
            return None
        moment, at = self._read
        return moment + timedelta(seconds=self._monotonic() - at)
