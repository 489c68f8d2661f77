"""What a call that failed means to us: the one place where Connect codes become our errors."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias

from ..sessions.errors import (
    AnswerUnclearError,
    ChatError,
    CredentialRefusedError,
    OutcomeUnknownError,
    RequestRefusedError,
    ServerBusyError,
    ServerUnreachableError,
)

__all__ = ["Failure", "TokenRefusedError", "WhenUnclear", "error_of", "is_own_text"]

WhenUnclear: TypeAlias = type[ServerUnreachableError] | type[OutcomeUnknownError]
"""What a failure that is no plain answer means: for a read, for a post."""

PLAIN: Final = frozenset(
    {
        *("invalid_argument", "failed_precondition", "permission_denied", "not_found"),
        *("already_exists", "out_of_range", "unimplemented"),
    }
)
"""Codes that say no, for good: nothing was done, and the same call would get the same answer."""

BROKEN_OFF: Final = frozenset({"canceled", "deadline_exceeded"})
"""Codes with which Chatto says that it waits no longer; what it had begun may go on.

Source: Chatto 0.4.20, cli/internal/connectapi/errors.go.
"""

TOO_LARGE: Final = "larger than configured max"
"""In the text of the one `resource_exhausted` that no waiting heals.

Source: connect-go, a request body over the server's limit (1 MiB at Chatto 0.4.20).
"""

PROXY_TEXTS: Final = frozenset({"", *(status.phrase for status in HTTPStatus)})
"""What the Connect client says where an answer has no Connect error in it.

Chatto's own texts are never empty and never just a status phrase (they begin in lower case).
"""


class TokenRefusedError(CredentialRefusedError):
    """The server does not know the token; nothing was done. Does not leave the edge."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a result, as it was seen."""

    call: str
    """Name of the RPC."""
    code: str
    """Connect code in lower case; `deadline_exceeded` for our own deadline, too."""
    text: str
    is_chattos: bool
    """Whether Chatto said so: a proxy's page or a broken connection has codes made up for it."""


def is_own_text(text: str) -> bool:
    """Tell whether a text can be Chatto's, and not one made up for a page without any."""
    return text not in PROXY_TEXTS


def error_of(failure: Failure, when_unclear: WhenUnclear) -> ChatError:
    """Return our error for a failure.

    For a post only a plain refusal by Chatto itself proves that nothing was posted. All
    else is unclear, also a connection that was refused: that it never left us is known only
    from the wording of the HTTP library, and reading back costs no more than a read.
    `internal` is unclear as well: Chatto answers so when many post into one room at once.

    Args:
        failure: what was seen.
        when_unclear: the class for what is no plain answer.
    """
    if not failure.is_chattos:
        return when_unclear(f"{failure.call}: no answer from Chatto: {failure.text}")
    match failure.code:
        case "unauthenticated":
            return TokenRefusedError(f"{failure.call}: {failure.text}")
        case "resource_exhausted" if TOO_LARGE not in failure.text:
            return ServerBusyError(f"{failure.call}: {failure.text}")
        case "resource_exhausted" as code:
            return RequestRefusedError(code, failure.text)
        case code if code in PLAIN:
            return RequestRefusedError(code, failure.text)
        case code:
            text = f"{failure.call}: {code}: {failure.text}"
            is_over = when_unclear is OutcomeUnknownError and code not in BROKEN_OFF
            return AnswerUnclearError(text) if is_over else when_unclear(text)
