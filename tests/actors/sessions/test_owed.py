"""An answer that the gateway hands over after a restart: once in the room, at its question."""

from dataclasses import replace

import anyio
import pytest

from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.ports import (
    DeliveryResult,
    DeliveryState,
    Outgoing,
    TurnOrder,
)
from hermes_chatto.actors.sessions.remains import Remains
from hermes_chatto.actors.sessions.services import Limits

MARKER = "♻️ Recovered reply, which may be a duplicate:\n\n"
THREE_PARTS = "\n".join(letter * 9_000 for letter in "abc")
PATIENT = Limits(owed_look_s=60, owed_wait_s=60)


async def for_ever(order: TurnOrder) -> None:
    """Never come to an end."""
    del order
    await anyio.sleep_forever()


async def three_parts(order: TurnOrder) -> str:
    """Answer in three parts."""
    del order
    return THREE_PARTS


def bodies(colleague: Colleague) -> list[tuple[str, str]]:
    """Return how each answer on the server begins, and what it points at."""
    return [(answer.body[:2], answer.in_reply_to) for answer in colleague.answers()]


async def handed_over(colleague: Colleague, root_id: str, text: str) -> DeliveryResult:
    """Hand a text over as the gateway does after a restart: with a room and a thread alone."""
    outgoing = Outgoing(colleague.rooms["R1"], root_id, text, is_final=False)
    return await colleague.desk.deliver(outgoing)


@pytest.mark.parametrize("marker", ["", MARKER])
async def test_an_owed_answer_becomes_that_of_its_question(
    open_colleague: Open, marker: str
) -> None:
    """The process ended before a word of it was written down here."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        await colleague.dies()
        (session,) = colleague.sessions.values()
        session.remains, session.owed = Remains.OWES, ["done"]
        await colleague.starts(Script(limits=PATIENT))
        await colleague.until_state(m1, "interrupted")
        result = await handed_over(colleague, m1, f"{marker}done")
        await colleague.until_state(m1, "answered")

        assert result.state is DeliveryState.DELIVERED
        assert [answer.body for answer in colleague.answers()] == ["done"]
        assert bodies(colleague) == [("do", m1)]


async def new_words_only(order: TurnOrder) -> str:
    """Answer what was corrected, and never come to an end with what was not."""
    if "new" not in order.text:
        await anyio.sleep_forever()
    return "fine"


async def test_the_owed_answer_to_words_that_were_corrected_is_never_posted(
    open_colleague: Open,
) -> None:
    """Told that it was not, the gateway hands it over once more, when the question is answered."""
    async with open_colleague(agent=new_words_only) as colleague:
        m1 = await colleague.says("alice", "@hermes old")
        await colleague.until_state(m1, "processing")
        await colleague.edits("alice", m1, "@hermes new")
        await colleague.until_state(m1, "correcting")
        await colleague.dies()
        (session,) = colleague.sessions.values()
        session.owed = ["done"]
        await colleague.starts(Script(agent=new_words_only, limits=PATIENT))
        assert colleague.state_of(m1) == "correcting"
        first = await handed_over(colleague, m1, f"{MARKER}done")
        await colleague.until_state(m1, "answered")
        second = await handed_over(colleague, m1, "Another line:\n\ndone")

        assert [first.state, second.state] == [DeliveryState.SUPERSEDED] * 2
        assert bodies(colleague) == [("fi", m1)]


async def test_what_else_is_said_while_an_answer_is_owed_is_not_taken_for_it(
    open_colleague: Open,
) -> None:
    """A notice of the gateway's own, into the same thread."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        await colleague.dies()
        (session,) = colleague.sessions.values()
        session.remains, session.owed = Remains.OWES, ["done"]
        await colleague.starts(Script(limits=PATIENT))
        await colleague.until_state(m1, "interrupted")
        await handed_over(colleague, m1, "the gateway is back")

        assert colleague.state_of(m1) == "interrupted"
        assert bodies(colleague) == [("th", "")]


async def test_an_answer_that_is_in_the_room_is_not_posted_again(open_colleague: Open) -> None:
    """The gateway did not learn that it was delivered."""
    async with open_colleague(agent=three_parts) as colleague:
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until_state(m1, "answered")
        await colleague.dies()
        (session,) = colleague.sessions.values()
        session.owed = [THREE_PARTS]
        await colleague.starts(Script())
        result = await handed_over(colleague, m1, MARKER + THREE_PARTS)

        assert (result.state, len(result.message_ids)) == (DeliveryState.DELIVERED, 3)
        assert [begin for begin, _ in bodies(colleague)] == ["aa", "bb", "cc"]


async def test_only_what_is_missing_of_an_answer_is_posted(open_colleague: Open) -> None:
    """A part was refused; the gateway hands the whole over again."""
    async with open_colleague(agent=three_parts) as colleague:
        colleague.faults.before = [None, Code.PERMISSION_DENIED]
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until_state(m1, "failed")
        (session,) = colleague.sessions.values()
        session.owed = [THREE_PARTS]
        result = await handed_over(colleague, m1, MARKER + THREE_PARTS)

        assert result.state is DeliveryState.DELIVERED
        assert [begin for begin, _ in bodies(colleague)] == ["aa", "bb", "cc"]


async def test_answers_that_begin_alike_are_told_from_each_other(open_colleague: Open) -> None:
    """All of an answer counts, not its first part."""
    answers = ["\n".join(letter * 9_000 for letter in letters) for letters in ("ab", "ac")]
    left = list(answers)

    async def say(order: TurnOrder) -> str:
        del order
        return left.pop(0)

    async with open_colleague(agent=say) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "answered")
        await colleague.dies()
        (session,) = colleague.sessions.values()
        session.owed = answers
        await colleague.starts()
        for answer in answers:
            result = await handed_over(colleague, m1, MARKER + answer)
            assert result.state is DeliveryState.DELIVERED

        assert [begin for begin, _ in bodies(colleague)] == ["aa", "bb", "aa", "cc"]


async def test_a_scheduled_result_is_never_taken_for_an_owed_answer(open_colleague: Open) -> None:
    """It may say the same."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")
        (answer,) = colleague.answers()
        (session,) = colleague.sessions.values()
        session.owed = [answer.body]
        outgoing = Outgoing(colleague.rooms["R1"], m1, answer.body, is_final=False)
        await colleague.desk.deliver(replace(outgoing, job_id="nightly"))

        assert [each.body for each in colleague.answers()] == [answer.body] * 2
