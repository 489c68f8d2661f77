"""The agent's tools and the rooms' toolsets on the real gateway, bridge and all."""

import io
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import open_stage
from hermes_chatto.actors.sandbox.model import Request, echo

from .conftest import RealGateway
from .puppet import CONFIG, install

pytestmark = pytest.mark.timeout(150)  # the first one waits for the gateway

ROOM = "workshop"
EXTRA: Mapping[str, object] = {
    "room_toolsets": {ROOM: ["todo", "chatto", "delegation"]},
    "post_tool": True,
    "channel_prompts": {ROOM: "Speak of tulips."},
}
CONFIGURED = {**CONFIG, "platforms": {"chatto": {"enabled": True, "extra": EXTRA}}}


@dataclass(frozen=True)
class Workshop:
    """A gateway in which one room has tools of its own."""

    real: RealGateway

    @property
    def requests(self) -> Sequence[Request]:
        """What agents asked the model."""
        return [each for each in self.real.stage.model.requests if each.tools]

    async def calls(self, tool: str, arguments: Mapping[str, object], *, direct: bool) -> str:
        """Let Alice ask for a tool to be called, and return what the model got of it."""
        before = len(self.requests)
        call = f"{tool} {json.dumps(arguments)}"
        body = f"@hermes {{{{wait 0}}}} {{{{call {call}}}}}"
        if direct:
            await self.real.answer_to(await self.real.says_alone(body))
        else:
            await self.real.answer_to(await self.real.says("alice", body))
        asked = [each for each in self.requests[before:] if call in each.question]
        return str([each.tool_result for each in asked if each.tool_result][-1])

    async def bridged(
        self, tool: str, arguments: Mapping[str, object], *, direct: bool = False
    ) -> str:
        """Call a tool as the gateway offers those of plugins."""
        wrapped = {"name": tool, "arguments": arguments}
        return await self.calls("tool_call", wrapped, direct=direct)


@pytest.fixture(scope="module")
async def workshop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workshop]:
    """Start a gateway with a second plugin: some ten seconds."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", install(tmp_path_factory.mktemp("puppet")))
        async with open_stage(Screen(io.StringIO()), None, echo, CONFIGURED) as stage:
            yield Workshop(RealGateway(stage))


async def test_a_room_is_read_on_behalf_of_who_asks(workshop: Workshop) -> None:
    """The handler finds the run, the rows the asker, the server whether she is in the room."""
    await workshop.real.says("bob", "the tulips are yellow")

    result = json.loads(await workshop.bridged("chatto_read_room", {}))

    assert "- Bob: the tulips are yellow" in [each["text"] for each in result["messages"]]
    assert result["room"]["name"] == ROOM


async def test_another_room_is_not_read(workshop: Workshop) -> None:
    """Whether it exists or not."""
    result = json.loads(await workshop.bridged("chatto_read_room", {"room": "nowhere"}))

    assert result["error"].startswith("Refused: there is no room 'nowhere'")


async def test_tools_outside_of_the_rooms_list_are_blocked(workshop: Workshop) -> None:
    """Built in, by a name the model makes up; of another plugin, behind the bridge."""
    terminal = await workshop.calls("terminal", {"command": "echo tulip"}, direct=False)
    offered = {tool for each in workshop.requests for tool in each.tools}

    assert "terminal" not in offered
    assert "tulip" not in terminal


async def test_elsewhere_the_platforms_toolsets_hold(workshop: Workshop) -> None:
    """A room that is not listed has no opinion: here a direct conversation."""
    result = await workshop.calls("terminal", {"command": "echo tu''lip"}, direct=True)

    assert "tulip" in result


async def test_a_tool_that_is_offered_all_the_same_is_blocked(workshop: Workshop) -> None:
    """A plugin's toolset survives a list that does not name it; the gate does not let it."""
    alone = await workshop.bridged("stray", {"seconds": 0}, direct=True)
    here = await workshop.bridged("stray", {"seconds": 0})

    assert "waited" in alone
    assert "stray is not among the tools of this room" in here


async def test_a_run_in_the_background_is_bounded_like_its_room(workshop: Workshop) -> None:
    """There the gateway binds no session to what runs."""
    before = len(workshop.requests)
    call = json.dumps({"name": "stray", "arguments": {"seconds": 0}})
    await workshop.real.says("alice", f"@hermes /bg {{{{call tool_call {call}}}}}")

    async def is_done() -> bool:
        return any(each.tool_result for each in workshop.requests[before:])

    await workshop.real.until(is_done, 40.0)
    (result,) = [each.tool_result for each in workshop.requests[before:] if each.tool_result]
    assert "stray is not among the tools of this room" in str(result)


@pytest.mark.parametrize("tool", ["terminal", "stray"])
async def test_a_child_agent_is_bounded_like_its_room(workshop: Workshop, tool: str) -> None:
    """Neither what its parent was not offered, nor what it is offered all the same."""
    before = len(workshop.requests)
    inner = {"terminal": {"command": "echo tu''lip"}, "stray": {"seconds": 0}}[tool]
    wrapped = {"name": tool, "arguments": inner} if tool == "stray" else inner
    goal = f"{{{{call {'tool_call' if tool == 'stray' else tool} {json.dumps(wrapped)}}}}}"
    # Braces of the inner marker would end the outer one.
    told = json.dumps(goal).replace("{", "\\u007b").replace("}", "\\u007d")
    await workshop.real.answer_to(
        await workshop.real.says("alice", f'@hermes {{{{call delegate_task {{"goal": {told}}}}}}}')
    )

    def results() -> list[str]:
        return [str(each.tool_result) for each in workshop.requests[before:] if each.tool_result]

    refusals = {"terminal": "does not exist", "stray": "stray is not among the tools of this room"}

    async def is_refused() -> bool:
        return any(refusals[tool] in result for result in results())

    # A child may work on beside its parent.
    await workshop.real.until(is_refused, 40.0)
    assert not any("tulip" in result or "waited" in result for result in results())


async def test_a_room_has_its_prompt(workshop: Workshop) -> None:
    """In what the model is told as the system, there and nowhere else."""
    await workshop.real.answer_to(await workshop.real.says("alice", "@hermes {{say here}}"))
    here = json.dumps(list(workshop.requests[-1].messages))
    await workshop.real.answer_to(await workshop.real.says_alone("{{say there}}"))
    there = json.dumps(list(workshop.requests[-1].messages))

    assert "Speak of tulips." in here
    assert "Speak of tulips." not in there
    assert "You are in Chatto" in here


async def test_the_tool_that_posts_has_a_toolset_of_its_own(workshop: Workshop) -> None:
    """Switched on it is there, but not in a room whose list does not name it."""
    there = {"text": "a message from alice", "room": ROOM}
    posted = json.loads(await workshop.bridged("chatto_post", there, direct=True))
    here = await workshop.bridged("chatto_post", {"text": "hello"})

    scene = workshop.real.stage.scene
    found = await scene.people["bob"].read(scene.room_id, posted["posted"][0])
    assert found is not None
    assert (found.body, found.thread_root_id) == ("a message from alice", None)
    assert "chatto_post is not among the tools of this room" in here


async def test_a_command_of_ours_is_answered_during_a_run(workshop: Workshop) -> None:
    """The gateway would have given it to the run."""
    m1 = await workshop.real.says("alice", "@hermes {{wait 8}} {{say slow}}")
    await workshop.real.until_at(m1, "handed -> processing")
    m2 = await workshop.real.says("alice", "/why", thread=m1)
    why = await workshop.real.answer_to(m2)
    await workshop.real.answer_to(m1)

    assert why.body.endswith("I am at it.")
    assert [each.body for each in await workshop.real.thread(m1)][-1] == "slow"
