"""Presence: what an account says about being there, good for a minute.

An open stream is no presence.
Source: Chatto 0.4.20, cli/internal/core/presence_model.go, docs/fdr/FDR-011.
"""

from dataclasses import dataclass
from enum import IntEnum

from .clock import NANOSECONDS, Clock
from .feed import Feed
from .frames import Event
from .pb import api

LIFETIME_S = 60
LOOK_EVERY_S = 1.0  # how late OFFLINE may be announced


class Status(IntEnum):
    """The four states, numbered as on the wire."""

    ONLINE = api.PRESENCE_STATUS_ONLINE
    AWAY = api.PRESENCE_STATUS_AWAY
    DO_NOT_DISTURB = api.PRESENCE_STATUS_DO_NOT_DISTURB
    OFFLINE = api.PRESENCE_STATUS_OFFLINE


@dataclass(slots=True, eq=False)
class _Sign:
    status: Status
    expires_ns: int


class Presence:
    """What every account said last."""

    def __init__(self, clock: Clock, feed: Feed) -> None:
        """Start with everybody offline."""
        self._clock = clock
        self._feed = feed
        self._signs: dict[str, _Sign] = {}

    def of(self, user_id: str) -> Status:
        """Return what holds now."""
        sign = self._signs.get(user_id)
        if sign is None or sign.expires_ns <= self._clock.now_ns():
            return Status.OFFLINE
        return sign.status

    def wants_quiet(self, user_id: str) -> bool:
        """Tell whether the account asked not to be disturbed."""
        return self.of(user_id) is Status.DO_NOT_DISTURB

    def say(self, user_id: str, status: Status) -> None:
        """Take an account's word for the next minute; everybody hears of a change."""
        before = self.of(user_id)
        expires_ns = self._clock.now_ns() + LIFETIME_S * NANOSECONDS
        self._signs[user_id] = _Sign(status, expires_ns)
        if status is not before:
            self._announce(user_id, status)

    async def announce_lapses(self) -> None:
        """Tell everybody who has gone offline by saying nothing; runs until cancelled."""
        while True:
            await self._clock.sleep(LOOK_EVERY_S)
            now_ns = self._clock.now_ns()
            lapsed = [one for one, sign in self._signs.items() if sign.expires_ns <= now_ns]
            for user_id in lapsed:
                del self._signs[user_id]
                self._announce(user_id, Status.OFFLINE)

    def _announce(self, user_id: str, status: Status) -> None:
        payload = {"user_id": user_id, "status": int(status)}
        self._feed.tell_everybody_apart(Event("presence_changed", user_id, payload))
