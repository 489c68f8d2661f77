"""The calls over the wire: chattolib's generated services, and one way to call them.

Importing this takes about half a second of CPU (chattolib brings every message of the API).
"""

import asyncio
import ssl
from collections.abc import Awaitable
from dataclasses import dataclass
from types import ModuleType
from typing import Final, Protocol

import anyio
from chattolib import ChattoClient
from connectrpc.client import ResponseMetadata
from connectrpc.errors import ConnectError

from . import pb
from .address import ServerAddress
from .front_door import FrontDoor
from .limits import Limits
from .pb import Proto
from .realtime import RealtimeStream, open_stream
from .refusals import Failure, WhenUnclear, error_of, is_own_text
from .server_clock import ServerClock

__all__ = ["Rpc", "Wire", "open_wire"]

ABANDON_S: Final = 1.0  # for a call that was given up to let go of its connection


class Rpc(Protocol):
    """One generated method of a service."""

    def __call__(self, request: Proto, *, headers: dict[str, str]) -> Awaitable[Proto]:
        """Send the request, answer with the response."""
        ...


@dataclass(frozen=True, slots=True)
class Wire:
    """What it takes to talk to one server; holds no credential."""

    address: ServerAddress
    limits: Limits
    clock: ServerClock
    """Set by every answer."""
    tls: ssl.SSLContext
    """For plain HTTP and the stream; the RPCs' own HTTP library trusts the same store."""
    door: FrontDoor
    services: Proto
    """chattolib's generated clients, by service."""
    pb: ModuleType
    """The generated messages."""

    async def call(
        self,
        method: Rpc,
        request: Proto,
        *,
        token: str,
        deadline_s: float,
        when_unclear: WhenUnclear,
    ) -> Proto:
        """Call one RPC and return its response.

        The call runs in a task of its own: the Connect client turns every cancellation into an
        error of its own ("canceled"), so only from outside can it be told whose it was. Ours is
        an unclear failure, the caller's goes on as a cancellation, the server's is its answer.

        Args:
            method: of a generated service.
            request: its request message.
            token: the bearer token.
            deadline_s: longest wait for the answer, in seconds.
            when_unclear: the error's class where the answer is no plain one.

        Raises:
            ServerBusyError: nothing was done.
            RequestRefusedError: nothing was done and never will be.
            TokenRefusedError: nothing was done.
            ServerUnreachableError: as `when_unclear` says.
            OutcomeUnknownError: as `when_unclear` says.
        """
        name = request.DESCRIPTOR.name.removesuffix("Request")
        metadata = ResponseMetadata()
        task = asyncio.create_task(_ask(method, request, token, metadata), name=f"chatto {name}")
        try:
            done, _ = await asyncio.wait({task}, timeout=deadline_s)
        finally:
            await _abandon(task)
        if not done:
            text = f"nothing within {deadline_s:g} s"
            raise error_of(
                Failure(name, "deadline_exceeded", text, is_chattos=False), when_unclear
            )
        self.clock.note(metadata.headers.get("date"))
        try:
            return task.result()
        except ConnectError as error:
            # Headers are kept only of an answer that has the form of a Connect answer.
            is_chattos = "content-type" in metadata.headers and is_own_text(error.message)
            failure = Failure(name, error.code.value, error.message, is_chattos)
            raise error_of(failure, when_unclear) from error

    async def open_stream(self, token: str) -> RealtimeStream:
        """Open the realtime stream; it is the caller's to close.

        Raises:
            StreamLostError: it could not be opened; a later attempt may succeed.
            TokenRefusedError: the server does not know the token.
            ProtocolNotSpokenError: the server speaks another protocol.
        """
        return await open_stream(self.address.stream_url, token, self.tls, self.limits)


def open_wire(address: ServerAddress, limits: Limits, clock: ServerClock) -> Wire:
    """Get ready to talk to a server; nothing is sent. Reads the trusted certificates: blocks."""
    tls = ssl.create_default_context()
    # Built without any credential: `ChattoClient.login` would add a cookie that goes on
    # working, and so hides it, when the token is dead. The token goes along with each call.
    services = ChattoClient(base_url=address.base_url).services
    door = FrontDoor(address, tls, limits.read_timeout_s)
    return Wire(address, limits, clock, tls, door, services, pb)


async def _ask(method: Rpc, request: Proto, token: str, metadata: ResponseMetadata) -> Proto:
    with metadata:
        return await method(request, headers={"Authorization": f"Bearer {token}"})


async def _abandon(task: "asyncio.Task[Proto]") -> None:
    """End a call nobody waits for any more; does nothing to one that has ended."""
    if task.done():
        return
    task.add_done_callback(_seen)
    task.cancel()
    with anyio.CancelScope(shield=True):
        await asyncio.wait({task}, timeout=ABANDON_S)


def _seen(task: "asyncio.Task[Proto]") -> None:
    """Take note of how it ended: what is never asked for its error is reported as lost."""
    if not task.cancelled():
        task.exception()
