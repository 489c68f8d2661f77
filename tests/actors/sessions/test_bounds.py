"""What is bounded, and what a person hears at the bound."""

from functools import partial

import anyio
import pytest

from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.actors.sessions.services import Limits


class Held:
    """Answers as soon as it may, and counts how many work at once."""

    def __init__(self) -> None:
        self.go_on = anyio.Event()
        self.now = self.most = 0

    async def __call__(self, order: TurnOrder) -> str:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.go_on.wait()
        await anyio.sleep(0.02)
        self.now -= 1
        return f"ok: {order.text}"


async def test_sixteen_turns_are_at_the_gateway_and_the_others_wait(open_colleague: Open) -> None:
    """Nobody is refused, and the order is kept."""
    agent = Held()
    async with open_colleague(agent=agent) as colleague:
        asked = [colleague.posts("alice", f"@hermes {number}") for number in range(40)]
        await colleague.until(lambda: agent.now == 16)
        await colleague.until(
            lambda: [colleague.state_of(id_) for id_ in asked].count("queued") == 24
        )
        agent.go_on.set()
        for message_id in asked:
            await colleague.until_state(message_id, "answered")

        assert agent.most == 16
        assert len(colleague.answers()) == 40


async def test_commands_need_no_place(open_colleague: Open) -> None:
    """`/stop` has to reach the run that takes the last one."""
    agent = Held()
    script = Script(agent=agent, limits=Limits(parallel_turns=1))
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes work")
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("bob", "@hermes me too")
        await colleague.until_state(m2, "queued")
        await colleague.says("alice", "@hermes /stop", thread=m1)
        await colleague.until_state(m1, "cancelled")
        await colleague.until_state(m2, "processing")
        agent.go_on.set()
        await colleague.until_state(m2, "answered")


async def test_a_question_taken_back_in_line_holds_up_nobody(open_colleague: Open) -> None:
    """Its place goes to the next one."""
    agent = Held()
    script = Script(agent=agent, limits=Limits(parallel_turns=1))
    async with open_colleague(script=script) as colleague:
        asked = [await colleague.says("alice", f"@hermes {number}") for number in range(3)]
        await colleague.until_state(asked[0], "processing")
        await colleague.until_state(asked[1], "queued")
        await colleague.deletes("alice", asked[1])
        await colleague.until_state(asked[1], "retracted")
        agent.go_on.set()
        await colleague.until_state(asked[2], "answered")


def notices(colleague: Colleague) -> list[tuple[str, str, str]]:
    """Return what the plugin itself said: where, to what, and its beginning."""
    return [
        (each.thread_root_id, each.in_reply_to, each.body.split(",")[0])
        for each in colleague.answers()
        if not each.body.startswith("ok:")
    ]


async def test_a_full_lane_says_so_to_whoever_asks_next(open_colleague: Open) -> None:
    """In the thread, as a reply to the question; its row names the reason."""
    agent = Held()
    script = Script(agent=agent, limits=Limits(waiting_turns=2))
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "processing")
        others = [await colleague.says("alice", "@hermes more", thread=m1) for _ in range(3)]
        await colleague.until_state(others[2], "refused")
        await colleague.until(lambda: len(notices(colleague)) == 1)
        agent.go_on.set()
        for message_id in (m1, *others[:2]):
            await colleague.until_state(message_id, "answered")

        said = "2 questions are waiting in this conversation already"
        assert notices(colleague) == [(m1, others[2], said)]
        found = colleague.rows("select reason from turns where message_id = ?", others[2])
        assert found == [("lane_full",)]


def is_tried(colleague: Colleague, times: int) -> bool:
    """Tell whether the only turn is at work for this time."""
    return colleague.rows("select state, attempt from turns") == [("processing", times)]


@pytest.mark.parametrize("attempts", [1, 2])
async def test_a_question_that_never_gets_through_is_given_up_in_words(
    open_colleague: Open, attempts: int
) -> None:
    """Each correction is an attempt; there is a last one."""
    agent = Held()
    script = Script(agent=agent, limits=Limits(turn_attempts=attempts, editor_wait_s=0.01))
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        for number in range(1, attempts + 1):
            await colleague.until(partial(is_tried, colleague, number))
            await colleague.edits("alice", m1, f"@hermes one, corrected {number}")
        await colleague.until_state(m1, "failed")
        await colleague.until(lambda: len(notices(colleague)) == 1)

        ((root, target, words),) = notices(colleague)
        assert (root, target) == (m1, m1)
        assert words.startswith(f"I have begun with this question {attempts} times")
        assert colleague.rows("select reason from turns") == [("too_many_attempts",)]
