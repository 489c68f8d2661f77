"""Whether the story came true, judged by nothing but what the server holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from ...sessions.facts import Message
from .people import Participant
from .story import Scene, Told, Where

__all__ = ["Finding", "judge", "read_back"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that had to be true."""

    is_so: bool
    claim: str
    """What was expected."""
    found: str = ""
    """What was found instead; empty when it is so."""


async def read_back(reader: Participant, scene: Scene, since: datetime) -> Sequence[Message]:
    """Read all that was posted where the story plays.

    Args:
        reader: who reads; a member of all of it.
        scene: where it played.
        since: the server's time of the first message.
    """
    rooms = [
        await reader.everything_in(room_id, since) for room_id in (scene.room_id, scene.direct_id)
    ]
    return list(chain.from_iterable(rooms))


def judge(told: Sequence[Told], posted: Sequence[Message], agent_id: str) -> Sequence[Finding]:
    """Compare what was said with what the agent posted.

    Args:
        told: the story as it was told.
        posted: everything the server holds of it.
        agent_id: the agent's user ID.
    """
    own = [message for message in posted if message.author_id == agent_id]
    findings = [_judge_line(each, own) for each in told]
    triggers = {each.message_id for each in told}
    stray = [message.body for message in own if message.in_reply_to not in triggers]
    claim = "the agent posted nothing besides its answers"
    return [*findings, Finding(not stray, claim, f"it posted {stray}" if stray else "")]


def _judge_line(told: Told, own: Sequence[Message]) -> Finding:
    answers = [message for message in own if message.in_reply_to == told.message_id]
    line = told.line
    question = f"{line.speaker.capitalize()}'s “{line.body}”"
    if line.answer is None:
        claim = f"{question}, which is not for the agent, is left alone"
        return Finding(not answers, claim, _described(answers))
    place = "the direct conversation" if line.where is Where.DIRECT else "its thread"
    claim = f"{question} is answered once, in {place}, pointing at it"
    is_so = [(each.body, each.thread_root_id) for each in answers] == [
        (line.answer, told.thread_root_id)
    ]
    return Finding(is_so, claim, "" if is_so else _described(answers))


def _described(answers: Sequence[Message]) -> str:
    if not answers:
        return "there is no answer"
    return f"found {[(each.body, each.thread_root_id) for each in answers]}"
