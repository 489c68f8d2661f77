"""One turn: its chart and its row. Lives in the mailbox of its lane.

A turn, its thread and its room session change in one transaction (a hand-over moves the
frontier), so one mailbox, that of the session key, serves them all; what is decided about a
turn is decided here.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime

from ...machines.turn import Cancel, Cause, Ending, Fold, Reason
from ...store.prompts import PromptRow
from ...store.room_sessions import RoomSessionRow
from ...store.threads import ThreadRow
from ...store.turns import TurnRow
from .admission import Admitted, Bypassed, Expired, Refused
from .asking import Asking
from .facts import Place, RoomKind
from .journal import Draft
from .mail import Words
from .ports import RunOutcome

__all__ = ["AT_GATEWAY", "TurnActor", "holding_of", "place_of"]

AT_GATEWAY = frozenset(
    {"handed", "processing", "delivering", "correcting", "stopping", "folded", "interrupted"}
)
"""States in which the gateway has, or may have, something of the turn: nobody else's goes out."""

MAY_ASK = frozenset({"handed", "processing", "folded"})
"""States in which a run may wait for its person's answer."""

UNANSWERED = frozenset({"delivering", "answered", "silent"})
"""States that say that the run went on: what it still asked, nobody answered in time."""

HOLDING = ("frontier_at", "ahead_ids", "owed_ids", "blind_until_id", "gap")
"""Columns of a thread beside its state and frontier that an undone hand-over puts back."""


class TurnActor:
    """Decides what becomes of one message; each method plans steps into a draft."""

    def __init__(
        self,
        row: TurnRow,
        room_session: RoomSessionRow | None = None,
        prompts: Iterable[PromptRow] = (),
    ) -> None:
        """Take over a turn as its row says.

        Args:
            row: the turn.
            room_session: the session it opened; None: it opened none, or not yet.
            prompts: what its run asks its person, and nobody settled yet.
        """
        self.row = row
        self.room_session = room_session
        self.asking = Asking(prompts)

    @property
    def state(self) -> str:
        """Where the turn stands."""
        return self.row.state

    @property
    def may_ask(self) -> bool:
        """Whether its run may wait for an answer: of one that is being stopped nobody is asked."""
        return self.state in MAY_ASK

    @property
    def place(self) -> Place:
        """Where it is answered."""
        return place_of(self.row)

    @property
    def posted_at(self) -> datetime:
        """The server's time of the message."""
        return datetime.fromisoformat(self.row.posted_at)

    @property
    def opens_session(self) -> bool:
        """Whether it is a fresh room message: the thread under it begins with the answer."""
        is_channel = self.row.room_kind == RoomKind.CHANNEL.value
        return is_channel and self.row.thread_root_id == self.row.message_id

    def judge(
        self,
        draft: Draft,
        verdict: Admitted | Bypassed | Refused | Expired,
        words: Words | None = None,
    ) -> None:
        """Plan what admission decided.

        Args:
            draft: where it is planned.
            verdict: the decision.
            words: what the message says since an edit; None: what it said at its receipt.
        """
        cause = verdict.cause.value
        if isinstance(verdict, Refused):
            refusal = Reason(verdict.reason)
            self._step(draft, "refuse", refusal, cause=cause)
        elif isinstance(verdict, Expired):
            self._step(draft, "expire", Reason("too_old"), cause=cause)
        elif isinstance(verdict, Bypassed):
            self._step(
                draft, "bypass", Cause(cause), command=_name_of(verdict), asks=int(verdict.asks)
            )
        else:
            new = {} if words is None else asdict(words)
            self._step(draft, "admit", Cause(cause), reason=cause, **new)
            self.enqueue(draft)
            if self.opens_session:
                self.room_session = draft.open_room_session(self.row)

    def hold(self, draft: Draft, verdict: Bypassed) -> None:
        """Plan that a command waits until the gateway takes commands; its words stay so long."""
        cause, name = verdict.cause.value, _name_of(verdict)
        asks = int(verdict.asks)
        self._step(draft, "hold", Cause(cause), command=name, asks=asks, reason=cause)

    def let_past(self, draft: Draft) -> None:
        """Plan that a command that waited goes out."""
        self._step(draft, "bypass")

    def enqueue(self, draft: Draft) -> None:
        """Plan that it waits in its lane."""
        self._step(draft, "enqueue")

    def hand_over(self, draft: Draft, thread: ThreadRow, before: ThreadRow) -> None:
        """Plan the hand-over, and keep where the thread stood before it.

        Args:
            draft: where it is planned.
            thread: the thread it is handed over to.
            before: the thread as an undone hand-over leaves it.
        """
        self._step(
            draft,
            "hand_over",
            thread_before=before.state,
            frontier_before=before.frontier_id,
            holding_before=holding_of(before),
            session_token=thread.session_token,
        )

    def undo(
        self, draft: Draft, event: str, ev: object = None, *, reason: str | None = None
    ) -> None:
        """Plan a step after which no conversation holds the turn."""
        self._step(draft, event, ev, reason=reason, session_token=None)

    def fold(self, draft: Draft, carrier_id: str) -> None:
        """Plan that the gateway took it into a run of its own."""
        self._step(draft, "fold", Fold(carrier_id))

    def start(self, draft: Draft) -> None:
        """Plan that its run began."""
        self._step(draft, "start")

    def interrupt(self, draft: Draft, reason: str) -> None:
        """Plan that the process ended under it."""
        self._step(draft, "interrupt", Reason(reason))

    def put_back(self, draft: Draft, reason: str) -> None:
        """Plan that it waits again: it never ran."""
        self._step(draft, "put_back", reason=reason)

    def deliver(self, draft: Draft) -> None:
        """Plan that its answer is on its way out."""
        self._step(draft, "deliver")

    def answer(self, draft: Draft) -> None:
        """Plan that its answer is in the room."""
        self._step(draft, "answer")

    def fall_silent(self, draft: Draft) -> None:
        """Plan that its run had nothing to say."""
        self._step(draft, "fall_silent")

    def fail(self, draft: Draft, reason: str) -> None:
        """Plan that no answer could be given; a question could be asked again, no command."""
        words = {"body": None} if self.state == "held" else {}
        self._step(draft, "fail", Reason(reason), **words)

    def refuse(self, draft: Draft, reason: str) -> None:
        """Plan that it will not run after all."""
        self._step(draft, "refuse", Reason(reason))

    def expire(self, draft: Draft) -> None:
        """Plan that it was found too late to be answered."""
        self._step(draft, "expire", Reason("too_old"))

    def cancel(self, draft: Draft, by: str, command: str) -> None:
        """Plan that a command ended it while it waited."""
        self._step(draft, "cancel", Cancel(by, command))

    def stop(self, draft: Draft, by: str, command: str) -> None:
        """Plan that a command ends its run."""
        ending = Ending("cancelled", by, command)
        self._step(draft, "stop", ending, reason=command)

    def edit(self, draft: Draft, words: Words) -> None:
        """Plan that its author changed it: in place while it waits, else its run is corrected."""
        self._step(
            draft,
            "edit",
            body=words.body,
            digest=words.digest,
            attachment_ids=words.attachment_ids,
        )

    def let_go(self, draft: Draft) -> None:
        """Plan that no conversation holds it any more."""
        self.row = draft.note_turn(self.row, session_token=None)

    def end_stopped(self, draft: Draft) -> None:
        """Plan the end of a turn whose run was stopped and is over."""
        self._step(draft, "end_run")

    def ignore_edit(self, draft: Draft, reason: str) -> None:
        """Plan that an edit changes nothing."""
        self._step(draft, "ignore_edit", reason=reason)

    def retract(self, draft: Draft, reason: str) -> None:
        """Plan that its message is gone."""
        self._step(draft, "retract", reason=reason)

    def end_run(self, draft: Draft, outcome: RunOutcome) -> None:
        """Plan the end of its run, as far as that decides anything.

        An answer that is on its way out decides by itself, once it is delivered.
        """
        if outcome is RunOutcome.INTERRUPTED and self.state in {"correcting", "stopping"}:
            # The gateway may resume it with its next start; then it is stopped again.
            self.interrupt(draft, "process_ended")
        elif self.state in {"delivering", "correcting"}:
            return
        elif self.state == "stopping":
            if self.row.ends_as != "retracted":
                self._step(draft, "end_run")
            # Else its words have to be out of the transcript first.
        elif outcome is RunOutcome.INTERRUPTED:
            self._lose_run(draft)
        elif outcome is RunOutcome.SUCCESS:
            if self.state == "interrupted":
                self.start(draft)  # its start was reported before the restart was noticed
            self.fall_silent(draft)
        else:
            is_failure = outcome is RunOutcome.FAILURE
            self.fail(draft, "run_failed" if is_failure else "run_cancelled")

    def _step(
        self,
        draft: Draft,
        event: str,
        ev: object = None,
        *,
        reason: str | None = None,
        **columns: object,
    ) -> None:
        """Plan a step; what its run asks ends with the run, or with its going on."""
        self.row = draft.turn(self.row, event, ev, reason=reason, **columns)
        if self.asking.is_open and not self.may_ask:
            why = reason or self.row.reason or self.row.ended_with or event
            self.asking.end(draft, None if self.state in UNANSWERED else why)

    def _lose_run(self, draft: Draft) -> None:
        """Plan that its run ends with the gateway, which resumes its own runs alone."""
        if self.state == "folded":
            self.fail(draft, "process_died")
        else:
            self.interrupt(draft, "process_ended")


def _name_of(verdict: Bypassed) -> str | None:
    """Return the name of a command alone: what follows it is somebody's words."""
    return verdict.command.split(maxsplit=1)[0] if verdict.is_command else None


def holding_of(thread: ThreadRow) -> str:
    """Return, as JSON, what of a thread's row its chart does not keep."""
    return json.dumps({name: getattr(thread, name) for name in HOLDING}, separators=(",", ":"))


def place_of(row: TurnRow) -> Place:
    """Return where a turn is answered."""
    return Place(row.room_id, RoomKind(row.room_kind), row.thread_root_id)
