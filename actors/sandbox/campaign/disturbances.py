"""What goes wrong with the server while processes are killed, by chance."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeAlias

from ..server.faults import NoFaults
from ..server.refusals import Code
from ..server.switches import (
    POST,
    AnswerFirst,
    CutStream,
    DelayFrame,
    EchoFirst,
    LoseAnswer,
    Refuse,
    RepeatFrame,
    Slow,
)

__all__ = ["some"]

READ: Final = "MessageService/BatchGetMessages"
POSTED: Final = "message_posted"
TRY_AGAIN_LATER: Final = 1013  # a close code of WebSockets

Make: TypeAlias = Callable[[str], NoFaults]
"""Makes a fault for an account."""

FAULTS: Final[Sequence[Make]] = (
    lambda agent: LoseAnswer(POST, user_id=agent),
    lambda agent: Refuse(POST, Code.UNAVAILABLE, user_id=agent),
    lambda agent: Refuse(POST, Code.UNAVAILABLE, is_applied=True, user_id=agent),
    lambda agent: Refuse(POST, Code.INTERNAL, user_id=agent),
    lambda agent: Refuse(POST, Code.INTERNAL, is_applied=True, user_id=agent),
    lambda agent: Refuse(POST, Code.RESOURCE_EXHAUSTED, user_id=agent),
    lambda agent: Refuse(READ, Code.UNAVAILABLE, user_id=agent),
    lambda agent: LoseAnswer(READ, user_id=agent),
    lambda agent: Slow(POST, before_s=0.03, user_id=agent),
    lambda agent: Slow(POST, after_s=0.05, user_id=agent),
    lambda agent: AnswerFirst(user_id=agent),
    lambda agent: EchoFirst(user_id=agent),
    lambda agent: DelayFrame(POSTED, 0.05, user_id=agent),
    lambda agent: RepeatFrame(POSTED, user_id=agent, times=3),
)


DEAFENING: Final[Sequence[Make]] = (
    lambda agent: CutStream(POSTED, user_id=agent),
    lambda agent: CutStream(POSTED, TRY_AGAIN_LATER, user_id=agent),
)
"""What is posted meanwhile is heard of only by those who look back."""


def some(chance: Random, agent_id: str) -> Sequence[NoFaults]:
    """Return the faults of one kill: half of the time none, else one or two."""
    makers = chance.sample((*FAULTS, *DEAFENING), chance.choice((0, 0, 1, 2)))
    return [make(agent_id) for make in makers]
