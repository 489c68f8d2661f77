"""A part of an answer on its way into a room."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .chart import Chart, State, stay
from .driver import Record, Slot

__all__ = ["OUTCOME_UNKNOWN", "DeliveryChart", "PartRecord", "Posted", "Refusal"]

OUTCOME_UNKNOWN = "outcome_unknown"
"""Reason of a part that was given up while nobody knew whether the server had posted it."""


@dataclass(slots=True)
class PartRecord(Record):
    """What the chart decides about one part."""

    state: str = "pending"
    reason: str | None = None
    """Why it was refused or postponed, or what is not known; None elsewhere."""
    attempt: int = 0
    """How often the server was asked to post it."""
    message_id: str | None = None
    """The message it became; None until the server confirmed it."""


@dataclass(frozen=True, slots=True)
class Posted:
    """Payload of `confirm`: the message the part became."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Payload of `refuse`, `doubt` and `postpone`: what the server, or the network, said."""

    reason: str


class DeliveryChart(Chart[Slot[PartRecord]]):
    """Decide what is done next about one part of an answer."""

    MACHINE = "delivery"
    CLOSED = frozenset({"delivered", "superseded"})
    MEANING: ClassVar[Mapping[str, str]] = {
        "pending": "to be posted",
        "sending": "the server was asked to post it and has not answered",
        "delivered": "it is in the room, as `message_id`",
        "refused": "given up, `reason` says why; only a retry helps",
        "uncertain": "the server may have posted it: the room is read back before anything else",
        "superseded": "never sent: its run was stopped",
    }

    pending = State(initial=True)
    sending = State()
    delivered = State()
    refused = State()
    uncertain = State()
    superseded = State()

    post = pending.to(sending, on="count_attempt")
    confirm = (
        sending.to(delivered, on="note_message")
        | uncertain.to(delivered, on="note_message")
        # A slow answer of the server after the read-back found the message.
        | delivered.to(delivered)
    )
    postpone = sending.to(pending, on="note_reason")
    doubt = sending.to(uncertain, on="note_reason") | uncertain.to(uncertain, on="note_reason")
    find_nothing = uncertain.to(pending, on="clear_reason")
    refuse = (
        pending.to(refused, on="note_reason")
        | sending.to(refused, on="note_reason")
        | uncertain.to(refused, on="give_up")
    )
    supersede = (
        pending.to(superseded)
        | refused.to(superseded)
        | delivered.to(delivered)
        | superseded.to(superseded)
    )
    retry = (
        refused.to(uncertain, cond="is_unknown")
        | refused.to(pending, on="clear_reason")
        # A retry is of all parts of an answer and sends only what is missing.
        | stay(pending, sending, delivered, uncertain, superseded)
    )

    def count_attempt(self) -> None:
        """One more call."""
        self.model.record.attempt += 1
        self.model.record.reason = None

    def note_message(self, ev: Posted) -> None:
        """Write down the message it became."""
        self.model.record.message_id = ev.message_id
        self.model.record.reason = None

    def note_reason(self, ev: Refusal) -> None:
        """Write down what was said."""
        self.model.record.reason = ev.reason

    def give_up(self) -> None:
        """Whatever the last look at the room said, the outcome is what is not known."""
        self.model.record.reason = OUTCOME_UNKNOWN

    def clear_reason(self) -> None:
        """The reason belonged to the attempt before."""
        self.model.record.reason = None

    def is_unknown(self) -> bool:
        """Tell whether it may be in the room all the same: then look there first."""
        return self.model.record.reason == OUTCOME_UNKNOWN
