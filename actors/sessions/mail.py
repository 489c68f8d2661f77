"""What the mailboxes take: one union per kind of actor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from ...store.turns import TurnRow
from .admission import Admitted, Bypassed, Expired, Refused
from .facts import Message
from .find import Find
from .ports import DeliveryResult, Outgoing, RunOutcome, RunStop
from .promise import Promise
from .stream_events import Mentioned, MessageEdited, MessagePosted, MessageRetracted

__all__ = [
    "CONNECTION",
    "DELIVERY",
    "MEMBERSHIP",
    "RETENTION",
    "ROOM",
    "SIGN",
    "THREAD",
    "Answer",
    "DeliveryEnded",
    "Edited",
    "EditedUnseen",
    "EditorUnknown",
    "KeyReady",
    "Look",
    "LookAtQuestions",
    "LookBack",
    "NotStarted",
    "Outlived",
    "Prune",
    "QuestionPosted",
    "Received",
    "Recover",
    "RecoverMessage",
    "Refresh",
    "RestartDue",
    "Retracted",
    "Revision",
    "Revisions",
    "RoomMail",
    "RunEnded",
    "RunStarted",
    "RunStopped",
    "Send",
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
MEMBERSHIP = "membership"
"""Kind of the actors that look how the account stands in a room; key: room ID."""
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
    after_key: str = ""
    """Likewise, where rows are in the order of their keys."""
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
class QuestionPosted:
    """The post of a question of this lane ended; how, its part says."""

    outbox_id: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class LookAtQuestions:
    """It is time to look whether the gateway still waits for what is asked in this lane."""


@dataclass(frozen=True, slots=True)
class TakeStock:
    """Command: ask the gateway what it still has of the turns an earlier process handed over.

    Before it resumes anything itself; nothing goes out yet.
    """

    promise: Promise[None]
    """Kept when that is known, and recorded."""


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
    | QuestionPosted
    | LookAtQuestions
    | TakeStock
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


# --- membership -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Look:
    """Command: look whether the account is in the room."""

    reason: str
    """What made it worth a look; becomes the reason of what is found."""
    is_inside: bool | None = None
    """What it should show; when it shows otherwise, it came about by something else, which has
    a look of its own. None: whatever it shows."""
