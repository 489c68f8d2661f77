"""A turn: one run of the agent for one trigger, from its receipt to its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .chart import Chart, State, stay
from .driver import Record, Slot

__all__ = ["Cancel", "Cause", "Ending", "Fold", "Reason", "TurnChart", "TurnRecord"]


@dataclass(slots=True)
class TurnRecord(Record):
    """What the chart decides about a turn."""

    state: str = "received"
    reason: str | None = None
    """Why it is in this state, where the state alone does not say; None elsewhere."""
    cause: str | None = None
    """Why the message concerns the agent (mention, direct, follow_up, reply, open_room)."""
    attempt: int = 0
    """How often it was handed to the gateway."""
    carrier_id: str | None = None
    """The turn whose run took this one in; None unless folded."""
    ends_as: str | None = None
    """Where `stopping` leads: retracted or cancelled."""
    ended_by: str | None = None
    """User ID of who cancelled it."""
    ended_with: str | None = None
    """The command that cancelled it, without its slash."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Payload of `admit`: why the message concerns the agent."""

    cause: str


@dataclass(frozen=True, slots=True)
class Reason:
    """Payload of `refuse`, `fail`, `expire`, `interrupt`: the reason by name."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Payload of `cancel`: who ended the turn with which command."""

    by: str
    command: str


@dataclass(frozen=True, slots=True)
class Ending:
    """Payload of `stop`: what the turn becomes once its run has ended."""

    ends_as: str
    by: str | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """Payload of `fold`: the turn whose run took this one in."""

    carrier_id: str


class TurnChart(Chart[Slot[TurnRecord]]):
    """Decide what becomes of one message that may start a run of the agent."""

    MACHINE = "turn"
    CLOSED = frozenset({"answered", "silent", "cancelled", "retracted"})
    MEANING: ClassVar[Mapping[str, str]] = {
        "received": "written down before anything else happened",
        "refused": "will not run, `reason` says why; an edit may change that",
        "admitted": "will run: its author may ask and the message is meant for the agent",
        "queued": "waits in its lane, nothing of it is at the gateway",
        "handed": "given to the gateway, no run has started yet",
        "processing": "the agent runs",
        "delivering": "the answer is committed and on its way out",
        "answered": "the answer is in the room",
        "silent": "the run ended and had nothing to say",
        "failed": "no answer could be given, `reason` says why",
        "cancelled": "ended by a command, `ended_by` and `ended_with` say whose and which",
        "bypassed": "a command or an answer to a prompt: went past the lane",
        "folded": "the gateway took it into the run of the turn `carrier_id`",
        "correcting": "its run is being stopped; starts again with the edited text",
        "stopping": "its run is being stopped; then it is what `ends_as` says",
        "retracted": "its message was deleted before it could be answered",
        "expired": "found too late to be answered",
        "interrupted": "the process ended under it; the gateway may resume it",
    }

    received = State(initial=True)
    refused = State()
    admitted = State()
    queued = State()
    handed = State()
    processing = State()
    delivering = State()
    answered = State()
    silent = State()
    failed = State()
    cancelled = State()
    bypassed = State()
    folded = State()
    correcting = State()
    stopping = State()
    retracted = State()
    expired = State()
    interrupted = State()

    # Before the lane.
    admit = received.to(admitted, on="note_cause") | refused.to(admitted, on="note_cause")
    refuse = (
        received.to(refused, on="note_reason")
        | admitted.to(refused, on="note_reason")
        | queued.to(refused, on="note_reason")
        | refused.to(refused, on="note_reason")
    )
    bypass = received.to(bypassed, on="note_cause")
    expire = (
        received.to(expired, on="note_reason")
        | admitted.to(expired, on="note_reason")
        | queued.to(expired, on="note_reason")
    )

    # In the lane and at the gateway.
    enqueue = admitted.to(queued)
    hand_over = queued.to(handed, on="count_attempt") | correcting.to(handed, on="count_attempt")
    start = (
        handed.to(processing)
        | interrupted.to(processing, on="clear_reason")
        # The gateway's start-up gate reports one message's start twice; a run that is
        # resumed after a crash may be one that was being stopped.
        | stay(processing, delivering, correcting, stopping)
    )
    fold = handed.to(folded, on="note_carrier")
    put_back = (
        handed.to(queued, on="clear_reason")
        | processing.to(queued, on="clear_reason")
        | correcting.to(queued, on="clear_reason")
        | interrupted.to(queued, on="clear_reason")
    )
    interrupt = (
        handed.to(interrupted, on="note_reason")
        | processing.to(interrupted, on="note_reason")
        | interrupted.to(interrupted, on="note_reason")
        # What was to become of it still holds, whether or not the gateway resumes its run.
        | stay(correcting, stopping)
    )

    # How a run ends.
    deliver = (
        handed.to(delivering)
        | processing.to(delivering)
        | interrupted.to(delivering, on="clear_reason")
        | delivering.to(delivering)
    )
    answer = (
        delivering.to(answered)
        | folded.to(answered)
        # The gateway handed the missing rest over once more, and it is in the room after all.
        | failed.to(answered, cond="was_handed", on="clear_reason")
        | failed.to(failed)
    )
    fall_silent = handed.to(silent) | processing.to(silent) | folded.to(silent)
    fail = (
        received.to(failed, on="note_reason")
        | admitted.to(failed, on="note_reason")
        | queued.to(failed, on="note_reason")
        | handed.to(failed, on="note_reason")
        | processing.to(failed, on="note_reason")
        | delivering.to(failed, on="note_reason")
        | folded.to(failed, on="note_reason")
        | correcting.to(failed, on="note_reason")
        | stopping.to(failed, on="note_reason")
        | interrupted.to(failed, on="note_reason")
        | bypassed.to(failed, on="note_reason")
    )

    # Ended by people.
    cancel = (
        received.to(cancelled, on="note_canceller")
        | admitted.to(cancelled, on="note_canceller")
        | queued.to(cancelled, on="note_canceller")
        | folded.to(cancelled, on="note_canceller")
        | failed.to(cancelled, on="note_canceller")
        | expired.to(cancelled, on="note_canceller")
        | delivering.to(delivering)
    )
    stop = (
        handed.to(stopping, on="note_ending")
        | processing.to(stopping, on="note_ending")
        | correcting.to(stopping, on="note_ending")
        | interrupted.to(stopping, on="note_ending")
        | stopping.to(stopping)
        | delivering.to(delivering)
    )
    end_run = stopping.to(retracted, cond="was_retracted") | stopping.to(cancelled)
    retry = failed.to(queued, on="begin_again") | expired.to(queued, on="begin_again")

    # Edits: `edit` is one that counts (by its author, in time, meant for the agent, new text).
    edit = (
        handed.to(correcting)
        | processing.to(correcting)
        | interrupted.to(correcting, on="clear_reason")
        | stay(received, admitted, queued, correcting, stopping, delivering, folded, bypassed)
        | stay(answered, silent, failed, cancelled, retracted, expired)
    )
    retract = (
        received.to(retracted)
        | admitted.to(retracted)
        | queued.to(retracted)
        | handed.to(stopping, on="end_retracted")
        | processing.to(stopping, on="end_retracted")
        | correcting.to(stopping, on="end_retracted")
        | interrupted.to(stopping, on="end_retracted")
        | stopping.to(stopping, on="end_retracted")
        | stay(refused, delivering, folded, bypassed)
        | stay(answered, silent, failed, cancelled, retracted, expired)
    )

    # What came and changes nothing, whatever the state: a redelivery, an edit that does not count.
    repeat = (
        stay(received, refused, admitted, queued, handed, processing, delivering, answered)
        | stay(silent, failed, cancelled, bypassed, folded, correcting, stopping)
        | stay(retracted, expired, interrupted)
    )
    ignore_edit = (
        stay(received, refused, admitted, queued, handed, processing, delivering, answered)
        | stay(silent, failed, cancelled, bypassed, folded, correcting, stopping)
        | stay(retracted, expired, interrupted)
    )

    def note_cause(self, ev: Cause) -> None:
        """Write down why the message concerns the agent; an earlier refusal is over."""
        self.model.record.cause = ev.cause
        self.model.record.reason = None

    def note_reason(self, ev: Reason) -> None:
        """Write down why."""
        self.model.record.reason = ev.reason

    def clear_reason(self) -> None:
        """The reason belonged to the state that is left."""
        self.model.record.reason = None

    def begin_again(self) -> None:
        """Nothing of how it ended holds any more."""
        record = self.model.record
        record.reason = record.carrier_id = None
        record.ends_as = record.ended_by = record.ended_with = None

    def count_attempt(self) -> None:
        """One more hand-over."""
        self.model.record.attempt += 1

    def note_carrier(self, ev: Fold) -> None:
        """Write down whose run took it in."""
        self.model.record.carrier_id = ev.carrier_id

    def note_canceller(self, ev: Cancel) -> None:
        """Write down who cancelled it with what; an earlier failure is over."""
        record = self.model.record
        record.ended_by, record.ended_with, record.reason = ev.by, ev.command, None

    def note_ending(self, ev: Ending) -> None:
        """Write down what the turn becomes once its run has ended."""
        record = self.model.record
        record.ends_as, record.ended_by, record.ended_with = ev.ends_as, ev.by, ev.command
        record.reason = None

    def end_retracted(self) -> None:
        """A deletion wins over a command: the message is gone."""
        self.model.record.ends_as = "retracted"
        self.model.record.reason = None

    def was_handed(self) -> bool:
        """Tell whether the gateway ever had it: else nothing is an answer to it."""
        return self.model.record.attempt > 0

    def was_retracted(self) -> bool:
        """Tell whether the run was stopped because its message was deleted."""
        return self.model.record.ends_as == "retracted"
