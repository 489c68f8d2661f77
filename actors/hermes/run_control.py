"""Stop a run, and know when it is really over.

The order is the gateway's: interrupt the agent, cancel the task, wait for the agent's thread,
and only then touch the transcript. Cancelled without the interrupt, the agent goes on; with it
but without the cancellation, the next answer of the key is lost.
Source: Hermes 0.22, gateway/run_agent_cache.py:_interrupt_and_clear_session,
gateway/platforms/base.py:cancel_session_processing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
import anyio.to_thread
from gateway.platforms.base import BasePlatformAdapter, MessageEvent

from ..sessions.ports import RunStop
from .runs import LOOK_EVERY_S, Run, Runs
from .transcript import Removal, Transcript, TranscriptBusyError

__all__ = ["RunControl"]

logger = logging.getLogger(__name__)

INTERRUPT_REASON = "Stop requested"
"""One of the gateway's own reasons: any other text it could run as the next message.
Source: Hermes 0.19 and 0.22, gateway/run.py:_is_control_interrupt_message."""

TAKE_OUT_WITHIN_S = 5.0  # the gateway's own writers may hold the file for a moment
ENDING_COMMANDS = frozenset({"stop", "new", "reset"})  # they end the run under way
COMMAND_WAITS_S = 15.0  # the first agent of a process takes up to eleven seconds to be built


class RunControl:
    """Stops the runs of one adapter object. Lives in one event loop."""

    def __init__(
        self,
        adapter: BasePlatformAdapter,
        runs: Runs,
        call_off_answers: Callable[[str, float], Awaitable[None]],
    ) -> None:
        """Stop what `runs` knows.

        Args:
            adapter: whose base class and runner carry the runs.
            runs: told about every run of it.
            call_off_answers: has the gateway not hand over what it wrote down for a session key
                since a moment, seconds of the epoch.
        """
        self._adapter = adapter
        self._runs = runs
        self._call_off_answers = call_off_answers
        self._stops: dict[tuple[str, str], asyncio.Task[RunStop]] = {}
        """Stops under way, by session key and message; who asks again waits for the same one."""
        self._calls: set[asyncio.Task[None]] = set()

    async def stop(self, session_key: str, message_id: str, *, within_s: float) -> RunStop:
        """Stop the run of a message; see `Gateway.stop_run`.

        The work goes on in a task of its own when the caller is cancelled or waits no longer:
        half an interrupt would leave a run that nobody ends.
        """
        stop = self._stops.get((session_key, message_id))
        if stop is None:
            run = self._runs.find(session_key, message_id)
            if run is None:
                return RunStop.NO_RUN
            stop = self._begin(session_key, run, message_id)
        with anyio.move_on_after(within_s):
            return await asyncio.shield(stop)
        return RunStop.DOES_NOT_END

    async def clear(self, session_key: str, message_id: str) -> RunStop:
        """Take the message of a run that is over out of the transcript.

        A process that ends while it stops a run leaves the message there, and the gateway does
        not resume what was interrupted.

        Returns:
            `NO_RUN`, or `LEFT_IN_TRANSCRIPT`.
        """
        stop = await self._take_out(session_key, None, message_id)
        return RunStop.NO_RUN if stop is RunStop.ENDED else stop

    async def give(self, event: MessageEvent, session_key: str) -> None:
        """Give an event to a key that is busy.

        A command that ends the run waits until an interrupt reaches it, 15 s at most: before
        its agent is there the gateway ends the run's task alone, and the thread that builds the
        agent goes on with all its calls.
        """
        run = self._runs.under_way(session_key)
        if run is None or event.get_command() not in ENDING_COMMANDS:
            await self._adapter.handle_message(event)
            return
        with anyio.move_on_after(COMMAND_WAITS_S):
            await run.can_be_interrupted.wait()
        await self._adapter.handle_message(event)
        self._in_background(self._call_off(session_key, run))

    async def _call_off(self, session_key: str, run: Run) -> None:
        """See to it, once a run is over, that nothing it said comes later."""
        await self._runs.until_gone(session_key, run)
        await self._call_off_answers(session_key, run.began_at)

    def _begin(self, session_key: str, run: Run, message_id: str) -> asyncio.Task[RunStop]:
        stop = asyncio.get_running_loop().create_task(self._stop(session_key, run, message_id))
        self._stops[session_key, message_id] = stop

        def done(_: object) -> None:
            del self._stops[session_key, message_id]

        stop.add_done_callback(done)
        return stop

    async def _stop(self, session_key: str, run: Run, message_id: str) -> RunStop:
        await run.can_be_interrupted.wait()
        parked = await self._end(session_key, run)
        await self._runs.until_gone(session_key, run)
        try:
            stop = await self._take_out(session_key, run, message_id)
            await self._call_off_answers(session_key, run.began_at)
            return stop
        finally:
            if parked is not None:
                # The gateway's own, say the result of work in the background; it comes but once.
                self._in_background(self._adapter.handle_message(parked))

    async def _end(self, session_key: str, run: Run) -> MessageEvent | None:
        """End the task, and let the agent know; return what the gateway had parked itself."""
        if run.has_ended.is_set():
            return None
        runner: Any = self._adapter.gateway_runner  # set before the first event
        await runner._interrupt_and_clear_session(  # noqa: SLF001
            session_key,
            run.source,
            interrupt_reason=INTERRUPT_REASON,
            invalidation_reason="chatto_stop",
        )
        parked = self._adapter.get_pending_message(session_key)
        await self._adapter.cancel_session_processing(session_key)
        return parked if getattr(parked, "internal", False) else None

    async def _take_out(self, session_key: str, run: Run | None, message_id: str) -> RunStop:
        """Take the message out of the transcript; nothing writes there any more.

        Without a run of its own, behind its message may stand notes about the run's end.
        """
        transcript = Transcript(self._adapter._session_store)  # noqa: SLF001 - given to adapters

        def take_out() -> Removal:
            session_id = run.session_id if run else None
            session_id = session_id or transcript.current_session(session_key)
            if session_id is None:
                return Removal.NOT_THERE
            with_notes = run is None or run.message_id is None
            return transcript.take_out(session_id, message_id, with_notes=with_notes)

        why = "it is not the last one"
        with anyio.move_on_after(TAKE_OUT_WITHIN_S):
            while True:
                try:
                    removal = await anyio.to_thread.run_sync(take_out)
                    break
                except TranscriptBusyError as error:
                    why = str(error)
                await asyncio.sleep(LOOK_EVERY_S)
            if removal is Removal.NOT_THERE:
                return RunStop.ENDED
        logger.warning("Message %s stays in its session's transcript: %s", message_id, why)
        return RunStop.LEFT_IN_TRANSCRIPT

    def _in_background(self, call: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(call)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
