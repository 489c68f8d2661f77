"""What the mailboxes take: one union per kind of actor."""

from dataclasses import dataclass
from typing import TypeAlias

from ...store.turns import TurnRow
from .admission import Admitted, Bypassed, Refused
from .errors import UnusableConnectionError
from .ports import DeliveryResult, Outgoing, RunOutcome
from .promise import Promise
from .stream_events import Mentioned, MessagePosted

__all__ = [
    "CONNECTION",
    "DELIVERY",
    "ROOM",
    "THREAD",
    "Answer",
    "ConnectionMail",
    "DeliveryEnded",
    "GiveUp",
    "Identified",
    "KeyReady",
    "NotStarted",
    "Received",
    "Recover",
    "RecoverMessage",
    "RetryDue",
    "RoomMail",
    "RunEnded",
    "RunStarted",
    "Send",
    "Start",
    "Steady",
    "Stop",
    "StreamIsLost",
    "StreamIsOpen",
    "StreamIsRefused",
    "ThreadMail",
]

ROOM = "room"
"""Kind of the actors that read a room; key: room ID."""
THREAD = "thread"
"""Kind of the actors that keep a lane; key: session key."""
DELIVERY = "delivery"
"""Kind of the actors that bring an answer out; key: delivery ID."""
CONNECTION = "connection"
"""Kind of the one actor that keeps the connection; key: scope."""


# --- room -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecoverMessage:
    """Command: decide again about a message whose receipt was written by an earlier process."""

    row: TurnRow


RoomMail: TypeAlias = MessagePosted | Mentioned | RecoverMessage


# --- thread ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Received:
    """The receipt of a message of this lane is written; this was decided about it."""

    message_id: str
    verdict: Admitted | Bypassed | Refused


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The gateway began a run of this key; None: one it started itself."""

    message_id: str | None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The gateway's run of this key ended."""

    message_id: str | None
    outcome: RunOutcome


@dataclass(frozen=True, slots=True)
class KeyReady:
    """The gateway would run an event of this key now."""


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The time in which a run has to start is over for this attempt of a turn."""

    message_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Command: post this; whoever asked waits for the promise."""

    outgoing: Outgoing
    promise: Promise[DeliveryResult]


@dataclass(frozen=True, slots=True)
class DeliveryEnded:
    """A delivery of a turn of this lane ended; how, its parts say."""

    delivery_id: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class Recover:
    """Command: go on with what an earlier process left in this lane."""


ThreadMail: TypeAlias = (
    Received | RunStarted | RunEnded | KeyReady | NotStarted | Answer | DeliveryEnded | Recover
)


# --- delivery -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Command: bring out what is still missing of this delivery."""


# --- connection -----------------------------------------------------------------------------


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
    | StreamIsLost
    | StreamIsRefused
    | GiveUp
    | RetryDue
    | Steady
    | Stop
)
