"""What is asked back in one lane: when it is in the room, and when nobody waits for it."""

import logging

from ...store import outbox, prompts
from .asking import came_out
from .journal import Draft
from .lane import Lane
from .mail import THREAD, LookAtQuestions, QuestionPosted
from .services import Services

__all__ = ["Questions"]

log = logging.getLogger(__name__)


class Questions:
    """Keeps the questions of a lane's runs up to date; lives in the lane's mailbox."""

    def __init__(self, session_key: str, lane: Lane, services: Services) -> None:
        """Keep those of one lane.

        Args:
            session_key: the gateway's key.
            lane: its turns.
            services: what the actors of the profile share.
        """
        self._key = session_key
        self._lane = lane
        self._services = services
        self._is_look_due = False

    async def posted(self, draft: Draft, mail: QuestionPosted) -> None:
        """Plan what follows from the end of a question's post."""
        journal, scope = self._services.journal, self._services.journal.scope
        part, row = await journal.read(
            lambda db: (
                outbox.find(db, scope, mail.outbox_id),
                prompts.find(db, scope, mail.outbox_id),
            )
        )
        if part is None or row is None:
            log.warning("%s: %s was posted and has no row", self._key, mail.outbox_id)
            return
        turn = self._lane.find(mail.turn_id)
        if turn is None or not turn.asking.posted(draft, part):
            came_out(draft, row, part)

    def look(self, draft: Draft) -> None:
        """Plan that what the gateway has given up is answered by nobody."""
        self._is_look_due = False
        turn = self._lane.at_gateway()
        if turn is not None and turn.asking.is_open:
            turn.asking.look(draft, self._services.gateway.waits_for(self._key))

    def watch(self) -> None:
        """Look again after a while, as long as somebody is asked something."""
        turn = self._lane.at_gateway()
        if turn is not None and turn.asking.is_open and not self._is_look_due:
            self._is_look_due = True
            pause_s = self._services.limits.question_look_s
            self._services.tell_later(pause_s, THREAD, self._key, LookAtQuestions())
