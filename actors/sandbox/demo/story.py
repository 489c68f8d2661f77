"""What is said in the demo, and what the agent should answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ...sessions.facts import Message
from ..model import Request
from .people import AGENT, Participant
from .screen import Screen
from .watcher import Watcher

__all__ = ["STORY", "Line", "Scene", "Told", "Where", "answer", "tell"]

ANSWER_WITHIN_S = 60.0  # the first turn of a gateway imports for ten seconds


class Where(Enum):
    """Where something is said."""

    ROOM = "in the room"
    THREAD = "in the thread of the first message"
    DIRECT = "in a direct message"


@dataclass(frozen=True, slots=True)
class Line:
    """One message of the story."""

    speaker: str
    where: Where
    body: str
    answer: str | None
    """What the agent says to it; None: it is not meant for the agent."""
    needs: str = ""
    """What must have been said before in the same session, or the agent does not understand."""


STORY: Sequence[Line] = (
    Line(
        speaker="alice",
        where=Where.ROOM,
        body=f"@{AGENT} which of our builds is red?",
        answer="One of three: `linux-arm`. Its test `test_clock` fails.",
    ),
    Line(
        speaker="alice",
        where=Where.THREAD,
        body="Since when?",
        answer="Since Tuesday, with commit `4f2c9e1`, *Count in milliseconds*, by Bob.",
        needs="which of our builds is red?",
    ),
    Line(
        speaker="bob",
        where=Where.THREAD,
        body=f"@{AGENT} what do I have to do with it?",
        answer="Alice asked which build is red, and the commit that broke it is yours, Bob.",
        needs="Since when?",
    ),
    Line(
        speaker="bob",
        where=Where.ROOM,
        body="@alice shall we have lunch at noon?",
        answer=None,
    ),
    Line(
        speaker="alice",
        where=Where.DIRECT,
        body="How do I run one test alone?",
        answer="Like this:\n```\n./dev test tests/test_clock.py\n```",
    ),
)


def answer(request: Request) -> str:
    """Be the model: answer the story's questions, and repeat whatever else is said.

    The question is the last line of the prompt: what was said earlier stands above it.
    """
    asked = next(reversed(request.prompt.strip().splitlines()), "")
    for line in STORY:
        if line.answer is not None and line.body in asked:
            said = "\n".join(str(message.get("content")) for message in request.messages)
            return line.answer if line.needs in said else "I do not know what this is about."
    questions = sum(message.get("role") == "user" for message in request.messages)
    return f"I only follow a script. Question {questions} in this conversation: {asked}"


@dataclass(frozen=True, slots=True)
class Told:
    """A line that was said, as a message of the server."""

    line: Line
    message_id: str
    room_id: str
    thread_root_id: str | None
    """Where the answer belongs; None: it is a direct conversation."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Where the story plays, and who is in it."""

    people: Mapping[str, Participant]
    room_id: str
    direct_id: str
    """Alice's conversation with the agent."""
    agent_id: str
    """User ID."""


async def tell(scene: Scene, watcher: Watcher, screen: Screen) -> Sequence[Told]:
    """Say line after line, each when the one before is answered; stop where none comes."""
    told: list[Told] = []
    for line in STORY:
        root_id = told[0].message_id if told and line.where is Where.THREAD else None
        told.append(await _say(scene, line, root_id))
        message_id = told[-1].message_id
        await watcher.until(_is(message_id), within_s=ANSWER_WITHIN_S)
        if line.answer is None:
            continue
        with screen.during(f"{AGENT} thinks", is_step=False):
            is_answer = _answers(message_id, scene.agent_id)
            answered = await watcher.until(is_answer, within_s=ANSWER_WITHIN_S)
        if answered is None:
            screen.say(f"{AGENT} has said nothing for {ANSWER_WITHIN_S:.0f} s; here it ends.")
            break
    return told


async def _say(scene: Scene, line: Line, root_id: str | None) -> Told:
    room_id = scene.direct_id if line.where is Where.DIRECT else scene.room_id
    message_id = await scene.people[line.speaker].say(line.body, room_id, thread=root_id)
    answered_in = None if line.where is Where.DIRECT else root_id or message_id
    return Told(line, message_id, room_id, answered_in)


def _is(message_id: str) -> Callable[[Message], bool]:
    return lambda message: message.message_id == message_id


def _answers(message_id: str, agent_id: str) -> Callable[[Message], bool]:
    return lambda message: message.in_reply_to == message_id and message.author_id == agent_id
