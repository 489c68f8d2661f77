"""One account at one server: whatever is sent goes through here, with a token that is good."""

from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from ..sessions.errors import (
    OutcomeUnknownError,
    ServerUnreachableError,
    StreamLostError,
)
from .address import ServerAddress, parse_address
from .credential import Credential
from .limits import Limits
from .refusals import TokenRefusedError, WhenUnclear
from .resources import Proto
from .server_clock import ServerClock
from .tokens import TokenKeeper

if TYPE_CHECKING:
    from .realtime import RealtimeStream
    from .wire import Rpc, Wire

__all__ = ["Session"]


class Session:
    """What calls have in common: the wire opened once, the token, deadlines."""

    def __init__(self, url: str, credential: Credential, limits: Limits) -> None:
        """Keep the settings."""
        self._url = url
        self._limits = limits
        self._tokens = TokenKeeper(credential)
        self._opened: Wire | None = None
        self.clock = ServerClock()
        """The server's time, as of its newest answer."""

    async def wire(self) -> "Wire":
        """Return the wire; the first time, import it and read the trusted certificates.

        Raises:
            NotChattoError: the address is unusable.
        """
        if self._opened is None:
            address = parse_address(self._url)
            self._opened = await anyio.to_thread.run_sync(
                _open_wire, address, self._limits, self.clock
            )
        return self._opened

    async def read(self, method: "Rpc", request: Proto) -> Proto:
        """Call what may be repeated.

        Raises:
            ChatError: all but `OutcomeUnknownError`.
        """
        return await self._call(
            method, request, self._limits.read_timeout_s, ServerUnreachableError
        )

    async def send(self, method: "Rpc", request: Proto) -> Proto:
        """Call what must not be repeated blindly.

        Raises:
            ChatError: all but `ServerUnreachableError`.
        """
        try:
            return await self._call(
                method, request, self._limits.send_timeout_s, OutcomeUnknownError
            )
        except ServerUnreachableError as error:  # of a login
            raise OutcomeUnknownError(str(error)) from error

    async def open_stream(self) -> "RealtimeStream":
        """Open the realtime stream; it is the caller's to close.

        Raises:
            StreamLostError: it could not be opened; a later attempt may succeed.
            UnusableConnectionError: no retry helps.
        """
        wire = await self.wire()
        try:
            token = await self._tokens.token(wire.door.log_in)
            try:
                return await wire.open_stream(token)
            except TokenRefusedError:
                token = await self._tokens.renew(token, wire.door.log_in)
            return await wire.open_stream(token)
        except TokenRefusedError as error:
            raise self._tokens.refusal() from error
        except ServerUnreachableError as error:  # of the login
            reason = "no_login"
            raise StreamLostError(reason) from error

    async def _call(
        self, method: "Rpc", request: Proto, deadline_s: float, when_unclear: WhenUnclear
    ) -> Proto:
        """Call, and once more with another token where the server has forgotten the first.

        Repeating is safe for a post, too: the credential is looked at before anything else.
        """
        wire = await self.wire()
        token = await self._tokens.token(wire.door.log_in)
        call = partial(
            wire.call, method, request, deadline_s=deadline_s, when_unclear=when_unclear
        )
        try:
            return await call(token=token)
        except TokenRefusedError:
            token = await self._tokens.renew(token, wire.door.log_in)
        try:
            return await call(token=token)
        except TokenRefusedError as error:
            raise self._tokens.refusal() from error


def _open_wire(address: ServerAddress, limits: Limits, clock: ServerClock) -> "Wire":
    from .wire import open_wire  # noqa: PLC0415 - half a second of CPU, none of it at start-up

    return open_wire(address, limits, clock)
