"""A scripted gateway that survives its own death, as the real one does.

It marks a run, writes the transcript, ledgers an answer before it is posted, and after a kill
resumes and hands over in the real one's order.
Source: Hermes 0.22, gateway/run_startup.py, gateway/delivery_ledger.py, gateway/platforms/base.py:
_process_message_background; contract §5.7, §8.4.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime

import anyio
from anyio.abc import TaskGroup

from ...sessions.ports import DeliveryState, HandOver, Outgoing, RunOutcome, TurnOrder
from ...sessions.remains import Remains
from ..scripted_gateway import ScriptedGateway
from ..scripted_sessions import Session
from .lasting import ATTEMPTS, Conversation, Exchange, Lasting, Owed

__all__ = ["MARKER", "LastingGateway"]

MARKER = (
    "♻️ Recovered reply — the gateway restarted during delivery, so this may be a duplicate:\n\n"
)
"""What the real one puts in front of an answer that it hands over again."""

STEP_S = 0.003  # between two of the gateway's own writes; on the real one up to 80 ms in all


class LastingGateway(ScriptedGateway):
    """The port `Gateway` over a file."""

    def __init__(
        self, tasks: TaskGroup, reply: Callable[[str], Awaitable[str]], lasting: Lasting
    ) -> None:
        """Start as after any death: nothing runs, and nobody is let in.

        Args:
            tasks: runs the agent.
            reply: the agent: makes the answer to the text of a question.
            lasting: what an earlier process left.
        """
        super().__init__(tasks)
        self._reply = reply
        self._lasting = lasting
        self.shut_gate()

    def takes_stock(self) -> None:
        """Sort what was under way, before anything is connected.

        A marked run whose reply is in the transcript is owed; any other is resumed.
        """
        with self._lasting.changed():
            for key, each in self._lasting.conversations.items():
                since, each.marked_at = each.marked_at, None
                if since is None:
                    continue
                newest = each.exchanges[-1] if each.exchanges else None
                if newest is None or (newest.replied_at or 0) < since:
                    each.is_resumed = True
                elif not any(owed.question == newest.text for owed in self._lasting.owed):
                    owed = Owed(key, newest.text, time.time(), "attempting")
                    self._lasting.owed.append(owed)

    async def boots(self) -> None:
        """Hand over what is owed, resume what was interrupted, then let people in."""
        for owed, is_marked in self._claimed():
            answer = await self._reply(owed.question)
            await self._hand_out(owed, MARKER + answer if is_marked else answer)
        async with anyio.create_task_group() as runs:
            for key, each in self._lasting.conversations.items():
                if each.is_resumed:
                    runs.start_soon(self._resume_one, key, each)
        self.open_gate()

    # --- the port -----------------------------------------------------------------------------

    def has_session(self, session_key: str) -> bool:
        """Tell whether there is a conversation for this key."""
        return session_key in self._lasting.conversations

    async def session_token(self, session_key: str) -> str | None:
        """Return what was stored with the conversation."""
        found = self._lasting.conversations.get(session_key)
        return found.token if found else None

    async def keep_session_token(self, session_key: str, token: str) -> bool:
        """Store a token with the conversation, if there is one."""
        found = self._lasting.conversations.get(session_key)
        if found is None:
            return False
        with self._lasting.changed():
            found.token = token
        return True

    async def held_by_transcript(
        self, session_key: str, message_ids: Collection[str]
    ) -> frozenset[str]:
        """Return which of these messages were turns of the conversation."""
        found = self._lasting.conversations.get(session_key)
        held = {each.message_id for each in found.exchanges} if found else set()
        return frozenset(message_ids) & held

    async def oldest_in_transcript(self, session_key: str) -> str | None:
        """Return the first turn of the conversation; None: it had none."""
        found = self._lasting.conversations.get(session_key)
        return next((each.message_id for each in found.exchanges), None) if found else None

    async def remains_of(self, session_key: str, message_id: str, *, since: datetime) -> Remains:
        """Return what is left of a turn, read as from the real one's files."""
        if self._running.get(session_key):
            return Remains.RESUMES
        if any(
            owed.session_key == session_key
            and owed.is_open
            and owed.created_at >= since.timestamp()
            for owed in self._lasting.owed
        ):
            return Remains.OWES
        is_held = bool(await self.held_by_transcript(session_key, [message_id]))
        found = self._lasting.conversations.get(session_key)
        if found is not None and (found.is_resumed or found.marked_at):
            return Remains.RESUMES if is_held else Remains.WORDLESS
        return Remains.HOLDS if is_held else Remains.NOTHING

    async def owed_answers(self, session_key: str) -> Sequence[str]:
        """Return the answers of this key that are not known to be in the room."""
        owed = [each for each in self._lasting.owed if each.session_key == session_key]
        return [await self._reply(each.question) for each in owed if each.is_open]

    async def call_off_resumption(self, session_key: str) -> None:
        """Resume a key no more."""
        with self._lasting.changed():
            self._lasting.conversations[session_key].is_resumed = False

    async def hand_over(self, order: TurnOrder) -> HandOver:
        """Run the agent for a turn; its marks come some milliseconds later."""
        self.sessions.setdefault(self.session_key(order.place), Session())
        return await super().hand_over(order)

    # --- runs ---------------------------------------------------------------------------------

    async def _answer(self, order: TurnOrder) -> RunOutcome:
        key, place = self.session_key(order.place), order.place
        await anyio.sleep(STEP_S)
        with self._lasting.changed():
            fresh = Conversation(place.room_id, place.thread_root_id)
            found = self._lasting.conversations.setdefault(key, fresh)
            found.marked_at = time.time()
        await anyio.sleep(STEP_S)
        exchange = Exchange(order.message_id, order.text)
        with self._lasting.changed():
            found.exchanges.append(exchange)
        return await self._finish(key, found, exchange, order.message_id)

    async def _resume_one(self, key: str, found: Conversation) -> None:
        slot = self._open_slot(key, None)
        with self._reported(key, slot):
            with self._lasting.changed():
                found.marked_at = time.time()
            # Nothing to go on with: the real one's agent would say something of its own.
            slot.outcome = RunOutcome.SUCCESS
            if found.exchanges:
                slot.outcome = await self._finish(key, found, found.exchanges[-1], None)

    async def _finish(
        self, key: str, found: Conversation, exchange: Exchange, answers_id: str | None
    ) -> RunOutcome:
        """Let the agent answer, ledger that, and only then post it."""
        text = await self._reply(exchange.text)
        with self._lasting.changed():
            exchange.replied_at = time.time()
        await anyio.sleep(STEP_S)
        owed = Owed(key, exchange.text, time.time())
        with self._lasting.changed():
            self._lasting.owed.append(owed)
        await anyio.sleep(STEP_S)
        with self._lasting.changed():
            owed.state = "attempting"
            found.marked_at, found.is_resumed = None, False
        is_posted = await self._hand_out(owed, text, is_final=True, answers_id=answers_id)
        return RunOutcome.SUCCESS if is_posted else RunOutcome.FAILURE

    async def _hand_out(
        self, owed: Owed, text: str, *, is_final: bool = False, answers_id: str | None = None
    ) -> bool:
        found = self._lasting.conversations[owed.session_key]
        outgoing = Outgoing(
            room_id=found.room_id,
            thread_root_id=found.thread_root_id,
            text=text,
            is_final=is_final,
            answers_id=answers_id,
        )
        result = await self.desk.deliver(outgoing)
        is_posted = result.state is DeliveryState.DELIVERED
        with self._lasting.changed():
            owed.state = "delivered" if is_posted else "failed"
        return is_posted

    def _claimed(self) -> list[tuple[Owed, bool]]:
        """Take what is owed, and say whether it may have been posted before."""
        claimed: list[tuple[Owed, bool]] = []
        with self._lasting.changed():
            for owed in self._lasting.owed:
                if not owed.is_open:
                    continue
                if owed.attempts >= ATTEMPTS:
                    owed.state = "abandoned"
                    continue
                claimed.append((owed, owed.state != "pending" or owed.attempts > 0))
                owed.state, owed.attempts = "attempting", owed.attempts + 1
                self._lasting.conversations[owed.session_key].is_resumed = False
        return claimed
