"""What gathered in a room's mailbox, and what is known and decided about it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...store.turns import TurnRow
from .admission import Admitted, Bypassed, Cause, Path, Refused
from .mail import EditorUnknown, RecoverMessage, RoomMail
from .stream_events import Mentioned, MessageEdited, MessagePosted, MessageRetracted

__all__ = ["Batch", "Decided", "ids_of", "message_id_of"]

BY_SERVER = frozenset({Cause.ROLE.value, Cause.BROADCAST.value})
"""Causes that only the server's verdict gives, which it says once."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A message that is meant, or was when its receipt was written."""

    row: TurnRow
    verdict: Admitted | Bypassed | Refused
    is_new: bool
    """Whether its receipt is still to be written."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What gathered, and what the rows say of it."""

    mails: Sequence[RoomMail]
    known: Mapping[str, TurnRow]
    undecided: Sequence[str]
    """Message IDs, in order, each once."""

    def is_mentioned(self, message_id: str) -> bool:
        """Tell whether the server said, now or before a restart, that it mentions the account."""
        row = self.known.get(message_id)
        return (row is not None and row.cause in BY_SERVER) or any(
            isinstance(mail, Mentioned) and mail.message_id == message_id for mail in self.mails
        )

    def path_of(self, message_id: str) -> Path:
        """Return how a message came to us."""
        is_recovered = any(
            isinstance(mail, RecoverMessage) and mail.row.message_id == message_id
            for mail in self.mails
        )
        return Path.RECOVERED if is_recovered else Path.POSTED

    def is_overdue(self, message_id: str) -> bool:
        """Tell whether an edit should have been announced by now."""
        return any(
            isinstance(mail, EditorUnknown) and mail.message_id == message_id
            for mail in self.mails
        )

    def repetitions(self) -> Counter[str]:
        """Count how often each message was announced once too often."""
        posted = Counter(m.message_id for m in self.mails if isinstance(m, MessagePosted))
        return posted - Counter(self.undecided)


def ids_of(mails: Sequence[RoomMail]) -> list[str]:
    """Return which messages a batch announces, in order, each once; edits announce none."""
    announced = (
        message_id_of(mail)
        for mail in mails
        if not isinstance(mail, MessageEdited | MessageRetracted)
    )
    return list(dict.fromkeys(announced))


def message_id_of(mail: RoomMail) -> str:
    """Return the message a mail is about."""
    return mail.row.message_id if isinstance(mail, RecoverMessage) else mail.message_id
