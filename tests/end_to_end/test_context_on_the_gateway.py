"""What the model is really sent: the prompts are compared with the thread, line by line."""

import io
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from hermes_chatto.actors.sandbox.demo.people import OWNER, Participant, sign_in
from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import open_stage
from hermes_chatto.actors.sandbox.model import NEW_MESSAGE, Request, echo
from hermes_chatto.actors.sessions.facts import Message

from .conftest import RealGateway

pytestmark = pytest.mark.timeout(200)  # each start takes some ten seconds

LINE = re.compile(r"- ([^:]+): (.*)")
LIVES = "select count(*) from transitions where machine = 'connection' and event = 'go_live'"


@dataclass
class Talk:
    """A gateway, people who ask, a stranger, and another program under the agent's account."""

    real: RealGateway
    stranger: Participant
    number: int = 0
    asked: list[str] = field(default_factory=list)
    """Words of the questions, in order."""

    async def posts(self, login: str, thread: str | None = None, words: str = "") -> str:
        """Let somebody say what nobody else says; return the words."""
        await self.post(login, thread, words)
        return words or f"w{self.number}"

    async def post(self, login: str, thread: str | None = None, words: str = "") -> str:
        """Let somebody say something; return the message."""
        stage = self.real.stage
        others = {"hermes": stage.agent, OWNER: self.stranger}
        person = others.get(login) or stage.scene.people[login]
        self.number += 1
        return await person.say(words or f"w{self.number}", stage.scene.room_id, thread=thread)

    async def question(self, thread: str | None = None, *, reply_to: str | None = None) -> str:
        """Let Alice ask; return the message."""
        stage = self.real.stage
        self.number += 1
        self.asked.append(f"q{self.number}q")
        body = f"@hermes {self.asked[-1]}"
        alice = stage.scene.people["alice"]
        return await alice.say(body, stage.scene.room_id, thread=thread, reply_to=reply_to)

    async def asks(self, thread: str | None = None, *, reply_to: str | None = None) -> str:
        """Let Alice ask, and wait for the answer; return the message."""
        message_id = await self.question(thread, reply_to=reply_to)
        await self.real.answer_to(message_id)
        await self.real.until_idle()
        return message_id

    def request(self, words: str) -> Request:
        """Return what the model was sent when these words were asked."""
        requests = [each for each in self.real.stage.model.requests if each.tools]
        return next(each for each in reversed(requests) if words in each.question)

    def told(self, *asked: str) -> list[tuple[str, str]]:
        """Return names and words of all lines that came with these questions, in order."""
        blocks = [self.request(words).prompt.rpartition(NEW_MESSAGE)[0] for words in asked]
        return [found for block in blocks for found in LINE.findall(block)]

    async def stops(self, *, kills: bool = False) -> None:
        """End the gateway."""
        gateway = self.real.stage.gateway
        await (gateway.kill() if kills else gateway.stop())

    async def starts(self) -> None:
        """Start it again, and wait until it hears the server."""
        before = self.real.rows(LIVES)
        await self.real.stage.gateway.start_again()

        async def is_live() -> bool:
            return self.real.rows(LIVES) not in ([], before, [(0,)])

        await self.real.until(is_live, 60.0)

    async def should_be_told(self, thread: str, since: str) -> list[str]:
        """Return what stands in a thread behind a question, its own and its answers apart."""
        posts = list(await self.real.thread(thread))
        begun = [each.message_id for each in posts].index(since)
        return [each.body for each in posts[begun + 1 :] if not self.is_own(each)]

    def is_own(self, message: Message) -> bool:
        """Tell whether a message is a question or an answer of the agent's."""
        sql = "select 1 from turns where message_id = ?"
        asked_by = message.message_id, message.in_reply_to
        return any(self.real.rows(sql, message_id) for message_id in asked_by)


@pytest.fixture(scope="module")
async def talk() -> AsyncIterator[Talk]:
    """Start a gateway that is ended and started again."""
    async with open_stage(Screen(io.StringIO()), None, echo) as stage:
        stranger = await sign_in(stage.url, OWNER)
        await stranger.join(stage.scene.room_id)
        yield Talk(RealGateway(stage), stranger)


async def everybody_posts(talk: Talk, thread: str, times: int = 1) -> None:
    """Let people, a stranger and another program under the account say something."""
    for _ in range(times):
        for login in ("bob", OWNER, "hermes"):
            await talk.post(login, thread)


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
