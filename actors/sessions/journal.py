"""Decide, record, act: the middle step. Steps of any machines, committed together.

A `Draft` fires events on rows and plans what they write; `commit` writes all of it in one
transaction and logs one line per step. Until then nothing has happened.
"""

import json
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

from ...machines.connection import ConnectionChart, ConnectionRecord
from ...machines.delivery import DeliveryChart, PartRecord
from ...machines.driver import Driver, Record, Step
from ...machines.membership import MembershipChart, MembershipRecord
from ...machines.prompt import PromptChart, PromptRecord
from ...machines.room_session import RoomSessionChart, RoomSessionRecord
from ...machines.thread import ThreadChart, ThreadRecord
from ...machines.turn import TurnChart, TurnRecord
from ...store import (
    connection,
    memberships,
    outbox,
    prompts,
    room_sessions,
    threads,
    transitions,
    turns,
)
from ...store.connection import ConnectionRow
from ...store.database import Database
from ...store.memberships import MembershipRow
from ...store.outbox import PartRow
from ...store.prompts import PromptRow
from ...store.room_sessions import RoomSessionRow
from ...store.threads import ThreadRow
from ...store.transitions import TransitionRow
from ...store.turns import TurnRow
from ..runtime.clock import Clock, utc_text
from ..runtime.store_thread import StoreThread
from .alongside import Alongside, Write
from .signage import asks_for

__all__ = ["Draft", "Journal"]

log = logging.getLogger(__name__)

T = TypeVar("T")
RowT = TypeVar("RowT", bound=NamedTuple)
RecordT = TypeVar("RecordT", bound=Record)

RESTING = TurnChart.CLOSED | {"bypassed", "refused", "failed", "expired"}
"""States of a turn in which nothing is to be done about it; four of them can be left."""

WORDLESS = TurnChart.CLOSED | {"bypassed", "refused"}
"""States in which nothing needs the words of a turn any more."""


class Journal:
    """The charts, the store and the clock of one profile."""

    def __init__(
        self,
        store: StoreThread[Database],
        scope: str,
        clock: Clock,
        alongside: Alongside | None = None,
    ) -> None:
        """Build one chart object per class; records are lent to them.

        Args:
            store: the only caller of SQLite.
            scope: the profile, as it stands in every row.
            clock: the time of every row.
            alongside: what is written along with steps; None: nothing is.
        """
        self.alongside = alongside
        self.store = store
        self.scope = scope
        self.clock = clock
        self.turns = Driver(TurnChart, TurnRecord())
        self.threads = Driver(ThreadChart, ThreadRecord())
        self.room_sessions = Driver(RoomSessionChart, RoomSessionRecord())
        self.deliveries = Driver(DeliveryChart, PartRecord())
        self.prompts = Driver(PromptChart, PromptRecord())
        self.on_sign: Callable[[str], None] = _nobody
        """Told of a message whose turn now asks for another sign, after the commit."""
        self.connections = Driver(ConnectionChart, ConnectionRecord())
        self.memberships = Driver(MembershipChart, MembershipRecord())

    def draft(self) -> "Draft":
        """Begin a set of steps that are committed together."""
        return Draft(self)

    def now(self) -> str:
        """Return the time as rows keep it."""
        return utc_text(self.clock.now())

    async def read(self, work: Callable[[Database], T]) -> T:
        """Read from the store."""
        return await self.store.read(work)


class Draft:
    """Steps that were decided and are not recorded yet."""

    def __init__(self, journal: Journal) -> None:
        """Start empty."""
        self._journal = journal
        self._work: list[Callable[[Database], object]] = []
        self._lines: list[str] = []
        self._signed: list[str] = []
        self._has_receipts = False
        self._acts: list[Callable[[], object]] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing was decided."""
        return not self._work

    def turn(
        self,
        row: TurnRow,
        event: str,
        ev: object = None,
        *,
        reason: str | None = None,
        **columns: object,
    ) -> TurnRow:
        """Fire an event on a turn and return the row it will be.

        Args:
            row: the turn as it stands.
            event: name of the chart's event.
            ev: what came with it.
            reason: why, for the transition; None takes the payload's reason.
            columns: further columns that change with the step.

        Raises:
            statemachine.exceptions.TransitionNotAllowed: it cannot come in this state.
        """
        record, step = self._journal.turns.fire(_record(TurnRecord, row), event, ev)
        if record.state in WORDLESS:
            columns["body"] = None
        at_rest = record.state in RESTING
        columns["closed_at"] = (row.closed_at or self._journal.now()) if at_rest else None
        new = self._replace(row, record, columns)
        if asks_for(new.state, new.reason) != asks_for(row.state, row.reason):
            self._signed.append(new.message_id)
        self._plan(lambda db: turns.save(db, new))
        self._step(step, row.message_id, row.message_id, _reason(ev, reason), _detail(row, new))
        return new

    def thread(
        self,
        row: ThreadRow,
        event: str,
        ev: object = None,
        *,
        message_id: str | None,
        reason: str | None = None,
        **columns: object,
    ) -> ThreadRow:
        """Fire an event on a thread; `message_id` is the message it is about. As `turn`."""
        record, step = self._journal.threads.fire(_record(ThreadRecord, row), event, ev)
        new = self._replace(row, record, columns)
        self._plan(lambda db: threads.save(db, new))
        self._step(step, row.session_key, message_id, _reason(ev, reason), _detail(row, new))
        return new

    def note_turn(self, row: TurnRow, **columns: object) -> TurnRow:
        """Plan that a turn's row says something more, without a step of its machine."""
        values: dict[str, Any] = {**columns, "updated_at": self._journal.now()}
        new = row._replace(**values)
        self._plan(lambda db: turns.save(db, new))
        return new

    def note_thread(self, row: ThreadRow, **columns: object) -> ThreadRow:
        """Plan that a thread's row says something more, without a step of its machine."""
        values: dict[str, Any] = {**columns, "updated_at": self._journal.now()}
        new = row._replace(**values)
        self._plan(lambda db: threads.save(db, new))
        return new

    def room_session(self, row: RoomSessionRow, event: str, ev: object = None) -> RoomSessionRow:
        """Fire an event on a room session. As `turn`."""
        record, step = self._journal.room_sessions.fire(_record(RoomSessionRecord, row), event, ev)
        new = self._replace(row, record, {})
        self._plan(lambda db: room_sessions.save(db, new))
        self._step(step, row.message_id, row.message_id, _reason(ev, None), _detail(row, new))
        return new

    def part(self, row: PartRow, event: str, ev: object = None, **columns: object) -> PartRow:
        """Fire an event on a part of a delivery. As `turn`."""
        record, step = self._journal.deliveries.fire(_record(PartRecord, row), event, ev)
        if record.state in DeliveryChart.CLOSED:
            columns["body"] = None
        new = self._replace(row, record, columns)
        self._plan(lambda db: outbox.save(db, new))
        self._step(step, row.outbox_id, row.turn_id, _reason(ev, None), _detail(row, new))
        return new

    def prompt(self, row: PromptRow, event: str, ev: object = None) -> PromptRow:
        """Fire an event on a question the agent asks back. As `turn`."""
        record, step = self._journal.prompts.fire(_record(PromptRecord, row), event, ev)
        new = self._replace(row, record, {})
        self._plan(lambda db: prompts.save(db, new))
        self._step(step, row.outbox_id, row.turn_id, _reason(ev, None), _detail(row, new))
        return new

    def connection(self, row: ConnectionRow, event: str, ev: object = None) -> ConnectionRow:
        """Fire an event on the connection. As `turn`."""
        record, step = self._journal.connections.fire(_record(ConnectionRecord, row), event, ev)
        new = self._replace(row, record, {})
        self._plan(lambda db: connection.save(db, new))
        self._step(step, row.scope, None, _reason(ev, None), _detail(row, new))
        return new

    def membership(self, row: MembershipRow, event: str, ev: object, name: str | None) -> None:
        """Fire an event on a membership; the row keeps the room's name, if it is known."""
        record, step = self._journal.memberships.fire(_record(MembershipRecord, row), event, ev)
        new = self._replace(row, record, {"room_name": name or row.room_name})
        self._plan(lambda db: memberships.save(db, new))
        self._step(step, row.room_id, None, _reason(ev, None), _detail(row, new))

    def receive(self, row: TurnRow, reason: str | None = None) -> None:
        """Plan the receipt of a message, before anything is done about it.

        On a disk that is all but full it waits: what is left is for the answers under way.

        Args:
            row: the receipt.
            reason: what it owes itself to, other than its being posted; None: nothing else.
        """
        self._has_receipts = True
        self._plan(lambda db: turns.receive(db, row))
        step = Step("turn", "receive", "", row.state, {})
        self._step(step, row.message_id, row.message_id, reason)

    def remark(self, message_id: str, event: str, reason: str) -> None:
        """Plan the note that something came which changes nothing: a repetition, a late edit.

        Whoever finds that out is not the one who moves the turn, so nothing of the row is
        written, and its state is read in the same transaction. The event may come in every
        state and leads to none.
        """
        scope = self._journal.scope

        def note(db: Database) -> None:
            row = turns.find(db, scope, message_id)
            if row is not None:
                step = Step("turn", event, row.state, row.state, {})
                transitions.add(db, self._transition(step, message_id, message_id, reason, None))

        self._plan(note)
        self._lines.append(f"turn={message_id} {event} ({reason})")

    def open_room_session(self, turn: TurnRow) -> RoomSessionRow:
        """Plan the session that a fresh room message opens, and return its row."""
        row = _opened_by(turn, self._journal.now())
        self._plan(lambda db: room_sessions.save(db, row))
        self._begin("room_session", row.message_id, row.message_id, "open", row.state)
        return row

    def add_part(self, row: PartRow) -> PartRow:
        """Plan a new part of a delivery."""
        self._plan(lambda db: outbox.add(db, row))
        self._begin("delivery", row.outbox_id, row.turn_id, "add", row.state)
        return row

    def add_prompt(self, row: PromptRow) -> PromptRow:
        """Plan a new question of the agent."""
        self._plan(lambda db: prompts.add(db, row))
        self._begin("prompt", row.outbox_id, row.turn_id, "ask", row.state)
        return row

    def also(self, write: Callable[[Database], object]) -> None:
        """Plan a write that is no step of a machine, in the same transaction."""
        self._plan(write)

    def then(self, act: Callable[[], object]) -> None:
        """Plan what is done as soon as this is written: a mail to the actor whose row it is."""
        self._acts.append(act)

    async def commit(self) -> None:
        """Write everything that was decided in one transaction, then log it.

        Raises:
            StoreBusyError: another process kept the file locked for too long.
            StoreUnavailableError: the disk is full or gone.
        """
        work = self._work
        if work:
            may_wait = self._has_receipts
            with self._taken_along() as along:
                await self._journal.store.run(
                    lambda db: [write(db) for write in (*work, *along)], may_wait=may_wait
                )
        for line in self._lines:
            log.info("%s", line)
        for message_id in self._signed:
            self._journal.on_sign(message_id)
        for act in self._acts:
            act()

    def _taken_along(self) -> AbstractContextManager[list[Write]]:
        alongside = self._journal.alongside
        return nullcontext([]) if alongside is None else alongside.taken()

    def _plan(self, write: Callable[[Database], object]) -> None:
        self._work.append(write)

    def _replace(self, row: RowT, record: Record, columns: dict[str, object]) -> RowT:
        decided = {field.name: getattr(record, field.name) for field in fields(record)}
        values: dict[str, Any] = {**decided, **columns, "updated_at": self._journal.now()}
        return row._replace(**values)

    def _begin(self, machine: str, key: str, about: str | None, event: str, state: str) -> None:
        """Plan the transition with which a row begins."""
        self._step(Step(machine, event, "", state, {}), key, about)

    def _step(
        self,
        step: Step,
        key: str,
        message_id: str | None,
        reason: str | None = None,
        detail: str | None = None,
    ) -> None:
        row = self._transition(step, key, message_id, reason, detail)
        self._plan(lambda db: transitions.add(db, row))
        why = f" ({reason})" if reason else ""
        self._lines.append(f"{step.machine}={key} {step.event} {step.source}->{step.target}{why}")

    def _transition(
        self, step: Step, key: str, message_id: str | None, reason: str | None, detail: str | None
    ) -> TransitionRow:
        return TransitionRow(
            scope=self._journal.scope,
            at=self._journal.now(),
            machine=step.machine,
            key=key,
            message_id=message_id,
            event=step.event,
            from_state=step.source or None,
            to_state=step.target,
            reason=reason,
            detail=detail,
        )


def _opened_by(turn: TurnRow, now: str) -> RoomSessionRow:
    return RoomSessionRow(
        scope=turn.scope,
        message_id=turn.message_id,
        room_id=turn.room_id,
        session_key=turn.session_key,
        state="blind",
        reason=None,
        created_at=now,
        updated_at=now,
    )


def _nobody(message_id: str) -> None:
    """Tell nobody: signs are somebody else's, and may be off."""
    del message_id


def _record(kind: type[RecordT], row: NamedTuple) -> RecordT:
    """Take out of a row what its chart decides about."""
    return kind(**{field.name: getattr(row, field.name) for field in fields(kind)})


def _reason(ev: object, reason: str | None) -> str | None:
    return reason or getattr(ev, "reason", None)


UNTOLD = frozenset({"state", "body", "updated_at", "closed_at"})
"""Columns a transition does not repeat: words never, times and states stand there already."""


def _detail(before: NamedTuple, after: NamedTuple) -> str | None:
    """Return the columns a step changed as JSON, or None when it changed none."""
    pairs = zip(before._fields, before, after, strict=True)
    changed = {name: new for name, old, new in pairs if old != new and name not in UNTOLD}
    return json.dumps(changed, separators=(",", ":")) if changed else None
