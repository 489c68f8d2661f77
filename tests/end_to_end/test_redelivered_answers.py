"""Answers that the end of the gateway's process cuts, and that its next start hands over again."""

import io
from collections.abc import AsyncIterator

import pytest

from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import open_stage
from hermes_chatto.actors.sandbox.model import echo

from .conftest import RealGateway

pytestmark = pytest.mark.timeout(150)  # each start takes some ten seconds

AGAIN = "the gateway hands its text over once more"


@pytest.fixture(scope="module")
async def mortal() -> AsyncIterator[RealGateway]:
    """Start a gateway that is killed and started again."""
    async with open_stage(Screen(io.StringIO()), None, echo) as stage:
        yield RealGateway(stage)


async def test_an_answer_cut_by_a_kill_stands_there_once(mortal: RealGateway) -> None:
    """The gateway's line never shows, no part comes twice, and the turn is answered."""
    m1 = await mortal.says("alice", "@hermes {{wait 0}} {{length 400000}}")
    await mortal.answer_to(m1)
    await mortal.stage.gateway.kill()
    before = mortal.rows("select count(*) from outbox where message_id is not null")
    ((planned,),) = mortal.rows("select count(*) from outbox")
    await mortal.stage.gateway.start_again()

    async def is_handed_over_again() -> bool:
        return AGAIN in mortal.stage.gateway.logs[0].read_text(encoding="utf-8")

    await mortal.until(is_handed_over_again, 60)
    await mortal.until_idle()

    own = mortal.stage.scene.agent_id
    posts = [each.body for each in await mortal.thread(m1) if each.author_id == own]
    assert before < [(planned,)], "the kill came too late to cut anything"
    assert len(posts) == planned == len(set(posts))
    assert mortal.rows("select state, reason from turns") == [("answered", None)]
    lines = [line for post in posts for line in post.split("\n")]
    assert len(lines) == len(set(lines))
    assert "♻" not in posts[0]
