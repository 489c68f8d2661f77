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


def scheduling(action: str, **arguments: str) -> str:
    """Return what has the agent use its tool for scheduled jobs; braces would end the marker."""
    wanted = {"name": "cronjob_manage", "arguments": {"action": action, **arguments}}
    told = json.dumps(wanted).replace(json.dumps(SEARCH), SEARCH_ESCAPED)
    return f"@hermes {{{{call tool_call {told}}}}}"


SEARCH_ESCAPED = json.dumps(SEARCH).replace("{", "\\u007b").replace("}", "\\u007d")


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


async def test_a_job_that_reports_here_does_not_hear_it_either() -> None:
    """Somebody in a room schedules what they may not ask."""
    async with open_stage(Screen(io.StringIO()), None, echo) as stage:
        real = RealGateway(stage)
        await real.answer_to(await real.says_alone("the word is heliotrope"))
        make = scheduling("create", name="peek", schedule="every 1d", prompt=SEARCH)
        await real.answer_to(await real.says("bob", make))
        before = len(stage.model.requests)
        await real.answer_to(await real.says("bob", scheduling("run", job_id="peek")))

        def found() -> list[str]:
            asked = [each for each in stage.model.requests[before:] if SEARCH in each.prompt]
            return [each.tool_result for each in asked if each.tool_result]

        async def has_looked() -> bool:
            return bool(found())

        await real.until(has_looked, within_s=60)
        results = found()

    assert "the word is" not in results[0]
    assert "CHATTO_CROSS_SESSION_TOOLS" in results[0]
