"""The gateway as the sessions see it: keys, authorisation, hand-over, status."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine
from datetime import datetime

from gateway.platforms.base import BasePlatformAdapter, MessageEvent

from ..sessions.facts import Place
from ..sessions.ports import ConnectionReport, HandOver, RunStop, TurnOrder
from ..sessions.remains import Remains
from .asking_commands import has_agent_run
from .conversations import Conversations
from .events import GatewayEvents, chat_type, key_of_source
from .fatal_errors import FatalErrors
from .leftovers import Leftovers
from .questions import questions_of, take_back
from .ready_watch import ReadyWatch
from .run_control import RunControl
from .runs import Runs
from .settings import Settings

__all__ = ["GatewayPort"]

logger = logging.getLogger(__name__)

EVERYBODY = "*"
DECISION_S = 0.5  # the gateway parks an event within milliseconds, before it posts anything
DEAD_SLOT_S = 1_800.0
"""After so long a run that holds a key without a task of ours counts as dead: the gateway's own
default, and it clears such a slot only when the next message comes.
Source: Hermes 0.22, gateway/run_inbound.py:_hm_evict_idle_stale_agent."""


class GatewayPort:
    """Fulfils `Gateway` for one adapter object, between its connect and its disconnect."""

    def __init__(
        self,
        adapter: BasePlatformAdapter,
        settings: Settings,
        tell_ready: Callable[[str], None],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Speak for an adapter.

        Args:
            adapter: whose base class is the way into the gateway.
            settings: of this start.
            tell_ready: called when a key that was not ready has become it.
            monotonic: seconds that never go back.
        """
        self._adapter = adapter
        self._settings = settings
        self._monotonic = monotonic
        self._allowed_ids: frozenset[str] = frozenset()
        self._slot_held_since: dict[str, float] = {}
        self._is_lost = False
        self._events = GatewayEvents(adapter, self._is_listed)
        self._conversations = Conversations(adapter)
        self.held_by_transcript = self._conversations.holds
        self.oldest_in_transcript = self._conversations.oldest
        self._leftovers = Leftovers(adapter)
        self.fatal_errors = FatalErrors(adapter)
        self.waits_for = questions_of
        self.owed_answers = self._leftovers.owed_answers
        self.call_off_resumption = self._leftovers.call_off_resumption
        self._runs = Runs(adapter, take_back, monotonic)
        self._control = RunControl(adapter, self._runs, self._leftovers.call_off_answers)
        self._background: set[asyncio.Task[None]] = set()
        self._watch = ReadyWatch(self._is_free, tell_ready)
        self._gate_watch = ReadyWatch(lambda _: self._is_gate_open(), tell_ready)

    @property
    def is_lost(self) -> bool:
        """Whether the connection is being opened again."""
        return self._is_lost

    @property
    def allowed_ids(self) -> frozenset[str]:
        """The accounts the operator's list names, as far as they were resolved."""
        return self._allowed_ids

    @property
    def runs(self) -> Runs:
        """Who runs; told by the hooks."""
        return self._runs

    def close(self) -> None:
        """Watch no key and no run any more."""
        self._watch.close()
        self._gate_watch.close()
        self._runs.close()

    def session_key(self, place: Place) -> str:
        """Return the gateway's own key of the session for a place."""
        return key_of_source(self._adapter, self._events.source(place))

    def allow(self, user_ids: Collection[str]) -> None:
        """Take the accounts that the operator's list names; replaces those of before."""
        self._allowed_ids = frozenset(user_ids)

    def may_speak(self, author_id: str, place: Place) -> bool:
        """Tell whether this account may talk to the agent here.

        The operator's list lets in by any of its ways, also where the gateway reads only the
        environment or knows only IDs; everything else is the gateway's own check. No answer
        of it is a no.
        """
        if self._is_listed(author_id):
            return True
        answer = self._adapter._is_sender_authorized(  # noqa: SLF001 - offered to adapters
            author_id, chat_type(place).value, place.room_id
        )
        return answer is True

    def has_session(self, session_key: str) -> bool:
        """Tell whether the gateway has a conversation for this key."""
        return self._conversations.exists(session_key)

    async def session_token(self, session_key: str) -> str | None:
        """Return what `keep_session_token` stored; None: nothing, or the session is another."""
        return await self._conversations.token(session_key)

    async def keep_session_token(self, session_key: str, token: str) -> bool:
        """Store a token with the session itself; it goes when the session is replaced."""
        return await self._conversations.keep_token(session_key, token)

    async def remains_of(self, session_key: str, message_id: str, *, since: datetime) -> Remains:
        """Return what is left of a turn that an earlier process handed over."""
        if self._is_guarded(session_key) or self._is_slot_held(session_key):
            return Remains.RESUMES  # and runs by now: we may be late
        return await self._leftovers.of(session_key, message_id, since)

    def is_ready(self, session_key: str) -> bool:
        """Tell whether an event for this key would be run now; else watch it until it would."""
        is_free = self._is_free(session_key)
        if not is_free:
            self._watch.wait_for(session_key)
        return is_free

    def is_open(self, session_key: str) -> bool:
        """Tell whether a command would be taken now; else watch the gate until it would."""
        is_open = self._is_gate_open()
        if not is_open:
            self._gate_watch.wait_for(session_key)
        return is_open

    async def hand_over(self, order: TurnOrder) -> HandOver:
        """Give one turn, or command, to the gateway.

        `_gateway_accepted` says that the event got a task of its own or was parked for one;
        it says nothing about authorisation, which the task asks later. On a busy key it stays
        False when the event was handled at once (commands, answers to the gateway's questions),
        steered or redirected into the run, held in the burst window of the queue mode, or
        dropped there: all of it is the running turn's affair. On a free key False means
        dropped. Behind the start-up gate the event would be accepted, end at once and be
        played again later under the same ID, so it is not given.
        Source: Hermes 0.22, gateway/platforms/base.py: handle_message,
        _handle_message_while_active; gateway/run_busy.py; gateway/run_inbound.py:_hm_admit_event.
        """
        if not self._is_gate_open():
            return HandOver.NOT_TAKEN
        event = self._events.event(order)
        key = key_of_source(self._adapter, event.source)
        if self._is_guarded(key):
            return await self._hand_over_beside_a_run(event, key)
        self._runs.began(key, order.message_id, event.source)
        await self._adapter.handle_message(event)
        if self._got_a_run(event, key):
            return HandOver.TAKEN
        self._runs.ended(key, order.message_id, in_order=True)
        return HandOver.NOT_TAKEN

    async def _hand_over_beside_a_run(self, event: MessageEvent, key: str) -> HandOver:
        """Give an event to a busy key.

        There the gateway may answer before its call returns, and `/stop` also waits for the
        run. The answer goes through the sessions, which wait for this method: so the call
        gets a task of its own, and is waited for only as long as the flag may take.
        """
        task = self._in_background(self._control.give(event, key))
        if not event.is_command():
            await asyncio.wait({task}, timeout=DECISION_S)
        accepted = getattr(event, "_gateway_accepted", False)
        return HandOver.TAKEN if accepted is True else HandOver.FOLDED

    def _got_a_run(self, event: MessageEvent, key: str) -> bool:
        accepted = getattr(event, "_gateway_accepted", None)
        if accepted is not None:
            return accepted is True
        # 0.19 records nothing; there a free key that became busy is the sign
        return key in self._adapter._active_sessions  # noqa: SLF001

    has_agent_run = staticmethod(has_agent_run)

    def run_of(self, session_key: str) -> str | None:
        """Return the message whose run is under way; None: no run is, or it has none."""
        run = self._runs.under_way(session_key)
        return run.message_id if run is not None else None

    async def stop_run(self, session_key: str, message_id: str, *, within_s: float) -> RunStop:
        """Stop the run of a message, wait until it is really over, and take its message out."""
        stop = await self._control.stop(session_key, message_id, within_s=within_s)
        is_over = stop is RunStop.NO_RUN and self._is_free(session_key)
        return await self._control.clear(session_key, message_id) if is_over else stop

    async def report(self, what: ConnectionReport, text: str) -> None:
        """Tell the gateway how the connection is.

        A refusal makes the gateway disconnect the adapter, which stops the sessions this very
        call comes from; so that part runs in a task of its own.
        """
        match what:
            case ConnectionReport.LIVE:
                self._mark(is_lost=False)
            case ConnectionReport.LOST:
                self._mark(is_lost=True)
            case ConnectionReport.REFUSED:
                self.fatal_errors.tell("chatto_refused", text, may_pass=False)

    def crashed(self, error: BaseException) -> None:
        """Tell the gateway that the sessions ended unasked; it starts a new adapter object."""
        logger.error("Chatto: the sessions ended by a defect", exc_info=error)
        text = f"the sessions ended by a defect: {type(error).__name__}; see the log"
        self.fatal_errors.tell("chatto_crashed", text, may_pass=True)

    def _mark(self, *, is_lost: bool) -> None:
        """Publish the state; 0.22 shows a lost connection as one that is being retried."""
        self._is_lost = is_lost
        self._adapter._mark_connected()  # noqa: SLF001

    def _in_background(self, call: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(call)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _is_listed(self, author_id: str) -> bool:
        entries = {*self._settings.allowed_users, *self._allowed_ids}
        return self._settings.allow_all_users or bool(entries & {EVERYBODY, author_id})

    def _is_gate_open(self) -> bool:
        runner = self._adapter.gateway_runner
        return not getattr(runner, "_startup_restore_in_progress", False)

    def _is_free(self, session_key: str) -> bool:
        runner = self._adapter.gateway_runner
        is_closing = getattr(runner, "_draining", False) or getattr(
            runner, "_external_drain_active", False
        )
        if is_closing or not self._is_gate_open() or self._is_guarded(session_key):
            return False
        return not (self._is_slot_held(session_key) or self._runs.is_agent_left(session_key))

    def _is_guarded(self, session_key: str) -> bool:
        """Tell whether the adapter's own task holds the key; a finished one does not."""
        adapter = self._adapter
        is_held = session_key in adapter._active_sessions  # noqa: SLF001
        return is_held and not adapter._session_task_is_stale(session_key)  # noqa: SLF001

    def _is_slot_held(self, session_key: str) -> bool:
        """Tell whether the runner counts a run of this key that no task of ours carries.

        That happens while it resumes a turn after a restart, and for runs of an adapter object
        that was replaced.
        """
        if not _is_running(self._adapter.gateway_runner, session_key):
            self._slot_held_since.pop(session_key, None)
            return False
        now = self._monotonic()
        return now - self._slot_held_since.setdefault(session_key, now) < DEAD_SLOT_S


def _is_running(runner: object, session_key: str) -> bool:
    ask = getattr(runner, "_is_session_running", None)
    if ask is not None:
        return bool(ask(session_key))
    return session_key in getattr(runner, "_running_agents", ())  # 0.19
