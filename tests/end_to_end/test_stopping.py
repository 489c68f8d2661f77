"""Runs of the real gateway that are stopped: when they are over, and what is left of them."""

import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import anyio
import pytest

from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import open_stage
from hermes_chatto.actors.sandbox.model import echo

from .conftest import RealGateway
from .puppet import CONFIG, Strings, install

pytestmark = pytest.mark.timeout(150)  # the first one waits for the gateway

THINKS = "{{wait 20}} {{say too late}}"
STUBBORN_TOOL = '{{wait 0}} {{call tool_call {"name": "stubborn", "arguments": {"seconds": 3}}}}'
TERMINAL = '{{wait 0}} {{call terminal {"command": "sleep 4"}}}'
CLARIFY = '{{wait 0}} {{call clarify {"questions": [{"question": "Which one?"}]}}}'
DANGEROUS = '{{wait 0}} {{call terminal {"command": "rm -rf ./nothing-of-that-name"}}}'
RIGHT = "@hermes {{wait 0}} {{say right}}"
"""Has markers of its own: a prompt also holds earlier messages of the room, with theirs."""


@dataclass(frozen=True)
class Stopping:
    """The real gateway with the puppet in it."""

    real: RealGateway
    strings: Strings

    async def asks(self, word: str, body: str) -> str:
        """Let Alice ask in the room; return the message's ID, which roots the thread.

        The word tells prompts apart, so it may be in none of an earlier test.
        """
        assert self.prompts_with(word) == 0
        return await self.real.says("alice", f"@hermes {word} {body}")

    async def stops(self, root_id: str, within_s: float = 30.0) -> tuple[str, float]:
        """Stop the run of a thread's root."""
        room_id = self.real.stage.scene.room_id
        key = f"agent:main:chatto:thread:{room_id}:{root_id}"
        return await self.strings.stop_run(key, root_id, within_s)

    async def until_handed(self, message_id: str) -> None:
        """Wait until a message is at the gateway; its run is being set up."""
        await self._until(lambda: "queued -> handed" in self.real.story(message_id))

    async def until_model_asked(self, word: str) -> None:
        """Wait until the model was asked about a message with this word."""
        await self._until(lambda: self.prompts_with(word) > 0)

    async def until_tool_runs(self, already: int) -> None:
        """Wait until the stubborn tool ran once more than so often."""
        with anyio.fail_after(30):
            while await self.tool_runs() == already:  # noqa: ASYNC110 - see `_until`
                await anyio.sleep(0.05)

    async def tool_runs(self) -> int:
        """Count how often the stubborn tool ran."""
        return sum(name == "tool" for name, _ in await self.strings.steps())

    def prompts_with(self, word: str) -> int:
        """Count the prompts of the agent that held a word anywhere.

        The gateway names a session by its first message, in a thread of its own; that request
        has no tools, and nobody stops it.
        """
        asked = [each for each in self.real.stage.model.requests if each.tools]
        return sum(word in json.dumps(list(each.messages)) for each in asked)

    async def bodies(self, root_id: str) -> list[str]:
        """Return a thread as the server holds it, without its root."""
        return [each.body for each in await self.real.thread(root_id)][1:]

    async def until_asked_back(self, root_id: str) -> None:
        """Wait until the agent asks something; in what words, the gateway's texts decide."""
        await self.until_prompt_is(root_id, "open")

    async def until_prompt_is(self, root_id: str, state: str) -> None:
        """Wait until the one question of a turn's run is in a state."""
        await self._until(lambda: [found for _, found, _ in self.prompts(root_id)] == [state])

    def prompts(self, turn_id: str) -> list[tuple[str, str, str]]:
        """Return the questions of a turn's run: kind, state, and why or by whom it is over."""
        sql = (
            "select kind, state, coalesce(reason, settled_by) from prompts "
            "where turn_id = ? order by created_at"
        )
        return [(kind, state, why) for kind, state, why in self.real.rows(sql, turn_id)]

    async def _until(self, claim: Callable[[], bool]) -> None:
        with anyio.fail_after(30):
            while not claim():  # noqa: ASYNC110 - another process does it
                await anyio.sleep(0.02)


@pytest.fixture(scope="module")
async def stopping(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stopping]:
    """Start a gateway with the puppet: some ten seconds."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", install(tmp_path_factory.mktemp("puppet")))
        async with open_stage(Screen(io.StringIO()), None, echo, CONFIG) as stage:
            yield Stopping(RealGateway(stage), Strings(stage.gateway.logs[0].parent.parent))


async def corrected(stopping: Stopping, root_id: str, word: str) -> list[str]:
    """Let Alice ask again in a thread, and return what the agent and others said there.

    The old words are in no prompt from now on.
    """
    before = stopping.prompts_with(word)
    again = await stopping.real.says("alice", RIGHT, thread=root_id)
    await stopping.real.answer_to(again)
    assert stopping.prompts_with(word) == before
    return await stopping.bodies(root_id)


async def test_a_run_is_stopped_while_it_is_set_up(stopping: Stopping) -> None:
    """The first run of a process takes seconds for it; its agent must not go on by itself."""
    m1 = await stopping.asks("walnut", THINKS)
    await stopping.until_handed(m1)

    what, _ = await stopping.stops(m1)

    assert what == "ended"
    assert await corrected(stopping, m1, "walnut") == [RIGHT, "right"]


async def test_a_run_is_stopped_while_the_model_thinks(stopping: Stopping) -> None:
    """What it would have said never appears, nor does what it was asked."""
    m1 = await stopping.asks("almond", THINKS)
    await stopping.until_model_asked("almond")

    what, took_s = await stopping.stops(m1)

    assert what == "ended"
    assert took_s < 5
    assert await corrected(stopping, m1, "almond") == [RIGHT, "right"]


async def test_a_run_is_stopped_while_a_command_runs(stopping: Stopping) -> None:
    """The terminal looks for the interrupt and ends its command."""
    m1 = await stopping.asks("hazel", TERMINAL)
    await stopping.until_model_asked("hazel")

    what, _ = await stopping.stops(m1)

    assert what == "ended"
    assert await corrected(stopping, m1, "hazel") == [RIGHT, "right"]


async def test_a_tool_that_does_not_listen_is_waited_for(stopping: Stopping) -> None:
    """Asked again before it is over, the gateway would complain in the thread."""
    already = await stopping.tool_runs()
    m1 = await stopping.asks("pecan", STUBBORN_TOOL)
    await stopping.until_tool_runs(already)

    early, _ = await stopping.stops(m1, within_s=0.5)
    again = await stopping.real.says("alice", RIGHT, thread=m1)
    what, took_s = await stopping.stops(m1)
    await stopping.real.answer_to(again)

    assert (early, what) == ("does_not_end", "ended")
    assert took_s > 0.5
    assert await corrected(stopping, m1, "pecan") == [RIGHT, "right", RIGHT, "right"]


async def test_a_run_that_waits_for_an_answer_is_stopped(stopping: Stopping) -> None:
    """Its question is taken back; the gateway alone would wait for an hour."""
    m1 = await stopping.asks("hickory", CLARIFY)
    await stopping.until_asked_back(m1)

    what, took_s = await stopping.stops(m1)

    assert what == "ended"
    assert took_s < 5
    assert [kind for kind, _, _ in stopping.prompts(m1)] == ["choice"]
    *_, right = await corrected(stopping, m1, "hickory")
    assert right == "right"


async def test_a_run_that_waits_for_an_approval_is_stopped(stopping: Stopping) -> None:
    """What it wanted to do is not done, and a later approval finds nothing to approve."""
    m1 = await stopping.asks("cashew", DANGEROUS)
    await stopping.until_asked_back(m1)

    what, took_s = await stopping.stops(m1)

    assert what == "ended"
    assert took_s < 5
    assert (await corrected(stopping, m1, "cashew"))[-1] == "right"


async def test_a_command_ends_a_run_that_waits_for_an_answer(stopping: Stopping) -> None:
    """Whoever comes next is no answer to what nobody asks any more."""
    m1 = await stopping.asks("beech", CLARIFY)
    await stopping.until_asked_back(m1)

    await stopping.real.says("alice", "@hermes /stop", thread=m1)
    await stopping.until_prompt_is(m1, "withdrawn")
    again = await stopping.real.says("bob", RIGHT, thread=m1)

    assert (await stopping.real.answer_to(again)).body == "right"


async def test_the_answer_of_the_person_who_is_asked_is_in_the_row(stopping: Stopping) -> None:
    """Given as a command or in words; the run goes on with it."""
    alice = stopping.real.stage.scene.people["alice"].account.user_id
    m1 = await stopping.asks("maple", CLARIFY)
    await stopping.until_asked_back(m1)
    await stopping.real.says("alice", "the left one", thread=m1)
    await stopping.real.answer_to(m1)
    m2 = await stopping.asks("rowan", DANGEROUS)
    await stopping.until_asked_back(m2)
    await stopping.real.says("alice", "/deny", thread=m2)
    await stopping.real.answer_to(m2)

    assert stopping.prompts(m1) == [("choice", "answered", alice)]
    assert stopping.prompts(m2) == [("approval", "denied", alice)]


async def test_nobody_elses_word_settles_what_is_asked(stopping: Stopping) -> None:
    """The gateway alone would take both, mention or not; whoever said it is told whose it is."""
    alice = stopping.real.stage.scene.people["alice"].account.user_id
    m1 = await stopping.asks("yew", DANGEROUS)
    await stopping.until_asked_back(m1)
    approved = await stopping.real.answer_to(
        await stopping.real.says("bob", "/approve", thread=m1)
    )
    assert [state for _, state, _ in stopping.prompts(m1)] == ["open"]
    await stopping.real.says("alice", "/deny", thread=m1)
    await stopping.real.answer_to(m1)
    m2 = await stopping.asks("elm", CLARIFY)
    await stopping.until_asked_back(m2)
    chosen = await stopping.real.answer_to(await stopping.real.says("bob", "@hermes 1", thread=m2))
    await stopping.real.says("alice", "the left one", thread=m2)
    await stopping.real.answer_to(m2)

    words = "Only Alice, whose question waits for it, can approve, deny or choose here."
    assert [approved.body, chosen.body] == [words, words]
    assert stopping.prompts(m1) == [("approval", "denied", alice)]
    assert stopping.prompts(m2) == [("choice", "answered", alice)]


async def test_a_question_of_a_run_that_is_edited_is_withdrawn(stopping: Stopping) -> None:
    """It is asked for the old words."""
    m1 = await stopping.asks("alder", DANGEROUS)
    await stopping.until_asked_back(m1)
    scene = stopping.real.stage.scene
    await scene.people["alice"].edit(scene.room_id, m1, RIGHT)
    answer = await stopping.real.answer_to(m1)

    assert answer.body == "right"
    assert stopping.prompts(m1) == [("approval", "withdrawn", "edit")]


async def test_who_waits_behind_the_stopped_run_comes_next(stopping: Stopping) -> None:
    """And hears nothing of it."""
    scene = stopping.real.stage.scene
    root = await stopping.asks("medlar", RIGHT)
    await stopping.real.answer_to(root)
    m1 = await stopping.real.says("alice", f"@hermes filbert {THINKS}", thread=root)
    await stopping.until_model_asked("filbert")
    m2 = await stopping.real.says("bob", "@hermes {{wait 0}} {{say to bob}}", thread=root)
    await stopping.real.until_at(m2, "admitted -> queued")

    asked = stopping.prompts_with("filbert")
    await scene.people["alice"].delete(scene.room_id, m1)
    a2 = await stopping.real.answer_to(m2)

    assert a2.body == "to bob"
    assert stopping.prompts_with("filbert") == asked
    bodies = await stopping.bodies(root)
    assert bodies == ["right", "@hermes {{wait 0}} {{say to bob}}", "to bob"]


async def test_a_question_stopped_by_hand_survives_the_stop_of_the_next(
    stopping: Stopping,
) -> None:
    """It stays in the session; only the message of the run goes."""
    m1 = await stopping.asks("acorn", THINKS)
    await stopping.until_model_asked("acorn")
    m2 = await stopping.real.says("alice", "/stop", thread=m1)
    await stopping.real.answer_to(m2)
    m3 = await stopping.real.says("alice", f"@hermes chestnut {THINKS}", thread=m1)
    await stopping.until_model_asked("chestnut")
    room_id = stopping.real.stage.scene.room_id
    key = f"agent:main:chatto:thread:{room_id}:{m1}"

    what, _ = await stopping.strings.stop_run(key, m3, 30)

    acorns = stopping.prompts_with("acorn")
    assert what == "ended"
    assert (await corrected(stopping, m1, "chestnut"))[-1] == "right"
    assert stopping.prompts_with("acorn") > acorns


async def test_a_command_given_while_a_run_is_set_up_ends_it(stopping: Stopping) -> None:
    """Given to the gateway at once, it would end the task, and leave the agent at work."""
    m1 = await stopping.asks("peanut", THINKS)
    await stopping.until_handed(m1)
    m2 = await stopping.real.says("alice", "/stop", thread=m1)
    await stopping.real.answer_to(m2)
    again = await stopping.real.says("alice", RIGHT, thread=m1)
    await stopping.real.answer_to(again, within_s=10)

    assert (await stopping.bodies(m1))[2:] == [RIGHT, "right"]


@pytest.mark.parametrize("command", ["/stop", "/new"])
async def test_a_command_waits_for_the_tool_of_the_run_it_ends(
    stopping: Stopping, command: str
) -> None:
    """It is answered at once; who comes next has to wait, and is spared the gateway's notices."""
    already = await stopping.tool_runs()
    m1 = await stopping.asks(f"pistachio{command}", STUBBORN_TOOL)
    await stopping.until_tool_runs(already)
    m2 = await stopping.real.says("alice", command, thread=m1)
    await stopping.real.answer_to(m2)
    again = await stopping.real.says("alice", RIGHT, thread=m1)
    await stopping.real.answer_to(again)

    _, answer, *rest = await stopping.bodies(m1)
    assert answer
    assert rest == [RIGHT, "right"]


async def test_nothing_is_stopped_where_nothing_runs(stopping: Stopping) -> None:
    """The run was over before the stop."""
    m1 = await stopping.asks("quince", "{{wait 0}} {{say quick}}")
    await stopping.real.answer_to(m1)
    with anyio.fail_after(10):
        while stopping.real.rows("select 1 from open_turns"):  # noqa: ASYNC110 - see `_until`
            await anyio.sleep(0.1)

    what, _ = await stopping.stops(m1)

    assert what == "no_run"


async def test_no_session_ever_had_two_agents(stopping: Stopping) -> None:
    """One began when the one before had ended, in all that went before."""
    steps = await stopping.strings.steps()

    working: set[str] = set()
    for name, session_id in steps:
        if name == "tool":
            continue
        assert (name == "began") is (session_id not in working)
        working ^= {session_id}
    assert len(steps) > 1
