"""What a person is told whose message is refused, or waits for another's: one line, once."""

from ...store import turns
from ...store.turns import TurnRow
from .inert import quotable_name
from .journal import Draft
from .notices import Notices
from .people_texts import REFUSALS, asked_meanwhile
from .ports import Question
from .services import Services
from .turn import TurnActor

__all__ = ["LimitNotices"]

ABOUT_APPROVALS = frozenset({"not_yours", "not_alone"})


class LimitNotices:
    """Tells whoever meets a limit."""

    def __init__(self, notices: Notices, services: Services) -> None:
        """Tell by way of the plugin's other notices."""
        self._notices = notices
        self._services = services

    async def plan(self, draft: Draft, turn: TurnActor, running: TurnActor | None) -> None:
        """Plan to tell a person what becomes of a message, where that is told at all.

        Not a program: it would answer. Not whose last question met the same, unless it is about
        an approval: each of these is somebody's act of its own.
        """
        row = turn.row
        text = self._text(row, running)
        if text is None or self._services.is_program(row.author_id):
            return
        last = await self._services.journal.read(lambda db: turns.last_before(db, row))
        is_told = last is not None and (last.state, last.reason) == (row.state, row.reason)
        if is_told and row.reason not in ABOUT_APPROVALS:
            return
        self._notices.tell(draft, row, text)

    def _text(self, row: TurnRow, running: TurnActor | None) -> str | None:
        """Return what the author of a message is told; None: nothing."""
        policy = self._services.policy
        name = quotable_name(running.row.author_name) if running is not None else "the person"
        if row.state == "refused":
            sentence = REFUSALS.get(row.reason or "")
            return sentence and sentence.format(
                waiting=policy.max_waiting, hourly=policy.max_turns_per_hour, name=name
            )
        if running is not None and not running.may_ask:
            return None
        # Its person's own words went to the run and are no turn.
        waits_for = self._services.gateway.waits_for(row.session_key)
        return asked_meanwhile(name) if Question.CHOICE in waits_for else None
