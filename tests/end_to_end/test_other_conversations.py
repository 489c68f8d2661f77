"""What is said to the agent in private stays there, on the real gateway with its own tools."""

import io
import json
from collections.abc import Mapping

import pytest

from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import open_stage
from hermes_chatto.actors.sandbox.model import echo

from .conftest import RealGateway

pytestmark = pytest.mark.timeout(150)  # each starts a gateway

WANTED = {"name": "session_search", "arguments": {"query": "heliotrope"}}
SEARCH = f"{{{{call tool_call {json.dumps(WANTED)}}}}}"


async def what_search_finds(extra: Mapping[str, object]) -> str:
    """Let Alice say something in private, Bob have the agent look for it; return what it got."""
    config = {"platforms": {"chatto": {"enabled": True, "extra": extra}}}
    async with open_stage(Screen(io.StringIO()), None, echo, config) as stage:
        real = RealGateway(stage)
        await real.answer_to(await real.says_alone("the word is heliotrope"))
        await real.answer_to(await real.says("bob", f"@hermes {SEARCH}"))
        results = [each.tool_result for each in stage.model.requests if each.tool_result]
    return str(results[-1])


async def test_a_room_does_not_hear_what_was_said_in_private() -> None:
    """The gateway offers the tool by itself; the one sentence it gets names the setting."""
    found = await what_search_finds({})

    assert "the word is" not in found
    assert "CHATTO_CROSS_SESSION_TOOLS" in found


async def test_the_operator_may_have_all_conversations_searched() -> None:
    """A team that has no secrets from each other."""
    assert "the word is heliotrope" in await what_search_finds({"cross_session_tools": True})
