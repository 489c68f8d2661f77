"""One gateway process, two profiles: two agents on one server that share nothing."""

import io
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import open_stage
from hermes_chatto.actors.sandbox.model import echo
from hermes_chatto.actors.sandbox.state_file import StateFile
from hermes_chatto.actors.sessions.facts import Message

from .conftest import RealGateway

pytestmark = pytest.mark.timeout(150)  # the first one waits for the gateway

SECOND = "dave"
"""Login of the second agent, and name of its profile."""


@pytest.fixture(scope="module")
async def gateway() -> AsyncIterator[RealGateway]:
    """Start a gateway that serves both, and wait until both are connected."""
    async with open_stage(Screen(io.StringIO()), None, echo, second=SECOND) as stage:
        real = RealGateway(stage)

        async def is_live() -> bool:
            health = stage.gateway.state_of(SECOND).health()
            return health is not None and health.connection == "live"

        await real.until(is_live, within_s=60)
        yield real


def turns_of(state: StateFile) -> list[tuple[object, ...]]:
    """Return of each turn the profile, the message, what became of it and its session."""
    return state.rows("select scope, message_id, state, session_key from turns order by rowid")


async def answers_to(gateway: RealGateway, message_id: str, count: int) -> list[Message]:
    """Wait until a message has so many answers in its thread, and return them."""
    found = list[Message]()

    async def is_answered() -> bool:
        posts = await gateway.thread(message_id)
        found[:] = [post for post in posts if post.in_reply_to == message_id]
        return len(found) >= count

    await gateway.until(is_answered, within_s=60)
    return found


async def test_each_agent_answers_what_is_meant_for_it(gateway: RealGateway) -> None:
    """With its own account, from its own state file (handed S45)."""
    his = await gateway.says("alice", "@hermes {{say one}}")
    hers = await gateway.says("alice", f"@{SECOND} {{{{say two}}}}")
    (one,) = await answers_to(gateway, his, 1)
    (two,) = await answers_to(gateway, hers, 1)

    assert (one.body, two.body) == ("one", "two")
    assert one.author_id == gateway.stage.scene.agent_id != two.author_id
    first, second = gateway.stage.gateway.state, gateway.stage.gateway.state_of(SECOND)
    ((scope, message_id, _, key),) = turns_of(first)
    ((other_scope, other_id, _, other_key),) = turns_of(second)
    assert (scope, message_id) == ("default", his)
    assert (other_scope, other_id) == (SECOND, hers)
    assert str(key).startswith("agent:main:")
    assert str(other_key).startswith(f"agent:{SECOND}:")


async def test_a_message_for_both_is_answered_by_both(gateway: RealGateway) -> None:
    """Once each, in the same thread."""
    both = await gateway.says("bob", f"@hermes @{SECOND} {{{{say here}}}}")
    answers = await answers_to(gateway, both, 2)

    assert [answer.body for answer in answers] == ["here", "here"]
    assert len({answer.author_id for answer in answers}) == 2
    await anyio.lowlevel.checkpoint()
    assert len(await gateway.thread(both)) == 3


async def test_neither_complains(gateway: RealGateway) -> None:
    """No secret of one was looked for in the other's scope."""
    await gateway.until_idle()

    assert gateway.complaints() == []


async def test_two_profiles_on_two_servers_each_have_their_own() -> None:
    """The same names are other rooms and people there; a tool's thread knows whose it is, too."""
    wanted = json.dumps({"name": "chatto_read_room", "arguments": {}})
    async with open_stage(
        Screen(io.StringIO()), None, echo, second=SECOND, is_apart=True
    ) as stage:
        assert stage.elsewhere is not None
        first, second = RealGateway(stage), RealGateway(replace(stage, scene=stage.elsewhere))
        results = dict[str, str]()
        for real, login in ((first, "hermes"), (second, SECOND)):
            await real.says("bob", f"what only the server of {login} knows")
            asked = await real.says("alice", f"@{login} {{{{call tool_call {wanted}}}}}")
            answer = await real.answer_to(asked)
            assert answer.author_id == real.stage.scene.agent_id
            newest = [each.tool_result for each in stage.model.requests if each.tool_result]
            results[login] = str(newest[-1])
        rows = [turns_of(stage.gateway.state), turns_of(stage.gateway.state_of(SECOND))]

    assert "the server of hermes knows" in results["hermes"]
    assert f"the server of {SECOND} knows" in results[SECOND]
    assert "the server of hermes" not in results[SECOND]
    assert [[row[0] for row in each] for each in rows] == [["default"], [SECOND]]
