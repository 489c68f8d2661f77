"""How the agent's account proves itself; the secret shows in no text made from these."""

from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

__all__ = ["Credential", "Password", "Token", "is_sendable", "settings_of"]


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token (`CHATTO_TOKEN`); it cannot be renewed."""

    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Password:
    """A login or e-mail address and its password (`CHATTO_LOGIN`, `CHATTO_PASSWORD`)."""

    login: str
    secret: str = field(repr=False)


Credential: TypeAlias = Token | Password


def settings_of(credential: Credential) -> str:
    """Return the names of the settings the credential came from, for an error's text."""
    match credential:
        case Token():
            return "CHATTO_TOKEN"
        case Password():
            return "CHATTO_LOGIN and CHATTO_PASSWORD"
        case _:
            assert_never(credential)


def is_sendable(token: str) -> bool:
    """Tell whether a token can stand in a header at all.

    Asked before it is sent: libraries quote what they cannot send in their error texts.
    """
    return token.isascii() and token.isprintable() and " " not in token and token != ""
