"""The token in use: where it comes from, and what happens when the server forgets it."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias, assert_never

import anyio

from ..sessions.errors import CredentialRefusedError
from .credential import Credential, Password, Token, is_sendable, settings_of

__all__ = ["LogIn", "TokenKeeper"]

LogIn: TypeAlias = Callable[[Password], Awaitable[str]]
"""Turns a password into a token."""

_log = logging.getLogger(__name__)


class TokenKeeper:
    """Holds the token, in memory only; one login at a time, however many calls fail at once."""

    def __init__(self, credential: Credential) -> None:
        """Start without a token where one has to be fetched."""
        self._credential = credential
        self._token = credential.secret.strip() if isinstance(credential, Token) else ""
        self._lock = anyio.Lock()

    async def token(self, log_in: LogIn) -> str:
        """Return the token; the first time, log in for it.

        Raises:
            ServerUnreachableError: no answer to the login.
            UnusableConnectionError: the credential is of no use.
        """
        return self._checked(self._token or await self.renew("", log_in))

    async def renew(self, refused: str, log_in: LogIn) -> str:
        """Return another token than the refused one.

        Args:
            refused: the token the server did not accept; empty: there was none.
            log_in: called only if nobody else has renewed it meanwhile.

        Raises:
            ServerUnreachableError: no answer to the login.
            UnusableConnectionError: the credential is of no use.
        """
        async with self._lock:
            if self._token == refused:
                self._token = await self._fetch(log_in)
            return self._token

    async def _fetch(self, log_in: LogIn) -> str:
        match self._credential:
            case Token():
                raise self.refusal()
            case Password() as password:
                _log.info("logging in to Chatto as %s", password.login)
                return await log_in(password)
            case _:
                assert_never(self._credential)

    def refusal(self) -> CredentialRefusedError:
        """Return the error that says which setting to change, and how."""
        settings = settings_of(self._credential)
        match self._credential:
            case Token():
                remedy = "it is wrong, was revoked or has run out; set another one"
            case Password():
                remedy = "a fresh login gave a token that is refused, too; look at the account"
            case _:
                assert_never(self._credential)
        return CredentialRefusedError(f"{settings}: Chatto refuses the token: {remedy}")

    def _checked(self, token: str) -> str:
        if not is_sendable(token):
            raise self.refusal()
        return token
