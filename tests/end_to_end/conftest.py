"""The real gateway, started once for a module, with people around it."""

import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from hermes_chatto.actors.sandbox.demo.screen import Screen
from hermes_chatto.actors.sandbox.demo.stage import Stage, open_stage
from hermes_chatto.actors.sandbox.model import echo
from hermes_chatto.actors.sessions.facts import Message


@dataclass(frozen=True)
class RealGateway:
    """A gateway process with the plugin, a server process, and the people who talk to it.

    What the agent answers is steered by markers in the messages, see `actors.sandbox.model`.
    """

    stage: Stage

    async def says(self, login: str, body: str, *, thread: str | None = None) -> str:
        """Let a person post into the room, or a thread of it; return the message's ID."""
        person = self.stage.scene.people[login]
        return await person.say(body, self.stage.scene.room_id, thread=thread)

    async def says_alone(self, body: str) -> str:
        """Let Alice write to the agent directly; return the message's ID."""
        return await self.stage.scene.people["alice"].say(body, self.stage.scene.direct_id)

    async def answer_to(self, message_id: str, within_s: float = 40.0) -> Message:
        """Wait until the server holds an answer that points at a message."""
        own = self.stage.scene.agent_id
        found = await self.stage.watcher.until(
            lambda each: each.in_reply_to == message_id and each.author_id == own, within_s
        )
        assert found is not None, f"no answer to {message_id}; {self.story(message_id)}"
        return found

    async def until(self, claim: Callable[[], Awaitable[bool]], within_s: float = 20.0) -> None:
        """Look again and again until something is true; fails when it does not become true."""
        with anyio.fail_after(within_s):
            while not await claim():  # noqa: ASYNC110 - another process makes it true
                await anyio.sleep(0.1)

    async def until_at(self, message_id: str, step: str) -> None:
        """Wait until a turn has taken a step, such as `handed -> processing`."""

        async def is_at() -> bool:
            return step in self.story(message_id)

        await self.until(is_at)

    async def until_idle(self) -> None:
        """Wait until no turn is open any more."""

        async def is_idle() -> bool:
            return not self.rows("select 1 from open_turns")

        await self.until(is_idle)

    async def thread(self, root_id: str) -> Sequence[Message]:
        """Read a thread of the room from the server, root first."""
        return await self.stage.scene.people["alice"].thread(self.stage.scene.room_id, root_id)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Read the state file as an operator would."""
        return self.stage.gateway.state.rows(sql, *values)

    def story(self, message_id: str) -> list[str]:
        """Return the steps of a turn's own machine."""
        steps = self.stage.gateway.state.story(message_id)
        return [step.step for step in steps if step.machine == "turn"]

    def complaints(self) -> list[str]:
        """Return what the plugin wrote into the gateway's log as a warning or worse."""
        log = self.stage.gateway.logs[0].read_text(encoding="utf-8")
        ours = [line for line in log.splitlines() if " hermes_plugins.chatto" in line]
        return [line for line in ours if " INFO " not in line]


@pytest.fixture(scope="module")
async def real_gateway() -> AsyncIterator[RealGateway]:
    """Start server, model and gateway: some ten seconds; nothing else runs beside them."""
    async with open_stage(Screen(io.StringIO()), None, echo) as stage:
        yield RealGateway(stage)
