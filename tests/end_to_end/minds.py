"""Real gateways in each of their busy modes, and people in them who change their minds.

What a person asks carries a tag, a word and the number of its wording (`fig-v0`); the model
answers with the tag. So every prompt and every answer tells whose it is, and how old its words.
"""

import io
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskStatus

from hermes_chatto.actors.sandbox.demo.people import OWNER
from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import open_stage
from hermes_chatto.actors.sandbox.model import Request, echo

from .conftest import RealGateway
from .puppet import CONFIG, Strings

MODES: Final = ("interrupt", "queue", "steer")
PEOPLE: Final = ("alice", "bob", "carol", "dave")
TAG: Final = re.compile(r"(\w+)-v(\d+)")
PAUSE_MS: Final = 500
PATIENCE_S: Final = 60.0


@dataclass(frozen=True)
class Tag:
    """A question in one of its wordings."""

    word: str
    version: int

    def __str__(self) -> str:
        """Return what stands in the messages."""
        return f"{self.word}-v{self.version}"


def tags_in(text: str) -> Sequence[Tag]:
    """Return the tags of a text, in order."""
    return [Tag(word, int(version)) for word, version in TAG.findall(text)]


def asked(word: str, version: int = 0, *, wait_s: float = 0.0) -> str:
    """Return a question about which the model thinks for so long."""
    tag = f"{word}-v{version}"
    return f"@hermes {tag} {{{{wait {wait_s}}}}} {{{{say {tag}}}}}"


def tooled(word: str, version: int = 0, *, seconds: float) -> str:
    """Return a question for which a tool is called that listens to no interrupt."""
    arguments = {"seconds": seconds, "word": f"{word}-v{version}"}
    call = json.dumps({"name": "stubborn", "arguments": arguments})
    return f"{asked(word, version)} {{{{call tool_call {call}}}}}"


@dataclass(frozen=True)
class Play:
    """A gateway in one mode, with the people around it."""

    mode: str
    real: RealGateway
    strings: Strings

    @property
    def prompts(self) -> Sequence[Request]:
        """What agents asked the model; naming a session is no agent's prompt, and has no tools."""
        return [each for each in self.real.stage.model.requests if each.tools]

    def prompts_with(self, text: str) -> Sequence[Request]:
        """Return the prompts that hold a text anywhere."""
        return [each for each in self.prompts if text in everything_in(each)]

    async def edits(self, login: str, message_id: str, body: str) -> None:
        """Let a person change a message; the owner may also change another's."""
        scene = self.real.stage.scene
        await scene.people[login].edit(scene.room_id, message_id, body)

    async def deletes(self, login: str, message_id: str) -> None:
        """Let a person delete their message."""
        scene = self.real.stage.scene
        await scene.people[login].delete(scene.room_id, message_id)

    async def until_prompted(self, text: str) -> None:
        """Wait until a text has reached the model."""
        await self.until(lambda: bool(self.prompts_with(text)))

    async def until_tool_runs(self, word: str) -> None:
        """Wait until the stubborn tool is at work on a question."""

        async def runs() -> bool:
            return ("tool", word) in await self.strings.steps()

        await self.real.until(runs, PATIENCE_S)

    async def until_state(self, message_id: str, *states: str) -> None:
        """Wait until a turn is in one of these states."""
        await self.until(lambda: self.state_of(message_id) in states)

    async def until_idle(self) -> None:
        """Wait until no turn is open."""
        await self.until(lambda: not self.real.rows("select 1 from open_turns"), 2 * PATIENCE_S)

    async def until(self, claim: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
        """Look again and again until something is true; fails when it does not become true."""
        with anyio.fail_after(within_s):
            while not claim():  # noqa: ASYNC110 - another process makes it true
                await anyio.sleep(0.02)

    def state_of(self, message_id: str) -> str | None:
        """Return where a turn stands; None: it has no row."""
        found = self.real.rows("select state from turns where message_id = ?", message_id)
        return str(found[0][0]) if found else None

    def reasons(self, message_id: str) -> Sequence[str]:
        """Return the reasons that were noted with the steps of a turn."""
        sql = "select reason from turn_story where message_id = ? and machine = 'turn'"
        return [str(reason) for (reason,) in self.real.rows(sql, message_id) if reason]

    def said_elsewhere(self) -> Sequence[str]:
        """Return what people saw of the agent that answers no message: notices, say."""
        scene, seen = self.real.stage.scene, self.real.stage.watcher.seen
        own = [each for each in seen.values() if each.author_id == scene.agent_id]
        return [each.body for each in own if each.in_reply_to is None]

    async def answers(self, root_id: str) -> Sequence[tuple[str | None, str]]:
        """Return what the agent's account posted in a thread: to which message, which words."""
        own = self.real.stage.scene.agent_id
        posts = await self.real.thread(root_id)
        return [(each.in_reply_to, each.body) for each in posts if each.author_id == own]


def everything_in(request: Request) -> str:
    """Return all words of a prompt."""
    return json.dumps(list(request.messages))


@asynccontextmanager
async def open_plays(modes: Sequence[str] = MODES) -> AsyncIterator[Mapping[str, Play]]:
    """Start a gateway in each of these modes, all at once."""
    plays: dict[str, Play] = {}
    is_over = anyio.Event()
    async with anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as starts:
            for mode in modes:
                starts.start_soon(partial(_start, tasks.start, mode, plays, is_over))
        try:
            yield plays
        finally:
            is_over.set()


async def _start(
    start: Callable[..., Awaitable[Play]], mode: str, plays: dict[str, Play], is_over: anyio.Event
) -> None:
    plays[mode] = await start(_hold, mode, is_over)


async def _hold(mode: str, is_over: anyio.Event, *, task_status: TaskStatus[Play]) -> None:
    """Keep a stage open; it is closed by the task that opened it."""
    config = {
        **CONFIG,
        "display": {"busy_input_mode": mode},
        "platforms": {"chatto": {"enabled": True, "extra": {"edit_debounce_ms": PAUSE_MS}}},
    }
    async with open_stage(Screen(io.StringIO()), None, echo, config, (*PEOPLE, OWNER)) as stage:
        home: Path = stage.gateway.logs[0].parent.parent
        task_status.started(Play(mode, RealGateway(stage), Strings(home)))
        await is_over.wait()


async def in_each(plays: Mapping[str, Play], scenario: Callable[[Play], Awaitable[None]]) -> None:
    """Play a scenario in every mode, side by side."""

    async def play_in(play: Play) -> None:
        try:
            await scenario(play)
        except BaseException as error:
            error.add_note(f"in the mode {play.mode}")
            raise

    async with anyio.create_task_group() as tasks:
        for play in plays.values():
            tasks.start_soon(play_in, play)
