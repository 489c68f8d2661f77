"""An edit or a deletion inside a gap takes effect on turns that are not over."""

from dataclasses import replace

import anyio
import pytest

from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import POLICY, Open, Script
from hermes_chatto.actors.sessions.policy import EditedUnseen, Revisions
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.tests.actors.sessions.gaps import QUICK, READ, asked, cut, ends, live_again

ANSWERED = replace(POLICY, revisions=Revisions(pause_s=0.01, unseen=EditedUnseen.ANSWER))
SHUT = Script(limits=QUICK, is_gate_open=False)


class Slow:
    """An agent that answers when told to."""

    def __init__(self) -> None:
        """Wait."""
        self.go = anyio.Event()

    async def __call__(self, order: TurnOrder) -> str:
        """Answer "ok: " and the message."""
        await self.go.wait()
        return f"ok: {order.text}"


async def test_a_waiting_question_that_was_deleted_never_runs(open_colleague: Open) -> None:
    """Nobody announced it; the read says so."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "queued")
        await cut(colleague)
        colleague.retracts(m1)
        await colleague.until_state(m1, "retracted")
        colleague.gateway.open_gate()
        m2 = await colleague.says("alice", "@hermes two")
        await colleague.until_state(m2, "answered")

        assert asked(colleague) == ["@hermes two"]


async def test_a_waiting_question_that_was_edited_is_refused(open_colleague: Open) -> None:
    """Nobody knows whose words it has now."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "queued")
        await cut(colleague)
        await colleague.edits("alice", m1, "@hermes two")
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "edited_unseen")


async def test_a_waiting_question_that_was_edited_runs_with_its_new_words(
    open_colleague: Open,
) -> None:
    """`CHATTO_EDITED_UNSEEN=answer`."""
    async with open_colleague(script=replace(SHUT, policy=ANSWERED)) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "queued")
        before = await cut(colleague)
        await colleague.edits("alice", m1, "@hermes two")
        await live_again(colleague, before)
        await colleague.until(
            lambda: colleague.rows("select body from turns") == [("@hermes two",)]
        )
        colleague.gateway.open_gate()
        await colleague.until_state(m1, "answered")

        assert asked(colleague) == ["@hermes two"]


async def test_a_run_whose_question_was_deleted_is_stopped(open_colleague: Open) -> None:
    """As it is when the deletion is announced."""
    agent = Slow()
    async with open_colleague(script=Script(limits=QUICK, agent=agent)) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "processing")
        await cut(colleague)
        colleague.retracts(m1)
        await colleague.until_state(m1, "retracted")

        assert colleague.answers() == []


async def test_a_run_whose_question_was_edited_is_corrected(open_colleague: Open) -> None:
    """Where words of an unseen edit count as the author's."""
    agent = Slow()
    script = Script(limits=QUICK, agent=agent, policy=ANSWERED)
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "processing")
        await cut(colleague)
        await colleague.edits("alice", m1, "@hermes two")
        await colleague.until(lambda: "processing -> correcting" in colleague.story(m1))
        agent.go.set()
        await colleague.until_state(m1, "answered")

        assert [answer.body for answer in colleague.answers()] == ["ok: @hermes two"]


async def test_a_run_keeps_the_words_of_its_author(open_colleague: Open) -> None:
    """An edit by nobody knows whom neither stops it nor reaches it."""
    agent = Slow()
    async with open_colleague(script=Script(limits=QUICK, agent=agent)) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "processing")
        before = await cut(colleague)
        await colleague.edits("alice", m1, "@hermes two")
        await live_again(colleague, before)
        agent.go.set()
        await colleague.until_state(m1, "answered")

        assert [answer.body for answer in colleague.answers()] == ["ok: @hermes one"]
        remark = "select reason from transitions where event = 'ignore_edit'"
        assert colleague.rows(remark) == [("edited_unseen",)]


@pytest.mark.parametrize("is_deleted", [True, False])
async def test_a_change_while_the_profile_was_down_is_seen(
    open_colleague: Open,
    is_deleted: bool,  # noqa: FBT001 - a parameter of the scenario
) -> None:
    """A question that waited over a restart runs, if at all, with the words it has."""
    async with open_colleague(script=replace(SHUT, policy=ANSWERED)) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        m2 = await colleague.says("bob", "@hermes other", thread=m1)
        await colleague.until_state(m2, "queued")
        await colleague.dies()
        if is_deleted:
            colleague.retracts(m1)
        else:
            await colleague.edits("alice", m1, "@hermes two")
        await colleague.starts(Script(limits=QUICK, policy=ANSWERED))
        await colleague.until_state(m1, "retracted" if is_deleted else "answered")
        await colleague.until_state(m2, "answered")

        first = [] if is_deleted else ["@hermes two"]
        assert asked(colleague) == [*first, "@hermes other"]


async def test_a_room_that_cannot_be_read_takes_nothing_back(open_colleague: Open) -> None:
    """To be out of a room is no deletion of what was asked there."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "queued")
        colleague.faults.refused[READ] = Code.PERMISSION_DENIED
        before = await cut(colleague)
        await live_again(colleague, before)

        assert ends(colleague, m1) == ("queued", None)


@pytest.mark.parametrize(("ahead_s", "state"), [(890, "answered"), (910, "expired")])
async def test_a_question_that_waited_too_long_over_a_restart_expires(
    open_colleague: Open, ahead_s: float, state: str
) -> None:
    """Nobody waits for its answer any more; in a process that lives it goes on waiting."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "queued")
        colleague.clock.ahead_s = ahead_s
        await live_again(colleague, await cut(colleague))
        assert ends(colleague, m1) == ("queued", None)
        await colleague.dies()
        await colleague.starts(Script(limits=QUICK))
        await colleague.until_state(m1, state)

        assert ends(colleague, m1) == (state, "too_old" if state == "expired" else None)
