"""Carry the gateway's word that an agent run ended out of the run's thread.

The hook is registered once per plugin, while adapters come and go, and each belongs to an event
loop.
Source: Hermes 0.22, agent/turn_finalizer.py (the hook `on_session_end`, once per run), and
hermes_cli/plugins_dispatch.py (it may run in a thread of its own).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Hear", "SessionEnds", "Subscription"]

Hear = Callable[[str], None]
"""Takes the ID of the session whose run ended; called in the subscriber's own event loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Subscription:
    """Somebody who wants to hear, and where."""

    loop: asyncio.AbstractEventLoop
    hear: Hear


class SessionEnds:
    """Fans the hook out to whoever listens."""

    def __init__(self) -> None:
        """Start with nobody listening."""
        self._subscriptions: tuple[Subscription, ...] = ()
        """Replaced as a whole, so that threads that tell read one or the other."""

    def subscribe(self, hear: Hear) -> Subscription:
        """Listen from now on, in the running event loop."""
        subscription = Subscription(asyncio.get_running_loop(), hear)
        self._subscriptions = (*self._subscriptions, subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Listen no longer; once or again."""
        self._subscriptions = tuple(
            each for each in self._subscriptions if each is not subscription
        )

    def tell(self, session_id: str = "", **rest: object) -> None:
        """Tell everybody that a run of a session ended; may be called from any thread.

        Args:
            session_id: of the session.
            rest: what else the gateway says about the run; its outcome is told elsewhere.
        """
        del rest
        for each in self._subscriptions:
            if not each.loop.is_closed():  # a run may outlive the loop by a moment
                each.loop.call_soon_threadsafe(each.hear, session_id)
