"""Sets the stage: server, people, room, model and gateway; and takes all of it down again."""

import secrets
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import anyio

from ..gateway_process import (
    GatewayFailedError,
    GatewayProcess,
    GatewaySetup,
    clean_environment,
)
from ..guarded import GuardedProgram, ProgramEndedError
from ..model import Script, ScriptedModel
from . import closing
from .people import AGENT, OWNER, Participant, sign_in
from .screen import Screen
from .story import Scene
from .watcher import Watcher

__all__ = ["PEOPLE", "Stage", "StageError", "open_stage"]

PEOPLE = ("alice", "bob")
ROOM = "workshop"
START_SERVER_WITHIN_S = 60.0


class StageError(Exception):
    """The stage cannot be set; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that runs."""

    url: str
    """Of the chat server."""
    scene: Scene
    agent: Participant
    """The agent's account, for what its operator does: joining rooms."""
    watcher: Watcher
    gateway: GatewayProcess
    model: ScriptedModel
    elsewhere: Scene | None = None
    """The server of the second profile's own, where it has one."""


@asynccontextmanager
async def open_stage(  # noqa: PLR0913 - each is something a stage may differ in
    screen: Screen,
    server: str | None,
    script: Script,
    config: Mapping[str, object] | None = None,
    people: Sequence[str] = PEOPLE,
    *,
    second: str | None = None,
    is_apart: bool = False,
) -> AsyncIterator[Stage]:
    """Set the stage, and leave nothing of it behind, whatever happens.

    Args:
        screen: told what is going on.
        server: address of a running server with the sandbox's accounts; None: start one.
        script: of the model.
        config: blocks of the gateway's `config.yaml` in place of ours; None: none.
        people: logins of those who are in the room and may talk to the agent; Alice is one.
        second: login of the agent of a second profile, which is called like it; None: there is
            one profile.
        is_apart: whether that one is on a server of its own, with people of the same names.

    Raises:
        StageError: the server did not start.
        GatewayFailedError: the gateway did not start, or the plugin did not connect.
        ChatError: the server refuses what the people do.
    """
    async with AsyncExitStack() as stack:
        url = server or await _start_server(stack, screen)
        other_url = await _start_server(stack, screen) if is_apart else url
        model = stack.enter_context(ScriptedModel(script))
        urls = {AGENT: url, **({second: other_url} if second else {})}
        gateway = await GatewayProcess.start(_setup(urls, model, config, people))
        stack.push_async_callback(gateway.aclose)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        watcher = Watcher(screen)
        with screen.during("Starting the Hermes gateway"):
            scene, agent = await _gather_people(url, AGENT, watcher, people)
            elsewhere: Scene | None = None
            if second is not None and is_apart:
                elsewhere, _ = await _gather_people(other_url, second, watcher, people)
            elif second is not None:
                await (await sign_in(url, second)).join(scene.room_id)
            others = elsewhere.people.values() if elsewhere is not None else ()
            for person in (*scene.people.values(), *others):
                await tasks.start(partial(watcher.follow, person))
            try:
                await gateway.until_live(screen.tick)
            except GatewayFailedError:
                closing.keep_logs(gateway)
                raise
        yield Stage(url, scene, agent, watcher, gateway, model, elsewhere)


async def _start_server(stack: AsyncExitStack, screen: Screen) -> str:
    """Start a sandbox server and return its address."""
    command = [sys.executable, "-m", "hermes_chatto.actors.sandbox.server", "--port", "0"]
    with screen.during("Starting the Chatto server"):
        program = await GuardedProgram.start(command, clean_environment())
        stack.push_async_callback(program.aclose)
        try:
            with anyio.fail_after(START_SERVER_WITHIN_S):
                line = await program.next_line()
        except ProgramEndedError as error:
            message = f"The Chatto server did not start: {error}."
            raise StageError(message) from error
        except TimeoutError as error:
            message = f"The Chatto server did not start within {START_SERVER_WITHIN_S:.0f} s."
            raise StageError(message) from error
    return line.split()[-1]


def _setup(
    urls: Mapping[str, str],
    model: ScriptedModel,
    config: Mapping[str, object] | None,
    people: Sequence[str],
) -> GatewaySetup:
    """Describe the gateway.

    Args:
        urls: the server of each agent, by login; the first profile's is `AGENT`.
        model: what the agents ask.
        config: see `open_stage`.
        people: see `open_stage`.
    """
    of = {
        login: {
            "CHATTO_URL": url,
            "CHATTO_ALLOWED_USERS": ",".join(people),
            "CHATTO_LOGIN": login,
            "CHATTO_PASSWORD": f"{login}-pass-1",
        }
        for login, url in urls.items()
    }
    profiles = {login: variables for login, variables in of.items() if login != AGENT}
    return GatewaySetup(model.base_url, of[AGENT], config, profiles)


async def _gather_people(
    url: str, agent_login: str, watcher: Watcher, logins: Sequence[str]
) -> tuple[Scene, Participant]:
    """Sign everybody in and bring them together in a new room."""
    owner, agent = await sign_in(url, OWNER), await sign_in(url, agent_login)
    people = {login: await sign_in(url, login) for login in logins}
    taken = await owner.rooms()
    name = ROOM if ROOM not in taken else f"{ROOM}-{secrets.token_hex(3)}"
    room_id = await owner.make_room(name)
    for person in (agent, *people.values()):
        await person.join(room_id)
    direct_id = await people["alice"].direct_room(agent.account)
    watcher.call(room_id, f"#{name}")
    watcher.call(direct_id, "direct")
    return Scene(people, room_id, direct_id, agent.account.user_id), agent
