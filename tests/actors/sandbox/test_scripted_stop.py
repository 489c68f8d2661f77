"""The scripted gateway ends a run as the real one does: first the report, later the agent."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest

from hermes_chatto.actors.sandbox.scripted_gateway import ScriptedGateway
from hermes_chatto.actors.sessions.facts import Person, Place, RoomKind
from hermes_chatto.actors.sessions.ports import (
    DeliveryResult,
    HandOver,
    Outgoing,
    RunOutcome,
    RunStop,
    TurnOrder,
)

THREAD = Place("R1", RoomKind.CHANNEL, "T1")
ORDER = TurnOrder(
    message_id="m1",
    place=THREAD,
    room_name="general",
    author=Person("U1", "alice", "Alice"),
    text="hello",
    posted_at=datetime(2026, 1, 1, tzinfo=UTC),
)


class RecordingDesk:
    """Takes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []
        self.ready = anyio.Event()

    @property
    def tools(self) -> None:
        return None

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        return

    def run_started(self, session_key: str, message_id: str | None) -> None:
        self.told.append((session_key, message_id))

    def run_ended(self, session_key: str, message_id: str | None, outcome: RunOutcome) -> None:
        assert session_key
        self.told.append((str(message_id), outcome))

    def key_ready(self, session_key: str) -> None:
        assert session_key
        self.ready.set()

    async def deliver(self, outgoing: Outgoing) -> DeliveryResult:
        raise AssertionError(outgoing)

    async def show_typing(self, room_id: str, thread_root_id: str | None) -> None:
        raise AssertionError(room_id, thread_root_id)


class Scene:
    """A gateway whose agent has a tool that does not listen."""

    def __init__(self, gateway: ScriptedGateway) -> None:
        self.gateway = gateway
        self.desk = RecordingDesk()
        self.tool = anyio.Event()
        self.key = gateway.session_key(THREAD)
        gateway.agent = self.work
        gateway.serve(self.desk)

    async def work(self, order: TurnOrder) -> None:
        """Run the tool, whatever happens meanwhile."""
        assert order is ORDER
        with anyio.CancelScope(shield=True):
            await self.tool.wait()
        await anyio.sleep_forever()

    async def runs(self) -> None:
        """Let the agent begin."""
        assert await self.gateway.hand_over(ORDER) is HandOver.TAKEN
        await anyio.wait_all_tasks_blocked()

    async def stops(self, within_s: float = 1.0) -> RunStop:
        """Stop the run."""
        return await self.gateway.stop_run(self.key, "m1", within_s=within_s)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    """Nobody runs yet; all are over at the end."""
    async with anyio.create_task_group() as tasks:
        scene = Scene(ScriptedGateway(tasks))
        yield scene
        scene.tool.set()
        tasks.cancel_scope.cancel()


async def test_the_end_is_reported_before_the_agent_is_gone(scene: Scene) -> None:
    """The key is not ready meanwhile, and the one who stops may give up waiting."""
    await scene.runs()

    assert await scene.stops(within_s=0.01) is RunStop.DOES_NOT_END
    assert scene.desk.told[1:] == [("m1", RunOutcome.CANCELLED)]
    assert not scene.gateway.is_ready(scene.key)
    scene.tool.set()
    with anyio.fail_after(1):
        await scene.desk.ready.wait()
    assert scene.desk.told[1:] == [("m1", RunOutcome.CANCELLED)]


async def test_a_stopped_run_leaves_nothing_in_the_transcript(scene: Scene) -> None:
    """No later prompt holds its message."""
    await scene.runs()
    scene.tool.set()

    assert await scene.stops() is RunStop.ENDED
    assert scene.gateway.sessions[scene.key].message_ids == []


async def test_what_was_folded_in_keeps_the_message_there(scene: Scene) -> None:
    """Somebody said something after it."""
    await scene.runs()
    folded = await scene.gateway.hand_over(replace(ORDER, message_id="m2"))
    scene.tool.set()

    assert folded is HandOver.FOLDED
    assert await scene.stops() is RunStop.LEFT_IN_TRANSCRIPT
    assert scene.gateway.sessions[scene.key].message_ids == ["m1", "m2"]


async def test_nothing_runs(scene: Scene) -> None:
    """Neither on a key nobody spoke on, nor of another message."""
    assert await scene.stops() is RunStop.NO_RUN
    await scene.runs()

    assert await scene.gateway.stop_run(scene.key, "m2", within_s=1) is RunStop.NO_RUN


async def test_a_resumed_run_is_stopped_for_any_message(scene: Scene) -> None:
    """The gateway runs it under no ID."""
    scene.gateway.resume(scene.key, ORDER)
    await anyio.wait_all_tasks_blocked()
    scene.tool.set()

    assert await scene.stops() is RunStop.ENDED
