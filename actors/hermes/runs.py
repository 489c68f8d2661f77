"""Which runs are under way, and whose agent is still at work.

The gateway ends a stopped run in two steps: its task, with the adapter's hook, within
milliseconds; the agent's thread at its next look at the interrupt, which takes seconds while a
tool runs. Whatever is handed over in between makes the gateway post notices about "another
process". So a key is free when both are over.
Source: Hermes 0.22, gateway/run_turn.py:_run_agent_start_turn_worker (the mark on the agent is
cleared last, after the session's lease), agent/turn_facade_lease.py:admit_durable_turn_lease.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from gateway.platforms.base import BasePlatformAdapter
from gateway.session import SessionSource

__all__ = ["LOOK_EVERY_S", "Run", "Runs"]

LOOK_EVERY_S = 0.05  # the gateway itself looks as often for the agent of a run
WORKING_MARK = "_gateway_turn_process_task_id"  # of 0.22; 0.19 has none
FORGOTTEN_AFTER_S = 1_800.0
"""An agent that has not ended so long after its task counts as dead, as the gateway itself has
it.
Source: Hermes 0.22, gateway/run_inbound.py:_hm_evict_idle_stale_agent."""


class Run:
    """One run of a key, from its hand-over until its agent is gone."""

    def __init__(self, message_id: str | None, source: SessionSource) -> None:
        """Describe a run that begins.

        Args:
            message_id: None: one the gateway started itself.
            source: where it came from, as the gateway has it.
        """
        self.message_id = message_id
        self.source = source
        self.began_at = time.time()
        """By the clock of the gateway's own rows; seconds of the epoch."""
        self.agent: object | None = None
        """The gateway's agent; None: none is known, so nothing can be interrupted."""
        self.can_be_interrupted = asyncio.Event()
        """Its agent is known, or it ended without one."""
        self.has_ended = asyncio.Event()
        """Its task is over; the agent may still be at work."""
        self._has_agent_said_end = False

    @property
    def session_id(self) -> str | None:
        """The session it writes to; None: it has none yet."""
        return getattr(self.agent, "session_id", None)

    @property
    def is_agent_working(self) -> bool:
        """Whether the agent's thread is still there.

        0.22 marks the agent for just that long; 0.19 has the hook `on_session_end` alone.
        """
        if self.agent is None or self._has_agent_said_end:
            return False
        mark = getattr(self.agent, WORKING_MARK, None)
        return mark is None or bool(mark)

    def agent_known(self, agent: object) -> None:
        """Take the agent."""
        self.agent = agent
        self.can_be_interrupted.set()

    def agent_said_end(self) -> None:
        """Believe the hook, where the gateway has no better sign."""
        if not hasattr(self.agent, WORKING_MARK):
            self._has_agent_said_end = True

    def ended(self, *, in_order: bool) -> None:
        """Take down that its task is over.

        Args:
            in_order: it was waited for, and not cancelled under its agent.
        """
        if in_order:
            self.agent_said_end()
        self.has_ended.set()
        self.can_be_interrupted.set()


class Runs:
    """The runs of one adapter object. Lives in one event loop."""

    def __init__(
        self,
        adapter: BasePlatformAdapter,
        take_back: Callable[[str], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start without any.

        Args:
            adapter: whose runner says which agent runs.
            take_back: takes back what runs of a key ask their person.
            monotonic: seconds that never go back.
        """
        self._adapter = adapter
        self._take_back = take_back
        self._monotonic = monotonic
        self._under_way: dict[str, Run] = {}
        self._left_behind: dict[str, list[tuple[Run, float]]] = {}
        """Ended runs whose agent was still at work, with the time of their end."""
        self._searches: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """Look for no agent any more."""
        for search in self._searches:
            search.cancel()

    def find(self, session_key: str, message_id: str) -> Run | None:
        """Return the run of a message, or the gateway's own run of the key; None: neither.

        A run the gateway started itself has no message; it goes on with what the key had.
        """
        run = self._under_way.get(session_key)
        return run if run is not None and run.message_id in {message_id, None} else None

    def under_way(self, session_key: str) -> Run | None:
        """Return the run of a key; None: none."""
        return self._under_way.get(session_key)

    def began(self, session_key: str, message_id: str | None, source: SessionSource) -> None:
        """Take down that a run begins, or was handed over; said twice, it is one."""
        known = self._under_way.get(session_key)
        if known is not None and known.message_id == message_id:
            return
        if known is not None:  # its end was reported under another message
            self.ended(session_key, known.message_id, in_order=False)
        run = Run(message_id, source)
        self._under_way[session_key] = run
        search = asyncio.get_running_loop().create_task(self._find_agent(session_key, run))
        self._searches.add(search)
        search.add_done_callback(self._searches.discard)

    def ended(self, session_key: str, message_id: str | None, *, in_order: bool) -> None:
        """Take down that the task of a run is over; one that is not known changes nothing.

        Args:
            session_key: of the run.
            message_id: None: one the gateway started itself.
            in_order: it was waited for, and not cancelled under its agent.
        """
        run = self._under_way.get(session_key)
        if run is None or run.message_id != message_id:
            return
        del self._under_way[session_key]
        run.ended(in_order=in_order)
        if run.is_agent_working:
            self._left_behind.setdefault(session_key, []).append((run, self._monotonic()))
            self._take_back(session_key)

    def session_ended(self, session_id: str) -> None:
        """Take down that the agent of a session says that its run ended."""
        for run in (*self._under_way.values(), *self._all_left_behind()):
            if run.session_id == session_id:
                run.agent_said_end()

    def is_agent_left(self, session_key: str) -> bool:
        """Tell whether an agent of the key is still at work although its run ended.

        What such an agent asks is taken back each time: it may ask after it was interrupted.
        """
        earliest = self._monotonic() - FORGOTTEN_AFTER_S
        working = [
            (run, since)
            for run, since in self._left_behind.pop(session_key, [])
            if run.is_agent_working and since > earliest
        ]
        if working:
            self._left_behind[session_key] = working
            self._take_back(session_key)
        return bool(working)

    async def until_gone(self, session_key: str, run: Run) -> None:
        """Wait until a run is over, and no agent of its key is at work; nothing announces that."""
        await run.has_ended.wait()
        while self.is_agent_left(session_key):  # noqa: ASYNC110 - see above
            await asyncio.sleep(LOOK_EVERY_S)

    def _all_left_behind(self) -> list[Run]:
        return [run for left in self._left_behind.values() for run, _ in left]

    async def _find_agent(self, session_key: str, run: Run) -> None:
        """Look until the gateway has an agent for the run; before, it has a mere placeholder."""
        while not run.has_ended.is_set():
            agents = getattr(self._adapter.gateway_runner, "_running_agents", {})
            agent = agents.get(session_key)
            # The mark is empty for a moment on an agent that ran before.
            if hasattr(agent, "interrupt") and getattr(agent, WORKING_MARK, None) != "":
                run.agent_known(agent)
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(run.has_ended.wait(), LOOK_EVERY_S)
