"""What a person is told whose message is refused: one plain line, once in a row."""

from ...store import turns
from .inert import quotable_name
from .journal import Draft
from .notices import Notices
from .people_texts import REFUSALS
from .services import Services
from .turn import TurnActor

__all__ = ["LimitNotices"]


class LimitNotices:
    """Tells whoever meets a limit."""

    def __init__(self, notices: Notices, services: Services) -> None:
        """Tell by way of the plugin's other notices."""
        self._notices = notices
        self._services = services

    async def plan(self, draft: Draft, turn: TurnActor, running: TurnActor | None) -> None:
        """Plan to tell a person why a message is refused, where that is told at all.

        Not a program: it would answer. Not whose last question was refused for the same reason.
        """
        row = turn.row
        sentence = REFUSALS.get(row.reason or "") if row.state == "refused" else None
        if sentence is None or self._services.is_program(row.author_id):
            return
        last = await self._services.journal.read(lambda db: turns.last_before(db, row))
        if last is not None and (last.state, last.reason) == (row.state, row.reason):
            return
        policy = self._services.policy
        name = quotable_name(running.row.author_name) if running is not None else "the person"
        text = sentence.format(
            waiting=policy.max_waiting, hourly=policy.max_turns_per_hour, name=name
        )
        self._notices.tell(draft, row, text)
