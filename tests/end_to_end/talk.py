"""A thread in which people, a stranger and another program speak, and what is told of it."""

import io
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hermes_chatto.actors.sandbox.demo.people import OWNER, Participant, sign_in
from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import open_stage
from hermes_chatto.actors.sandbox.model import NEW_MESSAGE, Request, echo
from hermes_chatto.actors.sessions.facts import Message

from .conftest import RealGateway

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

    async def question(
        self, thread: str | None = None, *, reply_to: str | None = None, more: str = ""
    ) -> str:
        """Let Alice ask; return the message."""
        stage = self.real.stage
        self.number += 1
        self.asked.append(f"q{self.number}q")
        body = f"@hermes {self.asked[-1]} {more}".strip()
        alice = stage.scene.people["alice"]
        return await alice.say(body, stage.scene.room_id, thread=thread, reply_to=reply_to)

    async def asks(
        self, thread: str | None = None, *, reply_to: str | None = None, more: str = ""
    ) -> str:
        """Let Alice ask, and wait for the answer; return the message."""
        message_id = await self.question(thread, reply_to=reply_to, more=more)
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
        asked = "select 1 from turns where message_id = ?"
        answered = f"{asked} and state <> 'bypassed'"  # the session holds no command's answer
        return bool(
            self.real.rows(asked, message.message_id)
            or self.real.rows(answered, message.in_reply_to)
        )


@asynccontextmanager
async def open_talk(config: Mapping[str, object] | None = None) -> AsyncIterator[Talk]:
    """Start a gateway, with these blocks in its configuration, and let a stranger in."""
    async with open_stage(Screen(io.StringIO()), None, echo, config) as stage:
        stranger = await sign_in(stage.url, OWNER)
        await stranger.join(stage.scene.room_id)
        yield Talk(RealGateway(stage), stranger)


async def everybody_posts(talk: Talk, thread: str, times: int = 1) -> None:
    """Let people, a stranger and another program under the account say something."""
    for _ in range(times):
        for login in ("bob", OWNER, "hermes"):
            await talk.post(login, thread)
