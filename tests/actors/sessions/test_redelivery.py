"""The gateway hands a whole answer over again: what is missing goes out, and nothing twice."""

from datetime import UTC, datetime, timedelta

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_chatto.actors.runtime.clock import utc_text
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.ports import DeliveryResult, DeliveryState, Outgoing, TurnOrder
from hermes_chatto.actors.sessions.repetition import digest_of, ends_in, written
from hermes_chatto.actors.sessions.services import Limits
from hermes_chatto.store.outbox import TextRow

MARK = "♻️ Recovered reply — this may be a duplicate:\n\n"
ANSWER = "\n".join(f"{number}: größer 🎩" for number in range(1_200))  # three parts
QUICK = Limits(first_wait_s=0.01, busy_wait_s=0.05, start_within_s=60)


async def report(order: TurnOrder) -> str:
    """Answer at length."""
    del order
    return ANSWER


SCRIPT = Script(agent=report, limits=QUICK)


async def redelivers(
    colleague: Colleague, thread: str | None, text: str = MARK + ANSWER
) -> DeliveryResult:
    """Hand a text over as the gateway does after a crash: no turn, no hook, no question."""
    outgoing = Outgoing(colleague.rooms["R1"], thread, text, is_final=False)
    return await colleague.desk.deliver(outgoing)


def posted(colleague: Colleague) -> str:
    """Return what is in the room, joined."""
    return "\n".join(answer.body for answer in colleague.answers())


async def dies_after(colleague: Colleague, parts: int) -> str:
    """Let the process be killed when so many parts are in the room; return the question."""
    colleague.faults.before = [None] * parts
    m1 = await colleague.says("alice", "@hermes report")
    await colleague.until(lambda: len(colleague.answers()) == parts)
    await colleague.dies()
    return m1


@pytest.mark.parametrize("parts", [1, 2, 3])
async def test_a_kill_between_parts_is_made_good_by_what_is_missing(
    open_colleague: Open, parts: int
) -> None:
    """Whoever comes first, our own recovery or the gateway, the answer stands there once."""
    async with open_colleague(script=SCRIPT) as colleague:
        colleague.faults.delays["MessageService/CreateMessage"] = 0.05
        m1 = await dies_after(colleague, parts)
        await colleague.starts()
        result = await redelivers(colleague, m1)
        await colleague.until_state(m1, "answered")

        assert result.state is DeliveryState.DELIVERED
        assert result.message_ids == tuple(each.message_id for each in colleague.answers())
        assert posted(colleague) == ANSWER
        assert MARK.strip() not in posted(colleague)


async def test_a_redelivery_after_everything_is_out_posts_nothing(open_colleague: Open) -> None:
    """Killed after the last part: the gateway does not know."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until_state(m1, "answered")
        await colleague.dies()
        await colleague.starts()
        for _ in range(3):
            result = await redelivers(colleague, m1)

            assert result.state is DeliveryState.DELIVERED
        assert posted(colleague) == ANSWER
        assert colleague.state_of(m1) == "answered"


async def test_an_answer_that_failed_is_completed_by_a_redelivery(open_colleague: Open) -> None:
    """The gateway tries again some seconds later; the turn is answered then."""
    async with open_colleague(script=SCRIPT) as colleague:
        colleague.faults.before = [None, Code.PERMISSION_DENIED]
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until_state(m1, "failed")
        assert len(colleague.answers()) == 1

        result = await redelivers(colleague, m1)
        await colleague.until_state(m1, "answered")

        assert result.state is DeliveryState.DELIVERED
        assert posted(colleague) == ANSWER
        assert colleague.story(m1)[-2:] == ["delivering -> failed", "failed -> answered"]
        assert colleague.rows("select reason from turns") == [(None,)]


async def test_a_redelivery_that_is_refused_again_changes_nothing(open_colleague: Open) -> None:
    """One attempt, the same reason."""
    async with open_colleague(script=SCRIPT) as colleague:
        colleague.faults.before = [Code.PERMISSION_DENIED, Code.PERMISSION_DENIED]
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until_state(m1, "failed")
        result = await redelivers(colleague, m1)

        assert (result.state, result.reason) == (DeliveryState.REFUSED, "permission_denied")
        assert colleague.answers() == []
        assert colleague.state_of(m1) == "failed"


async def test_what_a_stopped_run_said_is_not_posted_later(open_colleague: Open) -> None:
    """The gateway was told that it is not posted, and tries again all the same."""
    said = anyio.Event()

    async def stubborn(order: TurnOrder) -> str:
        del order
        with anyio.CancelScope(shield=True):
            said.set()
            await anyio.sleep(0.2)
        return "too late"

    async with open_colleague(script=Script(agent=stubborn, limits=QUICK)) as colleague:
        m1 = await colleague.says("alice", "@hermes work")
        await said.wait()
        await colleague.deletes("alice", m1)
        await colleague.until(lambda: colleague.state_of(m1) in {"stopping", "retracted"})
        root = Outgoing(colleague.rooms["R1"], m1, "too late", is_final=True, answers_id=m1)
        first = await colleague.desk.deliver(root)
        again = await redelivers(colleague, m1, MARK + "too late")

        assert first.state is DeliveryState.SUPERSEDED
        assert again.state is DeliveryState.SUPERSEDED
        assert colleague.answers() == []


async def test_the_same_words_behind_a_line_are_news_while_the_process_lives(
    open_colleague: Open,
) -> None:
    """Whoever wanted the answer posted was told that it is; this is something else."""

    async def ok(order: TurnOrder) -> str:
        del order
        return "ok"

    async with open_colleague(agent=ok) as colleague:
        m1 = await colleague.says("alice", "@hermes build?")
        await colleague.until_state(m1, "answered")
        await redelivers(colleague, m1, "Looking:\n\nok")

        assert [answer.body for answer in colleague.answers()] == ["ok", "Looking:\n\nok"]


async def test_the_same_answer_to_another_question_is_another_answer(
    open_colleague: Open,
) -> None:
    """An answer has a question of its own; a redelivery has none."""

    async def ok(order: TurnOrder) -> str:
        del order
        return "ok"

    async with open_colleague(agent=ok) as colleague:
        m1 = await colleague.says("alice", "@hermes build?")
        await colleague.until_state(m1, "answered")
        m2 = await colleague.says("alice", "@hermes tests?", thread=m1)
        await colleague.until_state(m2, "answered")

        assert [answer.in_reply_to for answer in colleague.answers()] == [m1, m2]


async def test_an_answer_older_than_the_gateways_own_limit_is_not_recognised(
    open_colleague: Open,
) -> None:
    """It gives up after 24 h; up to 25 h an answer is known."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until_state(m1, "answered")
        await colleague.stops()
        for hours, parts in ((24.9, 3), (25.1, 6)):
            at = utc_text(datetime.now(UTC) - timedelta(hours=hours))
            colleague.write("update outbox set created_at = ?", at)
            await colleague.starts()
            await redelivers(colleague, m1)
            await colleague.stops()

            assert len(colleague.answers()) == parts


@given(st.text(min_size=1), st.text(st.characters(exclude_characters="\n"), min_size=1))
def test_a_text_is_recognised_by_its_end(answer: str, line: str) -> None:
    """Whatever the line says, in whatever language."""
    raw = written(answer)
    known = [TextRow("other", 3, "0" * 64), TextRow("d1", len(raw), digest_of(raw))]
    is_line = bool(line.encode("utf-8", "replace").strip()) and len(written(line)) < 900

    assert ends_in(f"{line}\n\n{answer}", known) == ("d1" if is_line else None)
    assert ends_in(answer, known) is None
    assert ends_in(f"{line}\n\n{answer}x", known) is None
