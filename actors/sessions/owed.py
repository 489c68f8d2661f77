"""Answers that the gateway owes since before a restart, told from everything else it says.

It hands them over without their question, behind a line of its own. They are known by the text
they end in, which the gateway keeps, never by that line.
Source: contract with Hermes 0.22, §8.4; gateway/delivery_ledger.py.
"""

from dataclasses import replace
from typing import Final

from .ports import Outgoing
from .services import Services
from .turn import TurnActor

__all__ = ["OWED", "OwedAnswers"]

OWED: Final = "answer_owed"
"""Reason of an interrupted turn whose answer the gateway will hand over."""


class OwedAnswers:
    """Recognises them for the lanes."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services

    async def text_in(self, outgoing: Outgoing) -> str | None:
        """Return the owed answer that a text ends in; None: it is something else.

        Whatever comes with a question, a job or as a run's own answer is nothing of the kind.
        """
        if outgoing.is_final or outgoing.job_id is not None or outgoing.answers_id is not None:
            return None
        key = self._services.lane_of(outgoing.room_id, outgoing.thread_root_id)
        owed = await self._services.gateway.owed_answers(key)
        found = [each for each in owed if outgoing.text.endswith(each)]
        return max(found, key=len, default=None)

    async def as_answer(self, outgoing: Outgoing, turn: TurnActor | None) -> Outgoing:
        """Return a text as the answer of the turn that waits for it, else as it is.

        The process ended under that turn before a word of its answer was written down here. A
        turn that is being stopped has one that nobody wants any more.
        """
        if turn is None:
            return outgoing
        is_awaited = turn.state == "interrupted" and turn.row.reason == OWED
        if not is_awaited and turn.state not in {"correcting", "stopping"}:
            return outgoing
        text = await self.text_in(outgoing)
        return outgoing if text is None else replace(outgoing, text=text, is_final=True)
