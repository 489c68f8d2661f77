"""Refused calls: the Connect code, the text the client sees, the HTTP status.

Source: Chatto 0.4.20, cli/internal/connectapi/errors.go; Connect protocol, "Error Codes".
"""

from enum import StrEnum


class Code(StrEnum):
    """A Connect error code, as written on the wire."""

    CANCELED = "canceled"
    UNKNOWN = "unknown"
    INVALID_ARGUMENT = "invalid_argument"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    NOT_FOUND = "not_found"
    ALREADY_EXISTS = "already_exists"
    PERMISSION_DENIED = "permission_denied"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    FAILED_PRECONDITION = "failed_precondition"
    UNIMPLEMENTED = "unimplemented"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    UNAUTHENTICATED = "unauthenticated"


HTTP_STATUS = {
    Code.CANCELED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.UNAUTHENTICATED: 401,
}


class RefusedError(Exception):
    """The server refuses a call; nothing was changed."""

    def __init__(self, code: Code, message: str) -> None:
        """Refuse with this code and the text the client reads."""
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def unauthenticated() -> RefusedError:
    """No credential, or none that is good."""
    return RefusedError(Code.UNAUTHENTICATED, "authentication required")


def denied(message: str = "permission denied") -> RefusedError:
    """The caller may not do this."""
    return RefusedError(Code.PERMISSION_DENIED, message)


def not_member() -> RefusedError:
    """The caller is not in the room, whatever it asked for there."""
    return denied("not a member of this room")


def not_author() -> RefusedError:
    """Only the author may do this, a moderator may not either."""
    return denied("not the message author")


def not_found(message: str = "not found") -> RefusedError:
    """What the call names does not exist."""
    return RefusedError(Code.NOT_FOUND, message)


def no_message() -> RefusedError:
    """Unknown, of another room, deleted, or no message at all."""
    return not_found("message not found")


def invalid(message: str) -> RefusedError:
    """The request itself is wrong."""
    return RefusedError(Code.INVALID_ARGUMENT, message)


def precondition(message: str) -> RefusedError:
    """The request is fine, the state of things is not."""
    return RefusedError(Code.FAILED_PRECONDITION, message)


def archived() -> RefusedError:
    """The room is archived."""
    return precondition("room is archived")


def internal() -> RefusedError:
    """What the server answers to whatever it has no code for."""
    return RefusedError(Code.INTERNAL, "internal server error")
