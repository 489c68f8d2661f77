"""What the mailbox of the connection takes."""

from dataclasses import dataclass
from typing import TypeAlias

from .errors import UnusableConnectionError
from .mail import Revisions

__all__ = [
    "ConnectionMail",
    "Deaf",
    "GiveUp",
    "Identified",
    "IsCaughtUp",
    "RetryDue",
    "Start",
    "Steady",
    "Stop",
    "StreamIsLost",
    "StreamIsOpen",
    "StreamIsRefused",
]


@dataclass(frozen=True, slots=True)
class Start:
    """Command: connect."""


@dataclass(frozen=True, slots=True)
class Identified:
    """The server said whose account the credential is."""

    stream: int
    """Number of the stream this is about; what an older one says no longer counts."""
    account_id: str


@dataclass(frozen=True, slots=True)
class StreamIsOpen:
    """The stream is subscribed and the rooms are read."""

    stream: int
    server_version: str
    is_resumed: bool = False
    """Whether it goes on where the one before stopped: there is nothing to catch up."""


@dataclass(frozen=True, slots=True)
class IsCaughtUp:
    """What the gap before a stream hid is decided about."""

    stream: int
    reason: str | None
    """What is worth a step in the rows; None: nothing was missed."""
    revisions: Revisions
    """What happened to open turns, not told to their lanes yet."""


@dataclass(frozen=True, slots=True)
class StreamIsLost:
    """The stream ended, or could not be opened; another attempt may help."""

    stream: int
    reason: str
    """A short name, for the row."""
    text: str
    """A line for the operator."""
    retry_after_s: float


@dataclass(frozen=True, slots=True)
class StreamIsRefused:
    """No retry helps."""

    stream: int
    error: UnusableConnectionError


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Command: connect no more; a call has shown that no retry helps."""

    error: UnusableConnectionError


@dataclass(frozen=True, slots=True)
class Deaf:
    """The account is in a room again that the open stream saw it leave, and keeps silent about."""

    room_id: str


@dataclass(frozen=True, slots=True)
class RetryDue:
    """The wait after a loss is over."""


@dataclass(frozen=True, slots=True)
class Steady:
    """The stream has been live for a while."""

    stream: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Command: end the stream."""


ConnectionMail: TypeAlias = (
    Start
    | Identified
    | StreamIsOpen
    | IsCaughtUp
    | StreamIsLost
    | StreamIsRefused
    | GiveUp
    | Deaf
    | RetryDue
    | Steady
    | Stop
)
