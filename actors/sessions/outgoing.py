"""What the gateway wants posted, and what became of it."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["DeliveryResult", "DeliveryState", "Outgoing", "Question"]


class Question(Enum):
    """What a run asks the person whose turn waits; the values are those of the rows."""

    APPROVAL = "approval"
    """Whether it may do something; answered by a command."""
    CHOICE = "choice"
    """Which of several, or anything in words; answered by the person's next message."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Text the gateway wants posted."""

    room_id: str
    thread_root_id: str | None
    """None: into the room itself, or a direct conversation."""
    text: str
    """Whole and of any length: the outbox splits it."""
    is_final: bool
    """Whether it is an answer (or a command's reply), not something said on the way."""
    answers_id: str | None = None
    """The message the gateway thinks it answers; a hint only, it can name the wrong one."""
    job_id: str | None = None
    """The scheduled job it is the result of; None: of none."""
    asks: Question | None = None
    """What it asks the person whose turn waits; None: nothing."""


class DeliveryState(Enum):
    """How a delivery ended; the values are those of the view `deliveries`."""

    DELIVERED = "delivered"
    PARTIAL = "partial"
    """Some parts are in the room, a later one was refused."""
    REFUSED = "refused"
    SUPERSEDED = "superseded"
    """Not sent: the run it came from was stopped."""


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """What became of an `Outgoing`."""

    state: DeliveryState
    message_ids: tuple[str, ...]
    """What is in the room, in order."""
    reason: str | None = None
    """Why the rest is not; None: there is no rest."""
    is_retryable: bool = False
    """Whether the same text may succeed later (nothing of it was posted)."""
