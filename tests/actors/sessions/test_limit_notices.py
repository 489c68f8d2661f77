"""Who meets a limit is told so in one line, and asks on when it is over."""

from dataclasses import replace

import anyio
import pytest

from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open
from hermes_chatto.actors.sessions.policy import Bots, Signs
from hermes_chatto.actors.sessions.ports import TurnOrder

WAITING = replace(POLICY, max_waiting=1, signs=Signs())
HOURLY = replace(POLICY, max_turns_per_hour=2, signs=Signs())


class Slow:
    """An agent that answers when it is let go."""

    def __init__(self) -> None:
        self.may_answer = anyio.Event()

    async def __call__(self, order: TurnOrder) -> str:
        """Answer late."""
        await self.may_answer.wait()
        return f"ok: {order.text}"


async def refused(colleague: Colleague, message_id: str, reason: str) -> None:
    """Wait until a question is refused with a reason."""
    sql = "select reason from turns where message_id = ? and state = 'refused'"
    await colleague.until(lambda: colleague.rows(sql, message_id) == [(reason,)])


def told(colleague: Colleague) -> list[tuple[str, str, str]]:
    """Return the notices in the rooms: where, in reply to what, in which words."""
    sql = (
        "select p.message_id from outbox as p join turns as t on t.message_id = p.turn_id "
        "where t.state = 'refused'"
    )
    ids = {message_id for (message_id,) in colleague.rows(sql)}
    return [
        (post.thread_root_id, post.in_reply_to, post.body)
        for post in colleague.answers()
        if post.message_id in ids
    ]


async def test_one_question_too_many_that_would_wait_is_refused_with_a_line(
    open_colleague: Open,
) -> None:
    """In the thread it was asked in, once in a row; others and commands go on."""
    slow = Slow()
    async with open_colleague(agent=slow, policy=WAITING) as colleague:
        root = await colleague.says("alice", "@hermes one")
        await colleague.until_state(root, "processing")
        waits = await colleague.says("alice", "@hermes two", thread=root)
        await colleague.until_state(waits, "queued")
        many = await colleague.says("alice", "@hermes three", thread=root)
        again = await colleague.says("alice", "@hermes four", thread=root)
        for id_ in (many, again):
            await refused(colleague, id_, "too_many_waiting")
        bobs = await colleague.says("bob", "@hermes me, too", thread=root)
        await colleague.until_state(bobs, "queued")
        await colleague.until(lambda: bool(told(colleague)))
        await colleague.until(lambda: colleague.reactions(again) == ["x"])

        ((place, in_reply_to, words),) = told(colleague)
        assert (place, in_reply_to) == (root, many)
        assert words.startswith("Not taken: at most 1 questions of one person may wait.")
        slow.may_answer.set()
        await colleague.until_state(bobs, "answered")
        later = await colleague.says("alice", "@hermes five", thread=root)
        await colleague.until_state(later, "answered")


async def test_so_many_questions_within_an_hour_and_no_more(open_colleague: Open) -> None:
    """Told at the first refusal; a stop is no question."""
    async with open_colleague(policy=HOURLY) as colleague:
        for words in ("@hermes one", "@hermes two"):
            await colleague.until_state(await colleague.says("alice", words), "answered")
        many = await colleague.says("alice", "@hermes three")
        await refused(colleague, many, "too_many_this_hour")
        stop = await colleague.says("alice", "@hermes /status")
        await colleague.until_state(stop, "bypassed")
        await colleague.until(lambda: bool(told(colleague)))

        ((_, in_reply_to, words),) = told(colleague)
        assert in_reply_to == many
        assert words.startswith("Not taken: at most 2 questions")


async def test_a_command_that_asks_the_agent_is_a_question(open_colleague: Open) -> None:
    """Counted within the hour and refused beyond it, with the sentence."""
    async with open_colleague(policy=HOURLY) as colleague:
        for words in ("@hermes /queue one", "@hermes /queue two"):
            await colleague.until_state(await colleague.says("alice", words), "bypassed")
        many = await colleague.says("alice", "@hermes three")
        await refused(colleague, many, "too_many_this_hour")
        queued = await colleague.says("alice", "@hermes /queue four")
        await refused(colleague, queued, "too_many_this_hour")
        await colleague.until(lambda: bool(told(colleague)))

        asked = colleague.rows("select command, asks from turns where command is not null")
        assert asked[:2] == [("/queue", 1), ("/queue", 1)]
        ((_, in_reply_to, _),) = told(colleague)
        assert in_reply_to == many


async def test_what_a_command_asked_waits_as_long_as_the_run_before_it(
    open_colleague: Open,
) -> None:
    """The gateway has its own line, behind the run; a person has one limit."""
    slow = Slow()
    async with open_colleague(agent=slow, policy=WAITING) as colleague:
        root = await colleague.says("alice", "@hermes one")
        await colleague.until_state(root, "processing")
        queued = await colleague.says("alice", "/queue two", thread=root)
        await colleague.until_state(queued, "bypassed")
        for words in ("/queue three", "four"):
            many = await colleague.says("alice", words, thread=root)
            await refused(colleague, many, "too_many_waiting")
        slow.may_answer.set()
        await colleague.until_state(root, "answered")
        later = await colleague.says("alice", "five", thread=root)
        await colleague.until_state(later, "answered")


async def test_an_edit_of_what_was_refused_does_not_get_around_the_limit(
    open_colleague: Open,
) -> None:
    """It is judged like a new message, limits included."""
    async with open_colleague(policy=replace(HOURLY, max_turns_per_hour=1)) as colleague:
        await colleague.until_state(await colleague.says("alice", "@hermes one"), "answered")
        many = await colleague.says("alice", "@hermes two")
        await refused(colleague, many, "too_many_this_hour")
        await colleague.edits("alice", many, "@hermes two, please")
        last = await colleague.says("bob", "@hermes is that all?")
        await colleague.until_state(last, "answered")

        await refused(colleague, many, "too_many_this_hour")
        assert len(told(colleague)) == 1


@pytest.mark.parametrize("many", [2])
async def test_several_questions_at_once_are_counted_one_by_one(
    open_colleague: Open, many: int
) -> None:
    """What is read together is decided in its order."""
    policy = replace(HOURLY, max_turns_per_hour=many)
    async with open_colleague(policy=policy) as colleague:
        asked = [colleague.posts("alice", f"@hermes {number}") for number in range(5)]
        await refused(colleague, asked[-1], "too_many_this_hour")
        await colleague.until(lambda: not colleague.rows("select 1 from open_turns"))

        states = [colleague.state_of(id_) for id_ in asked]
        assert states == ["answered"] * many + ["refused"] * (5 - many)


async def test_a_program_is_refused_without_a_word(open_colleague: Open) -> None:
    """It would answer the line."""
    policy = replace(
        HOURLY,
        max_turns_per_hour=1,
        allowed_user_entries=("alice", "carol"),
        allow_bots=Bots.ALL,
        bot_entries=("carol",),
    )
    async with open_colleague(policy=policy) as colleague:
        first = await colleague.says("carol", "@hermes one")
        await colleague.until_state(first, "answered")
        many = await colleague.says("carol", "@hermes two")
        await refused(colleague, many, "too_many_this_hour")
        last = await colleague.says("alice", "@hermes is that all?")
        await colleague.until_state(last, "answered")

        assert told(colleague) == []
