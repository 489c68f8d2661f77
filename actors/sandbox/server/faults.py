"""Where a test may step between the server and its client.

Three places, each around a step: a call being applied, its answer being sent, one realtime
frame being written. Whoever stands there may wait, refuse, leave the step out or repeat it;
the server itself always does the right thing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from .pb import Proto


class StreamCutError(Exception):
    """Raised around a frame: the stream ends here."""

    def __init__(self, close_code: int | None = None, reason: str = "") -> None:
        """End it with a closing handshake; code None: with the bare end of the connection."""
        super().__init__(f"{close_code} {reason}")
        self.close_code = close_code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Call:
    """One RPC that passed authentication and field rules."""

    name: str
    """`Service/Method` without the package, for example `MessageService/CreateMessage`."""
    request: Proto
    user_id: str
    """Who calls; empty for the public services."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One realtime frame on its way to one stream."""

    user_id: str
    """Whose stream it is; empty during the handshake."""
    kind: str
    """The kind of the event, or of the frame where it is no event (`hello`, `heartbeat`, …)."""
    encoded: bytes
    """The frame as it goes over the wire."""


class Faults(Protocol):
    """What a test puts between the server and its client."""

    async def applying(self, call: Call, apply: Callable[[], Awaitable[Proto]]) -> Proto:
        """Stand around the change itself: `await apply()` makes it and gives the answer.

        Raises:
            RefusedError: answered to the client as it is; before `apply` nothing was changed,
                after it everything was.
        """
        ...

    async def answering(self, call: Call, send: Callable[[], Awaitable[None]]) -> None:
        """Stand around the answer: `await send()` writes it to the connection.

        Returning without sending breaks the connection, as a lost answer does.
        """
        ...

    async def delivering(
        self, delivery: Delivery, send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Stand around one realtime frame: `await send(delivery.encoded)` writes it.

        Raises:
            StreamCutError: the stream is to end here.
        """
        ...


class NoFaults:
    """The server undisturbed."""

    async def applying(self, call: Call, apply: Callable[[], Awaitable[Proto]]) -> Proto:
        """Apply the call."""
        del call
        return await apply()

    async def answering(self, call: Call, send: Callable[[], Awaitable[None]]) -> None:
        """Send the answer."""
        del call
        await send()

    async def delivering(
        self, delivery: Delivery, send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Send the frame."""
        await send(delivery.encoded)
