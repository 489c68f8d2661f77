"""Commands that come while the gateway is starting: they wait for it, and go out first."""

from dataclasses import replace

import anyio

from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import Policy, Revisions
from hermes_chatto.actors.sessions.remains import Remains
from hermes_chatto.actors.sessions.services import Limits

from .test_edits import SlowAgent

QUICK = Policy(allowed_user_entries=("alice", "bob"), revisions=Revisions(pause_s=0.02))
STARTING = Script(policy=QUICK, is_gate_open=False)


def given(colleague: Colleague) -> list[str]:
    """Return the commands the gateway got, in order."""
    return [order.text for order in colleague.gateway.commands]


async def test_commands_wait_for_the_gate_and_go_out_in_order(open_colleague: Open) -> None:
    """Each is a step of its row; their words leave it as they go."""
    async with open_colleague(script=STARTING) as colleague:
        m1 = await colleague.says("alice", "@hermes /status now")
        await colleague.until_state(m1, "held")
        m2 = await colleague.says("alice", "@hermes /help", thread=m1)
        await colleague.until_state(m2, "held")
        assert given(colleague) == []
        assert colleague.rows("select message_id from open_turns") == [(m1,), (m2,)]
        colleague.gateway.open_gate()
        await colleague.until(lambda: len(given(colleague)) == 2)

        assert given(colleague) == ["/status now", "/help"]
        assert colleague.story(m1) == ["received", "received -> held", "held -> bypassed"]
        assert colleague.rows("select body from turns") == [(None,), (None,)]


async def test_a_question_behind_a_command_waits_for_it(open_colleague: Open) -> None:
    """Asked after `/new`, it is the first of the new conversation."""
    async with open_colleague(script=STARTING) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "queued")
        m2 = await colleague.says("alice", "@hermes /new", thread=m1)
        await colleague.until_state(m1, "cancelled")
        m3 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m3, "queued")
        colleague.gateway.open_gate()
        await colleague.until_state(m3, "answered")

        assert given(colleague) == ["/new"]
        assert [order.text for order in colleague.gateway.orders] == ["@hermes two"]
        (asked,) = colleague.gateway.orders
        assert "one" not in (asked.context or "")
        assert colleague.state_of(m2) == "bypassed"


async def test_a_stop_reaches_the_run_the_gateway_resumes(open_colleague: Open) -> None:
    """Given before the gate opens, while the run is not there yet; nothing of it is posted."""
    agent = SlowAgent()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        (old,), ((key, session),) = colleague.gateway.orders, colleague.sessions.items()
        await colleague.dies()
        session.remains = Remains.RESUMES
        await colleague.starts(replace(colleague.script, is_gate_open=False))
        await colleague.until_state(m1, "interrupted")
        m2 = await colleague.says("bob", "@hermes /stop", thread=m1)
        await colleague.until_state(m2, "held")
        colleague.gateway.resume(key, old)
        colleague.gateway.open_gate()
        await colleague.until_state(m1, "cancelled")
        await colleague.until(lambda: given(colleague) == ["/stop"])
        agent.go.set()

        assert colleague.state_of(m2) == "bypassed"
        assert m1 not in {answer.in_reply_to for answer in colleague.answers()}


async def test_a_gate_that_stays_shut_fails_the_command(open_colleague: Open) -> None:
    """Where it can be seen; what came behind it goes on waiting."""
    script = replace(STARTING, limits=Limits(gate_wait_s=0.05))
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes /status")
        await colleague.until_state(m1, "failed")
        assert colleague.rows("select reason, body from turns") == [("not_taken", None)]
        m2 = await colleague.says("alice", "@hermes and now?", thread=m1)
        await colleague.until_state(m2, "queued")
        colleague.gateway.open_gate()
        await colleague.until_state(m2, "answered")

        assert given(colleague) == []


async def test_a_command_of_a_dead_process_is_refused(open_colleague: Open) -> None:
    """Only freshly posted ones run."""
    async with open_colleague(script=STARTING) as colleague:
        m1 = await colleague.says("alice", "@hermes /status")
        await colleague.until_state(m1, "held")
        await colleague.dies()
        await colleague.starts(replace(STARTING, is_gate_open=True))
        await colleague.until_state(m1, "refused")

        assert colleague.rows("select reason, body from turns") == [("command", None)]
        assert given(colleague) == []


async def test_a_deleted_command_is_not_given(open_colleague: Open) -> None:
    """Taken back before the gateway could see it."""
    async with open_colleague(script=STARTING) as colleague:
        m1 = await colleague.says("alice", "@hermes /status")
        await colleague.until_state(m1, "held")
        colleague.retracts(m1)
        await colleague.until_state(m1, "retracted")
        colleague.gateway.open_gate()
        m2 = await colleague.says("alice", "@hermes last")
        await colleague.until_state(m2, "answered")
        await anyio.lowlevel.checkpoint()

        assert given(colleague) == []
