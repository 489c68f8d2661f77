"""A run is over when its task is, and a key is free when the agent is gone as well."""

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from hermes_chatto.actors.hermes.runs import FORGOTTEN_AFTER_S, Run, Runs

KEY = "agent:main:chatto:thread:R1:T1"
SOURCE: Any = SimpleNamespace(chat_id="R1")


class Agent:
    """The gateway's agent, as far as it is looked at."""

    def __init__(self, mark: str | None = "s1") -> None:
        self.session_id = "s1"
        if mark is not None:  # 0.19 has none
            self._gateway_turn_process_task_id = mark

    def interrupt(self) -> None:
        """Be told to stop."""

    def leaves(self) -> None:
        """Let its thread end."""
        self._gateway_turn_process_task_id = ""


class Scene:
    """The runs of an adapter whose runner is in the test's hands."""

    def __init__(self) -> None:
        self.agents: dict[str, object] = {}
        self.taken_back: list[str] = []
        self.now = 0.0
        adapter: Any = SimpleNamespace(gateway_runner=SimpleNamespace(_running_agents=self.agents))
        self.runs = Runs(adapter, self.taken_back.append, lambda: self.now)

    async def begins(self, agent: object | None, message_id: str | None = "m1") -> Run:
        """Let a run begin, and the gateway name its agent."""
        self.runs.began(KEY, message_id, SOURCE)
        run = self.runs.under_way(KEY)
        assert run is not None
        if agent is not None:
            self.agents[KEY] = agent
            with anyio.fail_after(1):
                await run.can_be_interrupted.wait()
        return run


@pytest.fixture
def scene() -> Scene:
    """Nobody runs yet."""
    return Scene()


async def test_a_run_that_was_waited_for_leaves_nobody(scene: Scene) -> None:
    """The usual end: the thread is gone before the task."""
    agent = Agent()
    await scene.begins(agent)

    agent.leaves()
    scene.runs.ended(KEY, "m1", in_order=True)

    assert scene.runs.under_way(KEY) is None
    assert not scene.runs.is_agent_left(KEY)
    assert scene.taken_back == []


async def test_an_agent_that_still_works_keeps_the_key(scene: Scene) -> None:
    """Its tool may take seconds; the gateway would complain about the next turn."""
    agent = Agent()
    run = await scene.begins(agent)
    scene.runs.ended(KEY, "m1", in_order=False)

    assert scene.taken_back == [KEY]
    assert scene.runs.is_agent_left(KEY)
    assert scene.taken_back == [KEY, KEY]  # it may have asked its person in between
    agent.leaves()
    with anyio.fail_after(1):
        await scene.runs.until_gone(KEY, run)
    assert not scene.runs.is_agent_left(KEY)


async def test_a_placeholder_is_no_agent(scene: Scene) -> None:
    """The gateway holds the key with one while the agent is built."""
    scene.agents[KEY] = object()
    run = await scene.begins(None)
    with anyio.move_on_after(0.1):
        await run.can_be_interrupted.wait()

    assert not run.can_be_interrupted.is_set()
    scene.agents[KEY] = Agent()
    with anyio.fail_after(1):
        await run.can_be_interrupted.wait()
    assert run.is_agent_working


async def test_an_agent_of_an_earlier_run_is_waited_for_until_it_works(scene: Scene) -> None:
    """It is used again, and is idle for a moment after it was named."""
    agent = Agent(mark="")
    scene.agents[KEY] = agent
    run = await scene.begins(None)
    await anyio.wait_all_tasks_blocked()

    assert not run.can_be_interrupted.is_set()
    agent._gateway_turn_process_task_id = "s1"  # noqa: SLF001 - as the gateway does
    with anyio.fail_after(1):
        await run.can_be_interrupted.wait()


async def test_a_run_without_an_agent_ends_by_its_task(scene: Scene) -> None:
    """A command, or one that was refused."""
    run = await scene.begins(None)

    scene.runs.ended(KEY, "m1", in_order=False)

    with anyio.fail_after(1):
        await scene.runs.until_gone(KEY, run)
    assert run.can_be_interrupted.is_set()


async def test_an_older_gateway_tells_of_the_end_by_its_hook(scene: Scene) -> None:
    """0.19 marks no agent."""
    await scene.begins(Agent(mark=None))
    scene.runs.ended(KEY, "m1", in_order=False)

    scene.runs.session_ended("another")
    assert scene.runs.is_agent_left(KEY)
    scene.runs.session_ended("s1")
    assert not scene.runs.is_agent_left(KEY)


async def test_an_older_gateway_waits_for_the_agent_of_a_run_that_is_not_cancelled(
    scene: Scene,
) -> None:
    """Some ends have no hook, as when the agent raises."""
    await scene.begins(Agent(mark=None))

    scene.runs.ended(KEY, "m1", in_order=True)

    assert not scene.runs.is_agent_left(KEY)


async def test_the_hook_alone_frees_no_key_where_there_is_a_better_sign(scene: Scene) -> None:
    """It comes before the agent gives the session back."""
    agent = Agent()
    await scene.begins(agent)
    scene.runs.ended(KEY, "m1", in_order=False)

    scene.runs.session_ended("s1")

    assert scene.runs.is_agent_left(KEY)
    agent.leaves()
    assert not scene.runs.is_agent_left(KEY)


async def test_an_agent_that_never_ends_is_forgotten(scene: Scene) -> None:
    """As the gateway itself does; else the key would be lost for good."""
    await scene.begins(Agent())
    scene.runs.ended(KEY, "m1", in_order=False)

    scene.now = FORGOTTEN_AFTER_S + 1

    assert not scene.runs.is_agent_left(KEY)


async def test_a_hand_over_and_its_start_are_one_run(scene: Scene) -> None:
    """Both are told; what ends under another name changes nothing."""
    first = await scene.begins(Agent())
    scene.runs.began(KEY, "m1", SOURCE)
    scene.runs.ended(KEY, "m2", in_order=True)

    assert scene.runs.find(KEY, "m1") is first
    assert scene.runs.find(KEY, "m2") is None
    scene.runs.close()


async def test_a_run_of_the_gateway_itself_counts_as_that_of_any_message(scene: Scene) -> None:
    """It goes on, after a restart, with what the key had."""
    run = await scene.begins(Agent(), None)

    assert scene.runs.find(KEY, "m1") is run
    scene.runs.close()


async def test_a_run_whose_end_was_not_told_ends_with_the_next_one(scene: Scene) -> None:
    """Nobody waits for it any more, and its agent keeps the key."""
    agent = Agent()
    first = await scene.begins(agent)
    second = await scene.begins(Agent(), "m2")

    assert first.has_ended.is_set()
    assert scene.runs.under_way(KEY) is second
    assert scene.runs.is_agent_left(KEY)
    scene.runs.close()
