# ruff: noqa: SLF001 - what the gateway keeps of its runs is what the port reads
"""Stopping a run, against the gateway's own base class and its own database."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from gateway.config import Platform, PlatformConfig
from gateway.platforms.base import (
    BasePlatformAdapter,
    MessageEvent,
    MessageType,
    ProcessingOutcome,
    SendResult,
)
from gateway.session import SessionSource
from hermes_state import SessionDB  # type: ignore[import-untyped]

from hermes_chatto.actors.hermes.events import key_of_source
from hermes_chatto.actors.hermes.run_control import RunControl
from hermes_chatto.actors.hermes.runs import Runs
from hermes_chatto.actors.sessions.ports import RunStop

KEY = "agent:main:chatto:thread:R1:T1"
SESSION = "20260101_000000_abc"


class Agent:
    """What the gateway runs: writes the message down, and works until it is told to stop."""

    def __init__(self, database: SessionDB, tool: anyio.Event) -> None:
        self.session_id = SESSION
        self._gateway_turn_process_task_id = SESSION
        self.interrupts: list[str] = []
        self._database = database
        self._tool = tool

    def interrupt(self, reason: str) -> None:
        """Take it down; it is looked at when the tool is done."""
        self.interrupts.append(reason)

    async def works(self, event: MessageEvent) -> None:
        """Run a tool."""
        self._database.append_message(
            SESSION, "user", event.text, platform_message_id=event.message_id
        )
        await self._tool.wait()
        self._database.append_message(SESSION, "assistant", "stopped")
        self._gateway_turn_process_task_id = ""


class Runner:
    """The gateway's runner: one agent per key, in a thread of its own."""

    def __init__(self, adapter: BasePlatformAdapter, database: SessionDB) -> None:
        self._running_agents: dict[str, Any] = {}
        self.database = database
        self.tool = anyio.Event()
        """Set: the tool of the agent is done."""
        self.builds = anyio.Event()
        self.builds.set()
        self.threads: list[asyncio.Task[None]] = []
        self.agents: list[Agent] = []
        self.parked: MessageEvent | None = None
        self.events: list[MessageEvent] = []
        self._adapter = adapter

    async def run(self, event: MessageEvent) -> str | None:
        """Carry an event, as a task of the adapter."""
        self.events.append(event)
        if event.internal or event.get_command():
            return None
        self._running_agents[KEY] = object()
        await self.builds.wait()
        agent = Agent(self.database, self.tool)
        self.agents.append(agent)
        self._running_agents[KEY] = agent
        thread = asyncio.get_running_loop().create_task(agent.works(event))
        self.threads.append(thread)
        await asyncio.shield(thread)
        self._running_agents.pop(KEY, None)
        return "an answer"

    async def _interrupt_and_clear_session(
        self, key: str, source: SessionSource, *, interrupt_reason: str, invalidation_reason: str
    ) -> None:
        assert (source.chat_id, invalidation_reason) == ("R1", "chatto_stop")
        self._running_agents.pop(key).interrupt(interrupt_reason)
        if self.parked is not None:
            self._adapter._pending_messages[key] = self.parked

    def _profile_name_for_source(self, source: object, *, adapter_profile: object) -> None:
        del source, adapter_profile


class Adapter(BasePlatformAdapter):  # type: ignore[misc] # Hermes ships no types
    """The gateway's base class, whose hooks tell the runs."""

    def __init__(self) -> None:
        super().__init__(PlatformConfig(enabled=True), Platform("chatto"))
        self.taken_back: list[str] = []
        self.runs = Runs(self, self.taken_back.append)
        self.sent: list[str] = []
        self.outcomes: list[ProcessingOutcome] = []

    async def connect(self, *, is_reconnect: bool = False) -> bool:
        return is_reconnect

    async def disconnect(self) -> None:
        return

    async def send(self, chat_id: str, content: str, *rest: object, **more: object) -> SendResult:
        del chat_id, rest, more
        self.sent.append(content)
        return SendResult(success=True)

    async def get_chat_info(self, chat_id: str) -> dict[str, str]:
        return {"name": chat_id, "type": "channel"}

    async def on_processing_start(self, event: MessageEvent) -> None:
        self.runs.began(key_of_source(self, event.source), event.message_id, event.source)

    async def on_processing_complete(
        self, event: MessageEvent, outcome: ProcessingOutcome
    ) -> None:
        self.outcomes.append(outcome)
        in_order = outcome is not ProcessingOutcome.CANCELLED
        self.runs.ended(key_of_source(self, event.source), event.message_id, in_order=in_order)


class Scene:
    """An adapter, its runner, and the control."""

    def __init__(self, database: SessionDB) -> None:
        self.adapter = Adapter()
        self.runner = Runner(self.adapter, database)
        self.adapter.set_message_handler(self.runner.run)
        untyped: Any = self.adapter
        untyped.gateway_runner = self.runner
        untyped._session_store = SimpleNamespace(
            _db=database, peek_session_id=lambda key: SESSION if key == KEY else None
        )
        self.called_off: list[tuple[str, float]] = []
        self.control = RunControl(self.adapter, self.adapter.runs, self.calls_off)

    async def calls_off(self, session_key: str, since_s: float) -> None:
        """Take down from when on answers are called off."""
        self.called_off.append((session_key, since_s))

    def event(self, text: str, message_id: str | None) -> MessageEvent:
        """Return an event of the thread."""
        source = self.adapter.build_source(chat_id="R1", chat_type="thread", thread_id="T1")
        return MessageEvent(
            text=text, message_type=MessageType.TEXT, source=source, message_id=message_id
        )

    async def runs(self, message_id: str | None = "m1") -> None:
        """Let a message run until its agent works."""
        await self.adapter.handle_message(self.event("the wrong text", message_id))
        with anyio.fail_after(2):
            while not self.texts():  # noqa: ASYNC110 - rows are read from outside
                await anyio.sleep(0.01)

    async def stops(self, message_id: str = "m1", within_s: float = 5.0) -> RunStop:
        """Stop the run of a message."""
        return await self.control.stop(KEY, message_id, within_s=within_s)

    def texts(self) -> list[str]:
        """Return what the next prompt would hold."""
        rows = self.runner.database.get_messages_as_conversation(SESSION)
        return [row["content"] for row in rows]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """A gateway without a run; all are over at the end."""
    database: Any = SessionDB(tmp_path / "state.db")
    database.create_session(SESSION, "chatto")
    scene = Scene(database)
    yield scene
    scene.runner.builds.set()
    scene.runner.tool.set()
    await asyncio.gather(*scene.runner.threads)
    await scene.adapter.cancel_background_tasks()
    scene.adapter.runs.close()
    database.close()


async def test_nothing_runs(scene: Scene) -> None:
    """Nothing is interrupted, nothing taken out."""
    assert await scene.stops() is RunStop.NO_RUN


async def test_the_run_of_another_message_is_left_alone(scene: Scene) -> None:
    """One key, one run; the message in question may have ended meanwhile."""
    await scene.runs("m2")

    assert await scene.stops("m1") is RunStop.NO_RUN
    assert scene.runner.agents[0].interrupts == []


async def test_a_stop_waits_for_the_agent_and_takes_the_message_out(scene: Scene) -> None:
    """The task is over at once, the agent when its tool is."""
    await scene.runs()
    async with anyio.create_task_group() as tasks:

        async def stop() -> None:
            assert await scene.stops() is RunStop.ENDED

        tasks.start_soon(stop)
        with anyio.fail_after(2):
            while not scene.adapter.outcomes:  # noqa: ASYNC110 - the hook tells no test
                await anyio.sleep(0.01)
        assert scene.adapter.runs.is_agent_left(KEY)
        assert scene.texts() == ["the wrong text"]
        scene.runner.tool.set()

    assert scene.texts() == []
    assert scene.adapter.outcomes == [ProcessingOutcome.CANCELLED]
    assert scene.adapter.sent == []
    assert scene.runner.agents[0].interrupts == ["Stop requested"]


async def test_what_a_stopped_run_would_have_said_is_called_off(scene: Scene) -> None:
    """The gateway may have written it down already; what it wrote before the run stays owed."""
    await scene.runs()
    began_at = scene.adapter.runs.under_way(KEY).began_at  # type: ignore[union-attr]
    scene.runner.tool.set()
    await scene.stops()

    assert scene.called_off == [(KEY, began_at)]


@pytest.mark.parametrize("command", ["/stop", "/new"])
async def test_what_a_run_would_have_said_that_a_command_ends_is_called_off(
    scene: Scene, command: str
) -> None:
    """Once it is over; the gateway ends such a run itself."""
    await scene.runs()
    began_at = scene.adapter.runs.under_way(KEY).began_at  # type: ignore[union-attr]
    await scene.control.give(scene.event(command, "m2"), KEY)
    scene.runner.tool.set()
    with anyio.fail_after(5):
        while not scene.called_off:  # noqa: ASYNC110 - done behind the command
            await anyio.sleep(0.01)

    assert scene.called_off == [(KEY, began_at)]


async def test_words_that_an_earlier_process_left_are_taken_out(scene: Scene) -> None:
    """It ended while it stopped the run, and the gateway resumes none that was interrupted."""
    said = scene.runner.database.append_message
    said(SESSION, "user", "before", platform_message_id="m0")
    said(SESSION, "user", "the wrong text", platform_message_id="m1")
    said(SESSION, "user", "[a note of the gateway]")

    assert await scene.control.clear(KEY, "m1") is RunStop.NO_RUN
    assert scene.texts() == ["before"]
    assert await scene.control.clear(KEY, "m1") is RunStop.NO_RUN


async def test_words_that_somebody_answered_since_stay(scene: Scene) -> None:
    """Taken out, they would take along what came after them."""
    said = scene.runner.database.append_message
    said(SESSION, "user", "the wrong text", platform_message_id="m1")
    said(SESSION, "user", "behind", platform_message_id="m2")

    assert await scene.control.clear(KEY, "m1") is RunStop.LEFT_IN_TRANSCRIPT


async def test_an_agent_that_is_being_built_is_waited_for(scene: Scene) -> None:
    """Cancelled before, it would run on by itself with the old text."""
    scene.runner.builds = anyio.Event()
    await scene.adapter.handle_message(scene.event("the wrong text", "m1"))
    stop = asyncio.get_running_loop().create_task(scene.stops())
    await anyio.wait_all_tasks_blocked()
    scene.runner.builds.set()
    scene.runner.tool.set()

    with anyio.fail_after(2):
        assert await stop is RunStop.ENDED
    assert scene.texts() == []


async def test_a_run_that_does_not_end_in_time_is_stopped_all_the_same(scene: Scene) -> None:
    """The stop goes on behind the one who asked, and takes the message out at the end."""
    await scene.runs()

    assert await scene.stops(within_s=0.1) is RunStop.DOES_NOT_END
    assert scene.adapter.runs.is_agent_left(KEY)
    scene.runner.tool.set()
    with anyio.fail_after(2):
        assert await scene.stops() is RunStop.ENDED
    assert scene.texts() == []
    assert await scene.stops() is RunStop.NO_RUN


async def test_who_is_cancelled_leaves_the_stop_to_go_on(scene: Scene) -> None:
    """And who asks again meanwhile waits for the same one."""
    await scene.runs()
    with anyio.move_on_after(0.05):
        await scene.stops()
    second = asyncio.get_running_loop().create_task(scene.stops())
    await anyio.wait_all_tasks_blocked()
    scene.runner.tool.set()

    with anyio.fail_after(2):
        assert await second is RunStop.ENDED
    assert scene.texts() == []
    assert len(scene.runner.agents[0].interrupts) == 1


async def test_a_message_with_something_behind_it_stays(scene: Scene) -> None:
    """What somebody said into the run would go with it."""
    await scene.runs()
    scene.runner.database.append_message(SESSION, "user", "and also", platform_message_id="m2")
    stop = asyncio.get_running_loop().create_task(scene.stops())
    await anyio.wait_all_tasks_blocked()
    scene.runner.tool.set()

    with anyio.fail_after(2):
        assert await stop is RunStop.LEFT_IN_TRANSCRIPT
    assert scene.texts()[:2] == ["the wrong text", "and also"]


async def test_a_resumed_run_is_stopped_for_the_message_it_goes_on_with(scene: Scene) -> None:
    """After a restart the gateway runs it under no ID, with a note of its own."""
    scene.runner.database.append_message(
        SESSION, "user", "the wrong text", platform_message_id="m1"
    )
    await scene.runs(None)
    stop = asyncio.get_running_loop().create_task(scene.stops("m1"))
    await anyio.wait_all_tasks_blocked()
    scene.runner.tool.set()

    with anyio.fail_after(2):
        assert await stop is RunStop.ENDED
    assert scene.texts() == []


async def test_what_the_gateway_had_parked_itself_runs_afterwards(scene: Scene) -> None:
    """The result of work in the background comes once; what people said is ours to keep."""
    wake = scene.event("work in the background is done", None)
    wake.internal = True
    scene.runner.parked = wake
    await scene.runs()
    stop = asyncio.get_running_loop().create_task(scene.stops())
    await anyio.wait_all_tasks_blocked()
    assert wake not in scene.runner.events
    scene.runner.tool.set()

    with anyio.fail_after(2):
        assert await stop is RunStop.ENDED
        while wake not in scene.runner.events:  # noqa: ASYNC110 - the runner tells no test
            await anyio.sleep(0.01)


async def test_a_command_that_ends_the_run_waits_for_its_agent(scene: Scene) -> None:
    """Any other goes at once: an approval, say, is what the agent waits for."""
    scene.runner.builds = anyio.Event()
    await scene.adapter.handle_message(scene.event("a question", "m1"))
    stop, status = scene.event("/stop", "m2"), scene.event("/status", "m3")
    given = asyncio.get_running_loop().create_task(scene.control.give(stop, KEY))
    await scene.control.give(status, KEY)

    assert scene.runner.events[-1] is status
    scene.runner.builds.set()
    scene.runner.tool.set()
    with anyio.fail_after(2):
        await given
    assert scene.runner.events[-1] is stop
