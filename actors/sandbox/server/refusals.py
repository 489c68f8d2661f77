"""Refused calls: the Connect code, the text the client sees, the HTTP status.

Source: Chatto 0.4.20, cli/internal/connectapi/errors.go; Connect protocol, "Error Codes".
"""

from collections.abc import Mapping
from enum import Enum, StrEnum


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


HTTP_STATUS: Mapping[Code, int] = {
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


class Reason(Enum):
    """Every refusal with a fixed text."""

    UNAUTHENTICATED = (Code.UNAUTHENTICATED, "authentication required")
    DENIED = (Code.PERMISSION_DENIED, "permission denied")
    NOT_A_MEMBER = (Code.PERMISSION_DENIED, "not a member of this room")
    NOT_THE_AUTHOR = (Code.PERMISSION_DENIED, "not the message author")
    UNKNOWN = (Code.NOT_FOUND, "not found")
    INTERNAL = (Code.INTERNAL, "internal server error")

    # rooms
    ARCHIVED = (Code.FAILED_PRECONDITION, "room is archived")
    ROOM_NAME_TAKEN = (Code.ALREADY_EXISTS, "a room with this name already exists in this space")
    BAD_ROOM_NAME = (
        Code.INVALID_ARGUMENT,
        (
            "room name must contain only alphanumeric characters, hyphens, and underscores "
            "(no spaces or special characters)"
        ),
    )
    DM_NOT_MANAGED = (Code.INVALID_ARGUMENT, "DM rooms cannot be managed through RoomService")
    DM_NOT_JOINED = (Code.INVALID_ARGUMENT, "DM rooms cannot be joined through RoomService")
    DM_NOT_LEFT = (Code.FAILED_PRECONDITION, "cannot leave DM conversations")
    UNIVERSAL_NOT_LEFT = (Code.FAILED_PRECONDITION, "cannot leave universal rooms")
    UNIVERSAL_NOT_MANAGED = (
        Code.INVALID_ARGUMENT,
        "universal room membership cannot be managed explicitly",
    )

    NO_GROUP = (Code.NOT_FOUND, "room group not found")
    NOTHING_TO_UPDATE = (
        Code.INVALID_ARGUMENT,
        "invalid argument: provide at least one room field to update",
    )
    DM_NOT_BANNED = (Code.INVALID_ARGUMENT, "cannot ban members from DM conversations")

    # messages and threads
    NO_MESSAGE = (Code.NOT_FOUND, "message not found")
    EMPTY_MESSAGE = (Code.INVALID_ARGUMENT, "message must have either body or attachments")
    TOO_LONG = (Code.INVALID_ARGUMENT, "message body exceeds maximum length")
    BAD_PREVIEW_TOKEN = (Code.INVALID_ARGUMENT, "link_preview_token is invalid or expired")
    ECHO_WITHOUT_THREAD = (
        Code.INVALID_ARGUMENT,
        "also_send_to_channel requires thread_root_event_id",
    )
    NO_THREADS_IN_DMS = (Code.INVALID_ARGUMENT, "threads are not supported in direct messages")
    NO_TARGET = (Code.INVALID_ARGUMENT, "in_reply_to message not found in room")
    TARGET_IS_NO_MESSAGE = (Code.INVALID_ARGUMENT, "in_reply_to target is not a message event")
    NO_POST_ROOT = (Code.NOT_FOUND, "thread root message not found: message not found")
    POST_ROOT_IS_NO_MESSAGE = (Code.INVALID_ARGUMENT, "thread root is not a message event")
    POST_ROOT_IS_NO_ROOT = (
        Code.INVALID_ARGUMENT,
        "thread root must be a root message, not a thread reply",
    )
    NO_ROOT = (Code.NOT_FOUND, "thread root event not found: not found")
    NOT_A_ROOT = (Code.INVALID_ARGUMENT, "thread_root_event_id must identify a root message")
    NOTHING_TO_EDIT = (Code.INVALID_ARGUMENT, "body or also_send_to_channel is required")
    EDIT_WINDOW_OVER = (Code.FAILED_PRECONDITION, "edit window has expired")
    ECHO_OF_NO_REPLY = (
        Code.INVALID_ARGUMENT,
        "channel echo state can only be changed for thread replies",
    )
    NO_ATTACHMENT = (
        Code.NOT_FOUND,
        "attachment not found in message: message attachment not found",
    )
    NO_PREVIEW = (
        Code.NOT_FOUND,
        "link preview not found in message: message link preview not found",
    )
    UNSUPPORTED_EMOJI = (Code.INVALID_ARGUMENT, "unsupported emoji")
    BAD_CURSOR = (Code.INVALID_ARGUMENT, "invalid cursor format")
    NO_READ_ANCHOR = (Code.NOT_FOUND, "up_to_event_id event not found: not found")
    READ_ANCHOR_NOT_IN_ROOM = (
        Code.INVALID_ARGUMENT,
        "up_to_event_id must identify a root message in the room timeline",
    )
    READ_ANCHOR_NOT_IN_THREAD = (
        Code.INVALID_ARGUMENT,
        "up_to_event_id must identify a message in the thread",
    )

    # files
    VIDEO_OFF = (Code.INVALID_ARGUMENT, "video uploads are disabled on this server")
    UPLOAD_NOT_OPEN = (Code.INVALID_ARGUMENT, "upload is not open")
    CHUNK_TOO_LARGE = (Code.INVALID_ARGUMENT, "chunk exceeds maximum chunk size")
    WRONG_OFFSET = (Code.INVALID_ARGUMENT, "chunk offset does not match committed offset")
    CHUNK_TOO_MUCH = (Code.INVALID_ARGUMENT, "chunk exceeds declared upload size")
    CHUNK_HASH = (Code.INVALID_ARGUMENT, "chunk_sha256 does not match content")
    UPLOAD_INCOMPLETE = (Code.INVALID_ARGUMENT, "upload is incomplete")
    UPLOAD_HASH = (Code.INVALID_ARGUMENT, "sha256 does not match uploaded content")
    UPLOAD_COMPLETED = (Code.INVALID_ARGUMENT, "completed uploads cannot be cancelled")

    # accounts
    NO_USER_GIVEN = (Code.INVALID_ARGUMENT, "user_id or login is required")
    NO_USER = (Code.NOT_FOUND, "user not found: not found")
    BAD_LOGIN = (
        Code.INVALID_ARGUMENT,
        "username can only contain letters, numbers, periods, underscores, and hyphens",
    )
    RESERVED_LOGIN = (Code.INVALID_ARGUMENT, "this username is not available")
    LOGIN_TAKEN = (Code.ALREADY_EXISTS, "login name is already taken")
    PASSWORD_MISSING = (Code.INVALID_ARGUMENT, "current password is required")
    PASSWORD_WRONG = (Code.INVALID_ARGUMENT, "current password is invalid")
    STATUS_EMOJI = (Code.INVALID_ARGUMENT, "custom status emoji must be a single supported emoji")
    STATUS_WITHOUT_EMOJI = (Code.INVALID_ARGUMENT, "custom status emoji is required")
    STATUS_EMPTY = (Code.INVALID_ARGUMENT, "custom status text is required")
    STATUS_TOO_LONG = (Code.INVALID_ARGUMENT, "custom status text is too long")
    STATUS_IN_PAST = (Code.INVALID_ARGUMENT, "custom status expiry must be in the future")
    UNKNOWN_ROLE = (Code.NOT_FOUND, "role not found")
    IMPLICIT_ROLE = (
        Code.INVALID_ARGUMENT,
        "implicit role cannot be explicitly assigned or revoked",
    )

    def __init__(self, code: Code, text: str) -> None:
        """Take the code and the text a client reads."""
        self.code = code
        self.text = text


class RefusedError(Exception):
    """The server refuses a call; nothing was changed."""

    def __init__(self, code: Code, message: str) -> None:
        """Refuse with this code and the text the client reads."""
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def refused(reason: Reason) -> RefusedError:
    """Return the refusal for a reason, to be raised."""
    return RefusedError(reason.code, reason.text)


def invalid(message: str) -> RefusedError:
    """Return the refusal of a wrong request whose text says what exactly is wrong."""
    return RefusedError(Code.INVALID_ARGUMENT, message)
