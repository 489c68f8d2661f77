"""The plain HTTP in front of the RPCs: logging in, and finding out who answers at all.

Its texts reach the operator: each names the setting and the remedy. Nothing a server sent is
quoted; it may have been given a password.
"""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import anyio
import httpx

from ..sessions.errors import (
    ChatError,
    CredentialRefusedError,
    NotChattoError,
    ServerUnreachableError,
)
from .address import ServerAddress
from .credential import Password, is_sendable

__all__ = ["FrontDoor"]

LOGIN_PATH: Final = "/auth/login"

PROFILE_PATH: Final = "/api/connect/chatto.discovery.v1.ServerDiscoveryService/GetServer"
"""Says what server this is, to anybody. Source: Chatto 0.4.20, discovery/v1/server.proto."""

PASSING: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
"""Statuses below 500 that a wait may heal."""


@dataclass(frozen=True, slots=True)
class FrontDoor:
    """The server's plain HTTP routes."""

    address: ServerAddress
    tls: ssl.SSLContext
    timeout_s: float
    """Longest wait for a whole answer."""

    async def log_in(self, password: Password) -> str:
        """Exchange a password for a token. No cookie is kept: it would hide a dead token.

        Source: Chatto 0.4.20, cli/internal/http_server/auth.go.

        Raises:
            ServerUnreachableError: no answer, or one that passes.
            CredentialRefusedError: login or password are wrong.
            NotChattoError: something else answers there.
        """
        login = {"login": password.login, "password": password.secret}
        answer = await self._ask(LOGIN_PATH, login)
        body = self._chattos(answer)
        if answer.status_code != HTTPStatus.OK:
            what = (
                f"CHATTO_LOGIN and CHATTO_PASSWORD: Chatto at {self.address.base_url} refuses "
                f"them (HTTP {answer.status_code}); correct them"
            )
            raise CredentialRefusedError(what)
        token = body.get("token")
        if not isinstance(token, str) or not is_sendable(token):
            what = "its answer to the login holds no token"
            raise self._not_chatto(what)
        return token

    async def look(self) -> None:
        """Find out whether Chatto answers, when it did not seem so.

        Raises:
            ServerUnreachableError: nothing answers, or not now.
            NotChattoError: something else does.
        """
        body = self._chattos(await self._ask(PROFILE_PATH, {}))
        if "profile" not in body:
            what = "its answer describes no Chatto server"
            raise self._not_chatto(what)

    async def _ask(self, path: str, body: dict[str, str]) -> httpx.Response:
        try:
            with anyio.fail_after(self.timeout_s):
                async with httpx.AsyncClient(verify=self.tls, timeout=None) as http:  # noqa: S113
                    return await http.post(f"{self.address.base_url}{path}", json=body)
        except TimeoutError as error:
            text = f"no answer within {self.timeout_s:g} s"
            raise self._unreachable(text) from error
        except httpx.HTTPError as error:
            raise self._broken(error) from error
        except httpx.InvalidURL as error:
            text = "is no address"
            raise self._not_chatto(text) from error
        except UnicodeEncodeError:  # its repr holds the password, so it is no cause to keep
            text = "CHATTO_LOGIN and CHATTO_PASSWORD hold what is no text; correct them"
            raise CredentialRefusedError(text) from None

    def _chattos(self, answer: httpx.Response) -> dict[str, object]:
        """Return the JSON object of an answer that can be Chatto's."""
        status = answer.status_code
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in PASSING:
            what = f"HTTP {status}"
            raise self._unreachable(what)
        if answer.has_redirect_location:
            target = urlsplit(str(answer.headers["location"]))
            origin = f"{target.scheme}://{target.netloc}" if target.netloc else "another path"
            what = f"it sends everybody on to {origin}: that may be the one"
            raise self._not_chatto(what)
        try:
            body = answer.json()
        except ValueError as error:
            text = f"a page that is no Chatto answer (HTTP {status})"
            raise self._not_chatto(text) from error
        if not isinstance(body, dict) or status == HTTPStatus.NOT_FOUND:
            what = f"an answer that is not Chatto's (HTTP {status})"
            raise self._not_chatto(what)
        return body

    def _broken(self, error: httpx.HTTPError) -> ChatError:
        """Tell a certificate nobody trusts from a server that is down."""
        for cause in _causes(error):
            if isinstance(cause, ssl.SSLError):
                return self._not_chatto(f"TLS does not come about: {cause.reason}")
        return self._unreachable(str(error) or type(error).__name__)

    def _unreachable(self, what: str) -> ServerUnreachableError:
        return ServerUnreachableError(
            f"CHATTO_URL: no answer from {self.address.base_url} ({what}). Is the server up, and "
            "is this its address?"
        )

    def _not_chatto(self, what: str) -> NotChattoError:
        return NotChattoError(
            f"CHATTO_URL: no Chatto server at {self.address.base_url} ({what}). Set it to the "
            "address as in the browser, up to the host"
        )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
