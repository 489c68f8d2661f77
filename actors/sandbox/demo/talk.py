"""The reader joins in: types as a person, and sees the agent's answers and transitions."""

from dataclasses import dataclass, replace
from typing import Final

import anyio
from anyio.abc import TaskGroup

from ...sessions.errors import ChatError
from ..state_file import Step
from .people import Participant, sign_in
from .screen import Screen
from .stage import Stage
from .typed_lines import TypedLines

__all__ = ["talk"]

HELP: Final = """\
What you type is posted: as {login}, {place}. Mention @hermes in a room; in a thread where it has
answered you, and in a direct message, that is not needed.
  /as NAME      be somebody else: alice or bob; carol and dave are not on the agent's list
  /room [NAME]  talk in a room
  /thread [ID]  talk in a thread: the newest one, or that of a message
  /dm           talk to the agent alone
  /quit         or the end of the input
A line that begins with // is posted with one slash: //new is a command for the agent."""

DIRECT: Final = "direct"
LOOK_EVERY_S: Final = 0.2
QUIET_S: Final = 2.0
"""So long without anything new, and with nothing open, counts as the end of all answers."""
ANSWERS_WITHIN_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Spot:
    """As whom and where the reader talks."""

    login: str
    room_id: str
    label: str
    thread_root_id: str | None = None


async def talk(stage: Stage, screen: Screen) -> None:
    """Take lines from standard input until it ends or `/quit` comes."""
    async with anyio.create_task_group() as tasks:
        conversation = _Conversation(stage, screen, tasks)
        tasks.start_soon(conversation.show_transitions)
        conversation.explain()
        lines = TypedLines()
        while True:
            line = await lines.next()
            if line is None or line == "/quit":
                break
            await conversation.take(line)
        screen.ask("")
        with screen.during("Waiting for what is still open", is_step=False):
            await conversation.settle()
        tasks.cancel_scope.cancel()


class _Conversation:
    """What the reader has chosen so far."""

    def __init__(self, stage: Stage, screen: Screen, tasks: TaskGroup) -> None:
        self._stage = stage
        self._screen = screen
        self._tasks = tasks
        self._people = dict(stage.scene.people)
        self._spot = Spot("alice", stage.scene.room_id, "in the room")
        steps = stage.gateway.state.steps_after(0)
        self._seq = steps[-1].seq if steps else 0
        self._last_news = anyio.current_time()

    def explain(self) -> None:
        """Say what can be done."""
        self._screen.say()
        self._screen.say(HELP.format(login=self._spot.login, place=self._spot.label))
        self._screen.say()
        self._prompt()

    async def take(self, line: str) -> None:
        """Do what a line asks for; a refusal of the server is shown, and that is all."""
        word, _, rest = line.partition(" ")
        try:
            await self._obey(word, rest.strip(), line)
        except ChatError as error:
            self._screen.say(f"The server refuses: {error}")
        self._prompt()

    async def show_transitions(self) -> None:
        """Show every step of every machine as it is written."""
        while True:
            for step in self._stage.gateway.state.steps_after(self._seq):
                self._seq, self._last_news = step.seq, anyio.current_time()
                self._screen.say(_described(step))
            await anyio.sleep(LOOK_EVERY_S)

    async def settle(self) -> None:
        """Wait until the agent has nothing more to say."""
        self._last_news = anyio.current_time()
        with anyio.move_on_after(ANSWERS_WITHIN_S):
            while True:
                health = self._stage.gateway.state.health()
                is_open = health is not None and health.open_turns + health.parts_under_way > 0
                if not is_open and anyio.current_time() - self._last_news >= QUIET_S:
                    return
                self._screen.tick()
                await anyio.sleep(LOOK_EVERY_S)

    async def _obey(self, word: str, rest: str, line: str) -> None:
        match word:
            case "":
                return
            case "/as":
                await self._become(rest)
            case "/room":
                await self._enter_room(rest.removeprefix("#"))
            case "/thread":
                self._enter_thread(rest)
            case "/dm":
                await self._enter_direct()
            case _ if word.startswith("/") and not word.startswith("//"):
                self.explain()
            case _:
                text = line.removeprefix("/") if word.startswith("//") else line
                spot = self._spot
                await self._person.say(text, spot.room_id, thread=spot.thread_root_id)

    @property
    def _person(self) -> Participant:
        return self._people[self._spot.login]

    async def _become(self, login: str) -> None:
        """Be somebody else, in the room: a thread or a direct message was the other's."""
        if login not in self._people:
            person = await sign_in(self._stage.url, login)
            await person.join(self._stage.scene.room_id)
            await self._tasks.start(self._stage.watcher.follow, person)
            self._people[login] = person
        self._spot = Spot(login, self._stage.scene.room_id, "in the room")

    async def _enter_room(self, name: str) -> None:
        """Go into a channel, and bring the agent along; no name: that of the story."""
        room_id, label = self._stage.scene.room_id, "in the room"
        if name:
            known = await self._person.rooms()
            if name not in known:
                self._screen.say(f"There is no room {name}; there are {', '.join(known)}.")
                return
            room_id, label = known[name], f"in #{name}"
            self._stage.watcher.call(room_id, f"#{name}")
            for each in (self._person, self._stage.agent):
                await each.join(room_id)
        self._spot = replace(self._spot, room_id=room_id, label=label, thread_root_id=None)

    def _enter_thread(self, message_id: str) -> None:
        """Go into the thread of a message; no ID: the newest one of this room."""
        seen = self._stage.watcher.seen
        here = [each for each in seen.values() if each.room_id == self._spot.room_id]
        if message_id:
            here = [each for each in here if each.message_id == message_id]
        if not here or self._spot.label == DIRECT:
            self._screen.say("There is no such thread here.")
            return
        root_id = here[-1].thread_root_id or here[-1].message_id
        self._spot = replace(self._spot, label="in a thread", thread_root_id=root_id)

    async def _enter_direct(self) -> None:
        room_id = await self._person.direct_room(self._stage.agent.account)
        self._stage.watcher.call(room_id, DIRECT)
        self._spot = replace(self._spot, room_id=room_id, label=DIRECT, thread_root_id=None)

    def _prompt(self) -> None:
        self._screen.ask(f"{self._spot.login}, {self._spot.label}> ")


def _described(step: Step) -> str:
    about = step.message_id or step.key
    reason = f" ({step.reason})" if step.reason else ""
    return f"{'':<12} · {step.machine} {about}: {step.event}, {step.step}{reason}"
