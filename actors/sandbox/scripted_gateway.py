"""A gateway with a scripted agent: the port `Gateway` without Hermes, for tests of the sessions.

It keeps to what the real one does as far as the sessions can tell: one run per key, reports in
the same order, commands at once, a start-up gate.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import anyio
from anyio.abc import TaskGroup

from ..sessions.facts import Place
from ..sessions.ports import (
    ConnectionReport,
    Desk,
    HandOver,
    Outgoing,
    Question,
    RunOutcome,
    RunStop,
    TurnOrder,
)
from .scripted_questions import ScriptedQuestions
from .scripted_sessions import ScriptedSessions, Session

__all__ = ["Agent", "ScriptedGateway", "Session", "first_words"]

log = logging.getLogger(__name__)

Agent = Callable[[TurnOrder], Awaitable[str | None]]
"""Answers a turn; None: says nothing. What it raises ends the run as a failure."""


async def first_words(order: TurnOrder) -> str:
    """Answer "ok: " and the first words of the message, at once."""
    return f"ok: {' '.join(order.text.split()[:6])}"


@dataclass(slots=True, eq=False)
class _Slot:
    """A run under way."""

    message_id: str | None
    outcome: RunOutcome = RunOutcome.CANCELLED
    """How it ends, as far as is known."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    is_over: anyio.Event = field(default_factory=anyio.Event)
    is_end_reported: bool = False


class ScriptedGateway(ScriptedSessions):
    """Runs a scripted agent for every turn it is handed, and records what it was given."""

    def __init__(
        self,
        tasks: TaskGroup,
        agent: Agent = first_words,
        allowed: Collection[str] = (),
        sessions: dict[str, Session] | None = None,
    ) -> None:
        """Start with the gate open and nobody running.

        Args:
            tasks: runs the agent.
            agent: what it does with a turn.
            allowed: user IDs that may speak beside those the sessions resolve.
            sessions: conversations of an earlier process; None: there was none.
        """
        super().__init__(sessions)
        self.agent = agent
        self.orders: list[TurnOrder] = []
        """Turns, in the order of their hand-over."""
        self.commands: list[TurnOrder] = []
        self.reports: list[tuple[ConnectionReport, str]] = []
        self.crashes: list[BaseException] = []
        self.planned: list[HandOver] = []
        """What it does with the next turns instead of running them: taken, one never starts."""
        self.raises: list[Exception] = []
        """What it raises instead of taking the next turns."""
        self.fails_reports: list[Exception] = []
        """What it raises instead of taking the next reports about the connection."""
        self.most_at_once = 0
        """The largest number of runs of one key that were ever under way together."""
        self._tasks = tasks
        self._allowed = frozenset(allowed)
        self._resolved: frozenset[str] = frozenset()
        self._desk: Desk | None = None
        self._running: dict[str, list[_Slot]] = {}
        self._questions = ScriptedQuestions()
        self._awaited: set[str] = set()
        self._gated: set[str] = set()
        """Keys with a command that waits for the gate."""
        self._is_open = True

    def serve(self, desk: Desk) -> None:
        """Say whom the reports go to."""
        self._desk = desk

    def shut_gate(self) -> None:
        """Hold everything back, as during the start of the real gateway."""
        self._is_open = False

    def open_gate(self) -> None:
        """Let turns in."""
        self._is_open = True
        for key in sorted(self._gated):
            self.desk.key_ready(key)
        self._gated.clear()
        for key in sorted(self._awaited):
            self._tell_ready(key)

    async def ask(self, order: TurnOrder, text: str, question: Question) -> str | None:
        """Ask the person of a turn, and return the answer; None: none came before `give_up`."""
        outgoing = replace(_outgoing(order, text), is_final=False, answers_id=None, asks=question)
        with self._questions.asking(self.session_key(order.place), question) as asked:
            await self.desk.deliver(outgoing)
            await asked.is_over.wait()
        return asked.answer

    def give_up(self, session_key: str) -> None:
        """Wait for no answer of this key any more."""
        self._questions.give_up(session_key)

    def resume(self, session_key: str, order: TurnOrder | None = None) -> None:
        """Run the agent again for a turn of an earlier process, under no message ID.

        Its start is reported twice: the first attempt finds the session's slot taken. Without an
        order the agent is silent.
        """
        self.desk.run_started(session_key, None)
        slot = self._open_slot(session_key, None)
        self._tasks.start_soon(self._resume, session_key, order, slot)

    def dies(self) -> None:
        """End every run without another word, as the end of the process does."""
        self._desk = None
        for slots in self._running.values():
            for slot in slots:
                slot.scope.cancel()

    # --- the port -----------------------------------------------------------------------------

    def allow(self, user_ids: Collection[str]) -> None:
        """Learn which accounts the logins of the allowlist are."""
        self._resolved = frozenset(user_ids)

    def may_speak(self, author_id: str, place: Place) -> bool:
        """Tell whether this account may talk to the agent."""
        del place
        return author_id in self._allowed or author_id in self._resolved

    def is_ready(self, session_key: str) -> bool:
        """Tell whether an event for this key would be run now."""
        ready = self._is_open and not self._running.get(session_key)
        if not ready:
            self._awaited.add(session_key)
        return ready

    def is_open(self, session_key: str) -> bool:
        """Tell whether a command would be taken now."""
        if not self._is_open:
            self._gated.add(session_key)
        return self._is_open

    async def hand_over(self, order: TurnOrder) -> HandOver:
        """Run the agent for a turn, or take a command at once."""
        if not self._is_open:
            return HandOver.NOT_TAKEN
        key = self.session_key(order.place)
        is_answer = self._questions.take(key, order.text)
        if order.text.startswith("/") and not order.is_for_the_agent:
            self.commands.append(order)
            self._tasks.start_soon(self._obey, key, order)
            return HandOver.TAKEN
        if is_answer:
            return HandOver.FOLDED
        if self.raises:
            raise self.raises.pop(0)
        if self.planned:
            return self.planned.pop(0)
        self.sessions.setdefault(key, Session()).message_ids.append(order.message_id)
        if self._running.get(key):
            return HandOver.FOLDED
        self.orders.append(order)
        slot = self._open_slot(key, order.message_id)
        self.most_at_once = max(self.most_at_once, len(self._running[key]))
        self._tasks.start_soon(self._run, key, order, slot)
        return HandOver.TAKEN

    def waits_for(self, session_key: str) -> frozenset[Question]:
        """Return what kinds of questions the run of this key waits for."""
        return self._questions.kinds(session_key)

    def run_of(self, session_key: str) -> str | None:
        """Return the message of the newest run; None: there is no run, or it has none."""
        slots = self._running.get(session_key)
        return slots[-1].message_id if slots else None

    async def stop_run(self, session_key: str, message_id: str, *, within_s: float) -> RunStop:
        """Cancel the agent, report the end of the run at once, and wait for the agent.

        An agent that shields itself is a tool that does not look for interrupts.
        """
        slots = self._running.get(session_key, [])
        slot = next((each for each in slots if each.message_id in {message_id, None}), None)
        if slot is None:
            return RunStop.NO_RUN
        slot.scope.cancel()
        slot.outcome = RunOutcome.CANCELLED
        self._report_end(session_key, slot)
        with anyio.move_on_after(within_s):
            await slot.is_over.wait()
            return self.take_out(session_key, message_id)
        return RunStop.DOES_NOT_END

    async def report(self, what: ConnectionReport, text: str) -> None:
        """Keep what was reported."""
        if self.fails_reports:
            raise self.fails_reports.pop(0)
        self.reports.append((what, text))

    def crashed(self, error: BaseException) -> None:
        """Keep the error: a test looks at it."""
        self.crashes.append(error)

    # --- runs ---------------------------------------------------------------------------------

    @property
    def desk(self) -> Desk:
        """Whom the reports go to.

        Raises:
            LookupError: `serve` was not called.
        """
        if self._desk is None:
            message = "no desk is served"
            raise LookupError(message)
        return self._desk

    def _open_slot(self, key: str, message_id: str | None) -> _Slot:
        slot = _Slot(message_id)
        self._running.setdefault(key, []).append(slot)
        return slot

    async def _run(self, key: str, order: TurnOrder, slot: _Slot) -> None:
        with self._reported(key, slot):
            slot.outcome = await self._answer(order)

    async def _resume(self, key: str, order: TurnOrder | None, slot: _Slot) -> None:
        with self._reported(key, slot):
            slot.outcome = RunOutcome.SUCCESS
            if order is not None:
                slot.outcome = await self._answer(order)

    @contextmanager
    def _reported(self, key: str, slot: _Slot) -> Iterator[None]:
        """Report the start and the end of a run, unless the process dies under it."""
        if self._desk is not None:  # the process may have died before it began
            self._desk.run_started(key, slot.message_id)
        with slot.scope:
            yield
        self._report_end(key, slot)
        self._running[key].remove(slot)
        slot.is_over.set()
        self._tell_ready(key)

    def _report_end(self, key: str, slot: _Slot) -> None:
        if self._desk is not None and not slot.is_end_reported:
            slot.is_end_reported = True
            self._desk.run_ended(key, slot.message_id, slot.outcome)

    async def _answer(self, order: TurnOrder) -> RunOutcome:
        try:
            answer = await self.agent(order)
        except Exception:
            # The real gateway turns any error of the agent into a failed run.
            log.exception("the scripted agent failed")
            return RunOutcome.FAILURE
        if answer is not None and self._desk is not None:
            await self._desk.deliver(_outgoing(order, answer))
        return RunOutcome.SUCCESS

    async def _obey(self, key: str, order: TurnOrder) -> None:
        if self.has_agent_run(order.text) and not self._running.get(key):
            words = replace(order, text=order.text.removeprefix("/queue "))
            await self._run(key, words, self._open_slot(key, order.message_id))
            return
        if order.text.startswith(("/stop", "/new", "/reset")):
            for slot in self._running.get(key, []):
                slot.scope.cancel()
        if order.text.startswith(("/new", "/reset")):
            self.sessions[key] = Session()
        if self._desk is not None:
            await self._desk.deliver(_outgoing(order, f"done: {order.text}"))

    def _tell_ready(self, key: str) -> None:
        if self._desk and key in self._awaited and not self._running.get(key) and self._is_open:
            self._awaited.discard(key)
            self._desk.key_ready(key)


def _outgoing(order: TurnOrder, text: str) -> Outgoing:
    return Outgoing(
        room_id=order.place.room_id,
        thread_root_id=order.place.thread_root_id,
        text=text,
        is_final=True,
        answers_id=order.message_id,
    )
