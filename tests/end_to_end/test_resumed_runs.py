"""Runs that the end of the gateway's process interrupts, and that its next start resumes."""

import io
import signal
from collections.abc import AsyncIterator

import anyio
import pytest

from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import open_stage
from hermes_chatto.actors.sandbox.model import echo

from .conftest import RealGateway

pytestmark = pytest.mark.timeout(150)  # each start takes some ten seconds


@pytest.fixture(scope="module")
async def mortal() -> AsyncIterator[RealGateway]:
    """Start a gateway that is ended and started again."""
    async with open_stage(Screen(io.StringIO()), None, echo) as stage:
        yield RealGateway(stage)


@pytest.mark.parametrize(
    ("number", "left"),
    [
        (signal.SIGKILL, ("processing", None)),
        (signal.SIGTERM, ("interrupted", "process_ended")),
    ],
)
async def test_a_resumed_answer_is_that_of_its_question(
    mortal: RealGateway, number: signal.Signals, left: tuple[str, str | None]
) -> None:
    """It comes once, points at the question, ends its turn, and is not told to its author."""
    m1 = await mortal.says("alice", "@hermes {{wait 0}} {{say first}}")
    await mortal.answer_to(m1)
    m2 = await mortal.says("alice", f"@hermes {number.name} {{{{wait 20}}}}", thread=m1)
    model, gateway = mortal.stage.model, mortal.stage.gateway
    with anyio.fail_after(20):
        while not any(number.name in each.question for each in model.requests):  # noqa: ASYNC110
            await anyio.sleep(0.05)  # another process asks
    # The gateway takes note of a run some 50 ms after it began, and resumes no other. Another one
    # that has come to its end began later.
    await mortal.answer_to(await mortal.says_alone("{{wait 0}} {{say meanwhile}}"))
    await (gateway.kill() if number is signal.SIGKILL else gateway.stop())
    assert mortal.rows("select state, reason from turns where message_id = ?", m2) == [left]

    await gateway.start_again()
    a2 = await mortal.answer_to(m2, within_s=60)
    m3 = await mortal.says("alice", "@hermes {{wait 0}} {{say after}}", thread=m1)
    await mortal.answer_to(m3)
    await mortal.until_idle()

    own = [each for each in await mortal.thread(m1) if each.author_id == a2.author_id]
    assert [each.in_reply_to for each in own] == [m1, m2, m3]
    assert mortal.story(m2)[-1] == "delivering -> answered"
    assert mortal.rows("select 1 from outbox where kind = 'other'") == []
    (told,) = [each.prompt for each in model.requests if "{{say after}}" in each.question][-1:]
    assert "(this bot)" not in told


async def test_a_command_given_while_the_gateway_starts_is_answered(mortal: RealGateway) -> None:
    """Connected, the plugin hears it, mostly, before the gateway takes anything."""
    gateway = mortal.stage.gateway
    await gateway.stop()
    await gateway.start_again()
    with anyio.fail_after(60):
        while mortal.rows("select state from connection") != [("live",)]:  # noqa: ASYNC110
            await anyio.sleep(0.02)  # another process connects
    m1 = await mortal.says("alice", "@hermes /status")
    await mortal.answer_to(m1, within_s=60)

    assert mortal.story(m1)[-1] in {"held -> bypassed", "received -> bypassed"}
