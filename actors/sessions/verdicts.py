"""What the server said of mentions, beside what the reader found: they should agree."""

import logging
from collections import OrderedDict

from .admission import Admitted, Bypassed, Cause, Path, Verdict
from .facts import RoomKind
from .judge import Question
from .mentions import mentioned_handles
from .services import Services

__all__ = ["Verdicts"]

log = logging.getLogger(__name__)

REMEMBERED = 1_024  # messages; a verdict comes within a second of its message


class Verdicts:
    """Compares the two for the messages of one room; a disagreement is one line in the log.

    Nothing follows from it: the text decides who is meant, the server what text cannot say.
    """

    def __init__(self, room_id: str, services: Services) -> None:
        """Start with nothing said."""
        self._room_id = room_id
        self._services = services
        self._mentioned: OrderedDict[str, None] = OrderedDict()

    def note(self, message_id: str) -> None:
        """Note that the server says a message mentions the account."""
        self._mentioned[message_id] = None
        if len(self._mentioned) > REMEMBERED:
            self._mentioned.popitem(last=False)

    def compare(self, kind: RoomKind, question: Question, verdict: Verdict) -> None:
        """Compare what was decided with what the server says, or will have said soon.

        Args:
            kind: of the room; in a direct conversation the server tells of everything.
            question: the message, and how it came.
            verdict: what admission decided.
        """
        if kind is RoomKind.DIRECT or question.path is not Path.POSTED:
            return
        is_named = isinstance(verdict, Admitted | Bypassed) and verdict.cause is Cause.MENTION
        if is_named and question.is_new and not question.says_mentioned:
            self._services.tasks.start_soon(self._compare_later, question)
        is_unexplained = question.says_mentioned and not is_named
        if is_unexplained and not mentioned_handles(question.message.body):
            self._say(question, "the server says that it mentions the account, its text nobody")

    async def _compare_later(self, question: Question) -> None:
        await self._services.journal.clock.sleep(self._services.limits.verdict_wait_s)
        if question.message.message_id not in self._mentioned:
            self._say(question, "its text mentions the account, and the server does not say so")

    def _say(self, question: Question, text: str) -> None:
        log.info("message %s in room %s: %s", question.message.message_id, self._room_id, text)
