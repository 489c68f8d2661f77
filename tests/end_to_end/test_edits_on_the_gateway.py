"""People change and delete what they asked, while the real gateway is at work on it."""

from collections.abc import AsyncIterator, Mapping

import pytest

from hermes_chatto.actors.sandbox.demo.people import OWNER

from .load import Load
from .minds import PATIENCE_S, Play, asked, in_each, open_plays, tooled
from .puppet import install

pytestmark = pytest.mark.timeout(240)  # the first one waits for three gateways

LONG_S = 40.0
Plays = Mapping[str, Play]


@pytest.fixture(scope="module")
async def plays(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plays]:
    """Start a gateway in each busy mode, all with the puppet in them."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", install(tmp_path_factory.mktemp("puppet")))
        async with open_plays() as plays:
            yield plays


async def test_an_edit_reaches_a_run_that_is_being_set_up(plays: Plays) -> None:
    """The first run of a process takes seconds for it; only what is meant now is answered."""

    async def scenario(play: Play) -> None:
        m1 = await play.real.says("alice", asked("sloe", wait_s=LONG_S))
        await play.until_state(m1, "handed", "processing")
        await play.edits("alice", m1, asked("sloe", 1))
        await play.real.answer_to(m1, PATIENCE_S)
        await play.until_idle()
        m2 = await play.real.says("bob", asked("medlar"), thread=m1)
        await play.real.answer_to(m2)

        assert await play.answers(m1) == [(m1, "sloe-v1"), (m2, "medlar-v0")]
        assert len(play.prompts_with("sloe-v0")) <= 1
        assert len(play.prompts_with("sloe-v1")) == 2

    await in_each(plays, scenario)


async def test_an_edit_ends_the_run_and_its_words_are_gone(plays: Plays) -> None:
    """One answer, to the words as they are now; the model hears the old ones never again."""

    async def scenario(play: Play) -> None:
        m1 = await play.real.says("alice", asked("fig", wait_s=LONG_S))
        await play.until_prompted("fig-v0")
        await play.edits("alice", m1, asked("fig", 1))
        await play.real.answer_to(m1)
        await play.until_idle()
        m2 = await play.real.says("alice", asked("date"), thread=m1)
        await play.real.answer_to(m2)

        assert await play.answers(m1) == [(m1, "fig-v1"), (m2, "date-v0")]
        assert len(play.prompts_with("fig-v0")) == 1
        assert len(play.prompts_with("fig-v1")) == 2

    await in_each(plays, scenario)


async def test_an_edit_waits_for_the_tool_of_the_run_it_ends(plays: Plays) -> None:
    """The tool cannot be stopped; what it found goes nowhere, and nobody hears of the wait."""

    async def scenario(play: Play) -> None:
        m1 = await play.real.says("alice", tooled("plum", seconds=2))
        await play.until_tool_runs("plum-v0")
        await play.edits("alice", m1, asked("plum", 1))
        await play.real.answer_to(m1)
        await play.until_idle()

        assert await play.answers(m1) == [(m1, "plum-v1")]
        assert len(play.prompts_with("plum-v0")) == 1

    await in_each(plays, scenario)


async def test_a_deleted_question_is_not_answered(plays: Plays) -> None:
    """Its run is stopped, and its words are gone; the next question is answered as ever."""

    async def scenario(play: Play) -> None:
        m1 = await play.real.says("alice", asked("lime"))
        await play.real.answer_to(m1)
        m2 = await play.real.says("bob", asked("pear", wait_s=LONG_S), thread=m1)
        await play.until_prompted("pear-v0")
        await play.deletes("bob", m2)
        await play.until_state(m2, "retracted")
        m3 = await play.real.says("carol", asked("kiwi"), thread=m1)
        await play.real.answer_to(m3)

        assert await play.answers(m1) == [(m1, "lime-v0"), (m3, "kiwi-v0")]
        assert len(play.prompts_with("pear")) == 1

    await in_each(plays, scenario)


async def test_a_question_deleted_while_its_tool_runs_is_not_answered(plays: Plays) -> None:
    """Who waits behind it comes when the tool is over, and is told nothing of it."""

    async def scenario(play: Play) -> None:
        m1 = await play.real.says("alice", asked("olive"))
        await play.real.answer_to(m1)
        m2 = await play.real.says("bob", tooled("mango", seconds=2), thread=m1)
        await play.until_tool_runs("mango-v0")
        m3 = await play.real.says("carol", asked("papaya"), thread=m1)
        await play.deletes("bob", m2)
        await play.real.answer_to(m3)

        assert play.state_of(m2) == "retracted"
        assert await play.answers(m1) == [(m1, "olive-v0"), (m3, "papaya-v0")]
        assert len(play.prompts_with("mango")) == 1

    await in_each(plays, scenario)


async def test_what_waits_is_changed_in_place(plays: Plays) -> None:
    """Two people in one thread; neither the old words nor what was deleted is ever heard."""

    async def scenario(play: Play) -> None:
        m1 = await play.real.says("alice", asked("apple", wait_s=LONG_S))
        await play.until_prompted("apple-v0")
        m2 = await play.real.says("bob", asked("grape"), thread=m1)
        m3 = await play.real.says("alice", asked("peach"), thread=m1)
        await play.until_state(m3, "queued")
        await play.edits("bob", m2, asked("grape", 1))
        await play.deletes("alice", m3)
        await play.until_state(m3, "retracted")
        assert play.state_of(m1) == "processing"
        await play.edits("alice", m1, asked("apple", 1))
        await play.real.answer_to(m2)

        assert await play.answers(m1) == [(m1, "apple-v1"), (m2, "grape-v1")]
        assert len(play.prompts_with("apple-v0")) == 1
        assert not play.prompts_with("grape-v0")
        assert not play.prompts_with("peach")

    await in_each(plays, scenario)


async def test_the_newest_of_rapid_edits_is_answered(plays: Plays) -> None:
    """The run is stopped once; what stood there for a moment only reaches no prompt."""

    async def scenario(play: Play) -> None:
        m1 = await play.real.says("alice", asked("melon", wait_s=LONG_S))
        await play.until_prompted("melon-v0")
        for version in (1, 2, 3):
            await play.edits("alice", m1, asked("melon", version))
        await play.real.answer_to(m1)

        assert await play.answers(m1) == [(m1, "melon-v3")]
        assert not play.prompts_with("melon-v1")
        assert not play.prompts_with("melon-v2")

    await in_each(plays, scenario)


async def test_nobody_elses_edit_touches_a_run(plays: Plays) -> None:
    """A moderator's words are not put into the mouth of whoever asked."""

    async def scenario(play: Play) -> None:
        m1 = await play.real.says("alice", asked("quince", wait_s=4.0))
        await play.until_prompted("quince-v0")
        await play.edits(OWNER, m1, asked("quince", 1))
        await play.until(lambda: "editor_is_not_author" in play.reasons(m1))
        assert play.state_of(m1) == "processing"
        await play.real.answer_to(m1)

        assert await play.answers(m1) == [(m1, "quince-v0")]
        assert not play.prompts_with("quince-v1")

    await in_each(plays, scenario)


async def test_under_load_no_words_are_stale_and_nobody_is_answered_twice(plays: Plays) -> None:
    """Four people change their minds at random moments, in three threads of each gateway."""

    async def scenario(play: Play) -> None:
        load = Load(play, seed=f"load {play.mode}", turns=14)
        await load.play()

        assert await load.flaws() == []

    await in_each(plays, scenario)


async def at_work(play: Play) -> frozenset[str]:
    """Return the sessions whose agent is at work; fails if one ever had two."""
    working: set[str] = set()
    for name, session_id in await play.strings.steps():
        if name in {"began", "ended"}:
            assert (name == "began") is (session_id not in working)
            working ^= {session_id}
    return frozenset(working)


async def test_no_key_ever_had_two_runs(plays: Plays) -> None:
    """One began when the one before had ended, in all that went before."""

    async def scenario(play: Play) -> None:
        async def is_over() -> bool:
            return not await at_work(play)

        await play.until_idle()
        await play.real.until(is_over, PATIENCE_S)

    await in_each(plays, scenario)


async def test_nobody_saw_a_notice(plays: Plays) -> None:
    """Each gateway is in its own mode, and had no reason to say that it is busy."""

    async def scenario(play: Play) -> None:
        assert await play.strings.busy_mode() == play.mode
        assert play.said_elsewhere() == []
        assert play.real.complaints() == []

    await in_each(plays, scenario)
