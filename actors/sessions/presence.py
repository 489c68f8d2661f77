"""Shows the account online while it is connected: `@here` reaches nobody who is not."""

import logging

import anyio

from .errors import ChatError
from .services import Services

__all__ = ["Presence"]

log = logging.getLogger(__name__)


class Presence:
    """Says again and again that the account is there; when that ends the server forgets it.

    Source: Chatto 0.4.20: a presence lives a minute, an open stream is none.
    """

    def __init__(self, services: Services) -> None:
        """Say nothing yet."""
        self._services = services
        self._scope = anyio.CancelScope()

    def begin(self) -> None:
        """Show it from now on, where the operator wants that."""
        self.end()
        self._scope = anyio.CancelScope()
        every_s = self._services.limits.presence_every_s
        if every_s > 0:
            self._services.tasks.start_soon(self._go_on, every_s, self._scope)

    def end(self) -> None:
        """Show it no more."""
        self._scope.cancel()

    async def _go_on(self, every_s: float, scope: anyio.CancelScope) -> None:
        with scope:
            while True:
                try:
                    await self._services.server.show_online()
                except ChatError as error:
                    log.info("the account is not shown online: %s", error)
                await self._services.journal.clock.sleep(every_s)
