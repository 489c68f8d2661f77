"""Bearer tokens and session cookies: two kinds of handle, neither good for the other.

Source: Chatto 0.4.20, cli/internal/core/auth_tokens.go, cli/internal/http_server/auth.go,
docs/adr/ADR-046.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from .accounts import Account
from .clock import NANOSECONDS, Clock
from .ids import ALPHABET, LENGTH

SESSION_COOKIE = "chatto_session"
CSRF_COOKIE = "chatto_csrf"
CSRF_HEADER = "x-csrf-token"
TOKEN_LIFETIME_S = 90 * 24 * 3600  # every use starts it anew


@dataclass(slots=True, eq=False)
class Session:
    """What one sign-in left in a browser."""

    account: Account
    csrf: str


@dataclass(slots=True, eq=False)
class _Token:
    account: Account
    expires_ns: int


class Credentials:
    """Every token and cookie that is good now."""

    def __init__(self, clock: Clock) -> None:
        """Start without any."""
        self._clock = clock
        self._tokens: dict[str, _Token] = {}
        self._sessions: dict[str, Session] = {}

    def mint_token(self, account: Account) -> str:
        """Return one more bearer token of the account; the others stay good."""
        token = "cht_AT" + "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
        self._tokens[token] = _Token(account, self._new_expiry())
        return token

    def mint_session(self, account: Account) -> tuple[str, str]:
        """Return the values of the session cookie and of the CSRF cookie."""
        handle, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(24)
        self._sessions[handle] = Session(account, csrf)
        return handle, csrf

    def bearer(self, token: str) -> Account | None:
        """Return whose token this is, and prolong it; None for one that is not good."""
        found = self._tokens.get(token)
        if found is None:
            return None
        if found.expires_ns <= self._clock.now_ns():
            del self._tokens[token]
            return None
        found.expires_ns = self._new_expiry()
        return found.account

    def session(self, handle: str) -> Session | None:
        """Return the session of a cookie; None for one that is not good."""
        return self._sessions.get(handle)

    def caller(self, authorization: str, cookies: Mapping[str, str]) -> Account | None:
        """Return who makes a request.

        A good bearer beats the cookie, a bad one falls back to it. The scheme is `Bearer`,
        exactly.
        """
        account = None
        if authorization.startswith("Bearer "):
            account = self.bearer(authorization.removeprefix("Bearer "))
        if account is None:
            session = self.session(cookies.get(SESSION_COOKIE, ""))
            account = session.account if session else None
        return account

    def revoke(self, handle: str) -> None:
        """End one token or session; an unknown one is fine."""
        self._tokens.pop(handle, None)
        self._sessions.pop(handle, None)

    def revoke_all(self, account: Account) -> None:
        """End everything this account is signed in with."""
        self._tokens = {k: v for k, v in self._tokens.items() if v.account is not account}
        self._sessions = {k: v for k, v in self._sessions.items() if v.account is not account}

    def _new_expiry(self) -> int:
        return self._clock.now_ns() + TOKEN_LIFETIME_S * NANOSECONDS
