"""What the model is really sent: the prompts are compared with the thread, line by line."""

from collections.abc import AsyncIterator

import pytest

from hermes_chatto.actors.sandbox.demo.people import OWNER
from hermes_chatto.actors.sandbox.model import NEW_MESSAGE

from .talk import Talk, everybody_posts, open_talk

pytestmark = pytest.mark.timeout(200)  # each start takes some ten seconds


@pytest.fixture(scope="module")
async def talk() -> AsyncIterator[Talk]:
    """Start a gateway that is ended and started again."""
    async with open_talk() as talk:
        yield talk


async def test_the_prompts_hold_the_thread_each_line_once(talk: Talk) -> None:
    """Over turns, a restart and a kill, with questions that a gap hid (handed S08, S09)."""
    root = await talk.post("bob")
    await everybody_posts(talk, root, times=9)
    first = await talk.asks(root)
    begun = len(talk.asked)
    await everybody_posts(talk, root)
    await talk.asks(root)
    for kills in (False, True):
        await everybody_posts(talk, root)
        await talk.stops(kills=kills)
        await everybody_posts(talk, root)
        hidden = [await talk.question(root)]
        await everybody_posts(talk, root)
        hidden.append(await talk.question(root))
        await talk.post(OWNER, root)
        await talk.starts()
        for message_id in hidden:
            await talk.real.answer_to(message_id, within_s=60)
        await talk.real.until_idle()
    await talk.asks(root)
    await talk.asks(root)

    told = talk.told(*talk.asked[begun:])
    assert [words for _, words in told] == await talk.should_be_told(root, first)
    assert {name for name, _ in told} == {"Bob", "Olga (unverified)", "Hermes (this bot)"}
    assert NEW_MESSAGE not in talk.request(talk.asked[-1]).prompt
    beginning = talk.request(talk.asked[begun - 1]).prompt
    assert "[Earlier in this thread]" in beginning
    assert "(7 messages left out)" in beginning


async def test_a_long_backlog_drains_with_the_newest_five_ahead(talk: Talk) -> None:
    """Deleted neighbours and a deleted frontier hide and repeat nothing."""
    root = await talk.post("bob")
    first = await talk.asks(root)
    begun = len(talk.asked)
    posted = [await talk.post(login, root) for login in ("bob", OWNER, "hermes") * 12]
    stage = talk.real.stage
    await talk.stranger.delete(stage.scene.room_id, posted[1])
    await stage.scene.people["alice"].delete(stage.scene.room_id, first)
    await talk.asks(root)
    ((frontier,),) = talk.real.rows(
        "select frontier_id from threads where thread_root_id = ?", root
    )
    await talk.stranger.delete(stage.scene.room_id, frontier)
    await talk.asks(root)
    await talk.asks(root)

    told = [words for _, words in talk.told(*talk.asked[begun:])]
    numbers = [int(words[1:]) for words in told]
    assert len(set(told)) == len(told) == 35
    assert numbers[20:25] == sorted(numbers)[-5:]
    assert numbers[:20] + numbers[25:] == sorted(numbers)[:-5]
    assert "(10 messages still to come)" in talk.request(talk.asked[begun]).prompt


async def test_a_clean_slate_is_clean_and_a_command_parses(talk: Talk) -> None:
    """Context rides beside the text; nothing from before the command comes (handed S24)."""
    root = await talk.post("bob")
    await talk.asks(root)
    old = await talk.posts("bob", root)
    command = await talk.post("alice", root, "@hermes /new")
    await talk.real.answer_to(command)
    new = await talk.posts("bob", root)
    await talk.asks(root)

    request = talk.request(talk.asked[-1])
    everything = "\n".join(str(each.get("content")) for each in request.messages)
    assert new in everything
    assert old not in everything
    assert talk.asked[-2] not in everything


async def test_a_reply_in_the_room_brings_its_target_and_the_room(talk: Talk) -> None:
    """What is older, strangers and own posts marked (handed S10); the thread begins seeded."""
    report = await talk.post("hermes", words="deploy done")
    await talk.post(OWNER, words="hm")
    question = await talk.asks(reply_to=report)
    asked = talk.request(talk.asked[-1]).prompt
    since = await talk.posts("bob", question)
    await talk.asks(question, reply_to=question)

    assert asked.startswith('[Replying to your previous message: "deploy done"]')
    lines = talk.told(talk.asked[-2])[-2:]
    assert lines == [("Hermes (this bot)", "deploy done"), ("Olga (unverified)", "hm")]
    assert "[Earlier in this room]" in asked
    assert talk.told(talk.asked[-1]) == [("Bob", since)]


async def test_a_lost_state_file_loses_no_line_and_no_answer_is_news(talk: Talk) -> None:
    """The transcript says what the session holds: questions, and what was posted to them."""
    root = await talk.post("bob", words="the beginning")
    await talk.asks(root)
    before = await talk.posts("bob", root)
    await talk.asks(root)
    await talk.stops()
    state = talk.real.stage.gateway.state.path
    for file in state.parent.glob(f"{state.name}*"):
        file.unlink()
    lines = [await talk.posts(login, root) for login in ("bob", OWNER, "hermes") * 10]
    await talk.starts()
    begun = len(talk.asked)
    for _ in range(3):
        await talk.asks(root)

    told = [words for _, words in talk.told(*talk.asked[begun:])]
    assert sorted(told) == sorted(["the beginning", before, *lines])
    assert talk.told(talk.asked[-1]) == []
    sql = "select state from threads where thread_root_id = ?"
    assert talk.real.rows(sql, root) == [("seeded",)]
