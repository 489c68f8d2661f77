"""One turn: its chart and its row. Lives in the mailbox of its lane.

A turn, its thread and its room session change in one transaction (a hand-over moves the
frontier), so one mailbox, that of the session key, serves them all; what is decided about a
turn is decided here.
"""

import json
from dataclasses import asdict
from datetime import datetime

from ...machines.turn import Cancel, Cause, Ending, Fold, Reason
from ...store.room_sessions import RoomSessionRow
from ...store.threads import ThreadRow
from ...store.turns import TurnRow
from .admission import Admitted, Bypassed, Expired, Refused
from .facts import Place, RoomKind
from .journal import Draft
from .mail import Words
from .ports import RunOutcome

__all__ = ["AT_GATEWAY", "TurnActor", "holding_of", "place_of"]

AT_GATEWAY = frozenset(
    {"handed", "processing", "delivering", "correcting", "stopping", "folded", "interrupted"}
)
"""States in which the gateway has, or may have, something of the turn: nobody else's goes out."""


HOLDING = ("frontier_at", "ahead_ids", "blind_until_id", "gap")
"""Columns of a thread beside its state and frontier that an undone hand-over puts back."""


class TurnActor:
    """Decides what becomes of one message; each method plans steps into a draft."""

    def __init__(self, row: TurnRow, room_session: RoomSessionRow | None = None) -> None:
        """Take over a turn as its row says.

        Args:
            row: the turn.
            room_session: the session it opened; None: it opened none, or not yet.
        """
        self.row = row
        self.room_session = room_session

    @property
    def state(self) -> str:
        """Where the turn stands."""
        return self.row.state

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
            self.row = draft.turn(self.row, "refuse", refusal, cause=cause)
        elif isinstance(verdict, Expired):
            self.row = draft.turn(self.row, "expire", Reason("too_old"), cause=cause)
        elif isinstance(verdict, Bypassed):
            # The name alone: what follows it is somebody's words.
            name = verdict.command.split(maxsplit=1)[0] if verdict.is_command else None
            self.row = draft.turn(self.row, "bypass", Cause(cause), command=name)
        else:
            new = {} if words is None else asdict(words)
            self.row = draft.turn(self.row, "admit", Cause(cause), reason=cause, **new)
            self.enqueue(draft)
            if self.opens_session:
                self.room_session = draft.open_room_session(self.row)

    def enqueue(self, draft: Draft) -> None:
        """Plan that it waits in its lane."""
        self.row = draft.turn(self.row, "enqueue")

    def hand_over(self, draft: Draft, thread: ThreadRow, before: ThreadRow) -> None:
        """Plan the hand-over, and keep where the thread stood before it.

        Args:
            draft: where it is planned.
            thread: the thread it is handed over to.
            before: the thread as an undone hand-over leaves it.
        """
        self.row = draft.turn(
            self.row,
            "hand_over",
            thread_before=before.state,
            frontier_before=before.frontier_id,
            holding_before=holding_of(before),
            session_token=thread.session_token,
        )

    def undo(self, draft: Draft, event: str, ev: object = None) -> None:
        """Plan a step after which no conversation holds the turn."""
        self.row = draft.turn(self.row, event, ev, session_token=None)

    def fold(self, draft: Draft, carrier_id: str) -> None:
        """Plan that the gateway took it into a run of its own."""
        self.row = draft.turn(self.row, "fold", Fold(carrier_id))

    def start(self, draft: Draft) -> None:
        """Plan that its run began."""
        self.row = draft.turn(self.row, "start")

    def interrupt(self, draft: Draft, reason: str) -> None:
        """Plan that the process ended under it."""
        self.row = draft.turn(self.row, "interrupt", Reason(reason))

    def put_back(self, draft: Draft, reason: str) -> None:
        """Plan that it waits again: it never ran."""
        self.row = draft.turn(self.row, "put_back", reason=reason)

    def deliver(self, draft: Draft) -> None:
        """Plan that its answer is on its way out."""
        self.row = draft.turn(self.row, "deliver")

    def answer(self, draft: Draft) -> None:
        """Plan that its answer is in the room."""
        self.row = draft.turn(self.row, "answer")

    def fall_silent(self, draft: Draft) -> None:
        """Plan that its run had nothing to say."""
        self.row = draft.turn(self.row, "fall_silent")

    def fail(self, draft: Draft, reason: str) -> None:
        """Plan that no answer could be given."""
        self.row = draft.turn(self.row, "fail", Reason(reason))

    def refuse(self, draft: Draft, reason: str) -> None:
        """Plan that it will not run after all."""
        self.row = draft.turn(self.row, "refuse", Reason(reason))

    def expire(self, draft: Draft) -> None:
        """Plan that it was found too late to be answered."""
        self.row = draft.turn(self.row, "expire", Reason("too_old"))

    def cancel(self, draft: Draft, by: str, command: str) -> None:
        """Plan that a command ended it while it waited."""
        self.row = draft.turn(self.row, "cancel", Cancel(by, command))

    def stop(self, draft: Draft, by: str, command: str) -> None:
        """Plan that a command ends its run."""
        ending = Ending("cancelled", by, command)
        self.row = draft.turn(self.row, "stop", ending, reason=command)

    def edit(self, draft: Draft, words: Words) -> None:
        """Plan that its author changed it: in place while it waits, else its run is corrected."""
        self.row = draft.turn(
            self.row,
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
        self.row = draft.turn(self.row, "end_run")

    def ignore_edit(self, draft: Draft, reason: str) -> None:
        """Plan that an edit changes nothing."""
        self.row = draft.turn(self.row, "ignore_edit", reason=reason)

    def retract(self, draft: Draft, reason: str) -> None:
        """Plan that its message is gone."""
        self.row = draft.turn(self.row, "retract", reason=reason)

    def end_run(self, draft: Draft, outcome: RunOutcome) -> None:
        """Plan the end of its run, as far as that decides anything.

        An answer that is on its way out decides by itself, once it is delivered.
        """
        if self.state in {"delivering", "correcting"}:
            return
        if self.state == "stopping":
            if self.row.ends_as != "retracted":
                self.row = draft.turn(self.row, "end_run")
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

    def _lose_run(self, draft: Draft) -> None:
        """Plan that its run ends with the gateway, which resumes its own runs alone."""
        if self.state == "folded":
            self.fail(draft, "process_died")
        else:
            self.interrupt(draft, "process_ended")


def holding_of(thread: ThreadRow) -> str:
    """Return, as JSON, what of a thread's row its chart does not keep."""
    return json.dumps({name: getattr(thread, name) for name in HOLDING}, separators=(",", ":"))


def place_of(row: TurnRow) -> Place:
    """Return where a turn is answered."""
    return Place(row.room_id, RoomKind(row.room_kind), row.thread_root_id)
