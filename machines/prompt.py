"""A question the agent asks back while its turn waits: an approval or a choice."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .chart import Chart, State, stay
from .driver import Record, Slot

__all__ = ["Opened", "PromptChart", "PromptRecord", "Settled", "Withdrawal"]


@dataclass(slots=True)
class PromptRecord(Record):
    """What the chart decides about a prompt."""

    state: str = "posting"
    reason: str | None = None
    """Why it was withdrawn; None elsewhere."""
    message_id: str | None = None
    """The message it is shown as; None until it was posted."""
    settled_by: str | None = None
    """User ID of who approved, denied or answered; None until then."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Payload of `show`: the message the prompt is shown as."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Settled:
    """Payload of `approve`, `deny` and `answer`: who did."""

    by: str


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Payload of `withdraw`: why nobody can answer it any more."""

    reason: str


class PromptChart(Chart[Slot[PromptRecord]]):
    """Decide whether a question of the agent is still open, and how it ended."""

    MACHINE = "prompt"
    CLOSED = frozenset({"approved", "denied", "answered", "expired", "withdrawn"})
    MEANING: ClassVar[Mapping[str, str]] = {
        "posting": "on its way into the room",
        "open": "waits for the person whose turn waits",
        "approved": "the person allowed it",
        "denied": "the person refused it",
        "answered": "the person chose or wrote an answer",
        "expired": "the run went on, or ended, without an answer",
        "withdrawn": "no longer valid, `reason` says why",
    }

    posting = State(initial=True)
    open = State()
    approved = State()
    denied = State()
    answered = State()
    expired = State()
    withdrawn = State()

    show = (
        posting.to(open, on="note_message")
        | open.to(open, on="note_message")
        # Over before the server's word came that it is posted: people see it before we know.
        | approved.to(approved, on="note_message")
        | denied.to(denied, on="note_message")
        | answered.to(answered, on="note_message")
        | expired.to(expired, on="note_message")
        | withdrawn.to(withdrawn, on="note_message")
    )
    approve = posting.to(approved, on="note_who") | open.to(approved, on="note_who")
    deny = posting.to(denied, on="note_who") | open.to(denied, on="note_who")
    answer = posting.to(answered, on="note_who") | open.to(answered, on="note_who")
    expire = posting.to(expired) | open.to(expired)
    withdraw = posting.to(withdrawn, on="note_reason") | open.to(withdrawn, on="note_reason")
    come_late = stay(approved, denied, answered, expired, withdrawn)

    def note_message(self, ev: Opened) -> None:
        """Write down the message it is shown as."""
        self.model.record.message_id = ev.message_id

    def note_who(self, ev: Settled) -> None:
        """Write down who settled it."""
        self.model.record.settled_by = ev.by

    def note_reason(self, ev: Withdrawal) -> None:
        """Write down why."""
        self.model.record.reason = ev.reason
