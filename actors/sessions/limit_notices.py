"""What a person is told whose question is refused by a limit: one plain line, once in a row."""

from collections.abc import Mapping

from ...store import turns
from .journal import Draft
from .notices import Notices
from .services import Services
from .turn import TurnActor

__all__ = ["LimitNotices"]

SENTENCES: Mapping[str, str] = {
    "too_many_waiting": (
        "Not taken: at most {waiting} questions of one person may wait. Ask again when one of "
        "yours is answered."
    ),
    "too_many_this_hour": (
        "Not taken: at most {hourly} questions of one person are answered within an hour. Ask "
        "again later."
    ),
}
"""By the reason of the refusal."""


class LimitNotices:
    """Tells whoever meets a limit."""

    def __init__(self, notices: Notices, services: Services) -> None:
        """Tell by way of the plugin's other notices."""
        self._notices = notices
        self._services = services

    async def plan(self, draft: Draft, turn: TurnActor) -> None:
        """Plan to tell a person why a question is refused, if it is by a limit.

        Not a program: it would answer. Not whose last question was refused for the same reason.
        """
        row = turn.row
        sentence = SENTENCES.get(row.reason or "") if row.state == "refused" else None
        if sentence is None or self._services.is_program(row.author_id):
            return
        last = await self._services.journal.read(lambda db: turns.last_before(db, row))
        if last is not None and (last.state, last.reason) == (row.state, row.reason):
            return
        policy = self._services.policy
        text = sentence.format(waiting=policy.max_waiting, hourly=policy.max_turns_per_hour)
        self._notices.tell(draft, row, text)
