"""What the mailboxes take: one union per kind of actor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from ...store.turns import TurnRow
from .admission import Admitted, Bypassed, Expired, Refused
from .errors import UnusableConnectionError
from .facts import Message
from .find import Find
from .ports import DeliveryResult, Outgoing, RunOutcome, RunStop
from .promise import Promise
from .stream_events import Mentioned, MessageEdited, MessagePosted, MessageRetracted

__all__ = [
    "CONNECTION",
    "DELIVERY",
    "RETENTION",
    "ROOM",
    "SIGN",
    "THREAD",
    "Answer",
    "ConnectionMail",
    "Deaf",
    "DeliveryEnded",
    "Edited",
    "EditedUnseen",
    "EditorUnknown",
    "GiveUp",
    "Identified",
    "IsCaughtUp",
    "KeyReady",
    "LookBack",
    "NotStarted",
    "Outlived",
    "Prune",
    "Received",
    "Recover",
    "RecoverMessage",
    "Refresh",
    "RestartDue",
    "Retracted",
    "RetryDue",
    "Revision",
    "Revisions",
    "RoomMail",
    "RunEnded",
    "RunStarted",
    "RunStopped",
    "Send",
    "Start",
    "Steady",
    "Stop",
    "StreamIsLost",
    "StreamIsOpen",
    "StreamIsRefused",
    "ThreadMail",
    "Words",
]

ROOM = "room"
"""Kind of the actors that read a room; key: room ID."""
THREAD = "thread"
"""Kind of the actors that keep a lane; key: session key."""
DELIVERY = "delivery"
"""Kind of the actors that bring an answer out; key: delivery ID."""
SIGN = "sign"
"""Kind of the actors that keep the reaction on a message; key: message ID."""
CONNECTION = "connection"
"""Kind of the one actor that keeps the connection; key: scope."""
RETENTION = "retention"
"""Kind of the one actor that forgets what is over; key: scope."""


# --- retention ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prune:
    """Command: remove the next rows of what is over."""

    table: str
    before: str | None = None
    """Only what was over at this time; None: this is the first batch, which decides it."""
    after: int = 0
    """Where the batch before this one ended in the table."""
    removed: int = 0
    """How many rows the batches before this one removed."""


# --- room -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecoverMessage:
    """Command: decide again about a message whose receipt was written by an earlier process."""

    row: TurnRow


@dataclass(frozen=True, slots=True)
class EditorUnknown:
    """The time in which the edit of a message has to be announced is over."""

    message_id: str


@dataclass(frozen=True, slots=True, eq=False)
class LookBack:
    """Command: decide about what a gap hid in a room, and look again at its open turns."""

    finds: tuple[Find, ...]
    """Oldest first."""
    open_ids: tuple[str, ...]
    """Messages whose turns an edit or a deletion could still change."""
    now: datetime | None
    """The server's time, to tell how old they are; None: not known, so all are young."""
    read: Mapping[str, Message] = field(default_factory=dict)
    """What was read of them already, by ID."""
    outcome: "Promise[Revisions | None]" = field(default_factory=Promise)
    """What became of the open turns; None: the room could not be read."""


RoomMail: TypeAlias = (
    MessagePosted
    | Mentioned
    | MessageEdited
    | MessageRetracted
    | RecoverMessage
    | EditorUnknown
    | LookBack
)


# --- thread ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Received:
    """The receipt of a message of this lane is written; this was decided about it."""

    message_id: str
    verdict: Admitted | Bypassed | Refused | Expired


@dataclass(frozen=True, slots=True)
class Words:
    """What a message says now."""

    body: str
    digest: str
    attachment_ids: str
    """JSON list."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A message of this lane was edited by its author, in time, and still is for the agent."""

    message_id: str
    verdict: Admitted | Refused
    words: Words


@dataclass(frozen=True, slots=True)
class EditedUnseen:
    """A message of this lane was edited while nobody watched, by nobody knows whom."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Retracted:
    """A message of this lane is gone."""

    message_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunStopped:
    """The stop of a turn's run is over."""

    message_id: str
    attempt: int
    result: RunStop


@dataclass(frozen=True, slots=True)
class RestartDue:
    """The pause after an edit is over."""

    message_id: str
    attempt: int


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
class Outlived:
    """A message of this lane waited over a restart, and for longer than anybody waits."""

    message_id: str


Revision: TypeAlias = Edited | EditedUnseen | Retracted | Outlived
"""What happened to a message of a turn that is not over."""
Revisions: TypeAlias = tuple[tuple[str, Revision], ...]
"""Each with the session key of its lane."""


@dataclass(frozen=True, slots=True)
class Recover:
    """Command: go on with what an earlier process left in this lane."""

    revisions: tuple[Revision, ...] = ()
    """What happened to its messages meanwhile."""


ThreadMail: TypeAlias = (
    Received
    | Edited
    | EditedUnseen
    | Outlived
    | Retracted
    | RunStarted
    | RunEnded
    | RunStopped
    | RestartDue
    | KeyReady
    | NotStarted
    | Answer
    | DeliveryEnded
    | Recover
)


# --- delivery -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Command: bring out what is still missing of this delivery."""


# --- sign -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Refresh:
    """Command: show on the message how its turn stands now."""


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
