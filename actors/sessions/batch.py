"""What gathered in a room's mailbox, and what is known and decided about it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...store.turns import TurnRow
from .admission import Admitted, Bypassed, Cause, Expired, Path, Refused
from .facts import Message
from .find import Find
from .mail import EditorUnknown, LookBack, RecoverMessage, RoomMail
from .stream_events import (
    Mentioned,
    MessageEdited,
    MessagePosted,
    MessageRetracted,
    Target,
)

__all__ = ["Batch", "Decided", "cause_of", "finds_of", "ids_about", "ids_of"]

BY_SERVER = frozenset({Cause.ROLE.value, Cause.BROADCAST.value})
"""Causes that only the server's verdict gives, which it says once."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A message that is meant, or was when its receipt was written."""

    row: TurnRow
    verdict: Admitted | Bypassed | Refused | Expired
    is_new: bool
    """Whether its receipt is still to be written."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What gathered, and what the rows say of it."""

    mails: Sequence[RoomMail]
    known: Mapping[str, TurnRow]
    undecided: Sequence[str]
    """Message IDs, in order, each once."""
    finds: Mapping[str, Find]
    """What a gap hid, by message ID."""

    @property
    def look_backs(self) -> list[LookBack]:
        """What is asked about a gap."""
        return [mail for mail in self.mails if isinstance(mail, LookBack)]

    @property
    def open_ids(self) -> list[str]:
        """Messages whose turns are to be looked at again."""
        return [id_ for mail in self.look_backs for id_ in mail.open_ids]

    @property
    def already_read(self) -> dict[str, Message]:
        """What whoever asks about a gap has read of it."""
        return {id_: message for mail in self.look_backs for id_, message in mail.read.items()}

    def find(self, message_id: str) -> Find | None:
        """Return what is known of a message that a gap hid; None: it was announced."""
        if message_id not in self.finds or self._posted(message_id) is not None:
            return None
        return self.finds[message_id]

    @property
    def asked_at(self) -> datetime | None:
        """The server's time when a gap was looked into; None: it was not, or is not known."""
        return next((mail.now for mail in self.look_backs), None)

    def is_mentioned(self, message_id: str) -> bool:
        """Tell whether the server said, now or before a restart, that it mentions the account."""
        row = self.known.get(message_id)
        if row is not None and row.cause in BY_SERVER:
            return True
        find = self.finds.get(message_id)
        return (find is not None and find.is_mention) or any(
            isinstance(mail, Mentioned) and mail.message_id == message_id for mail in self.mails
        )

    def path_of(self, message_id: str) -> Path:
        """Return how a message came to us."""
        is_recovered = any(
            isinstance(mail, RecoverMessage) and mail.row.message_id == message_id
            for mail in self.mails
        )
        if is_recovered:
            return Path.RECOVERED
        if self.find(message_id) is not None:
            return Path.CAUGHT_UP
        posted = self._posted(message_id)
        return Path.REPLAYED if posted is not None and posted.is_replayed else Path.POSTED

    def targets_of(self, message_id: str) -> tuple[Target, ...] | None:
        """Return whom the server says a message mentions; None: it does not say."""
        posted = self._posted(message_id)
        return None if posted is None else posted.targets

    def _posted(self, message_id: str) -> MessagePosted | None:
        posted = (mail for mail in self.mails if isinstance(mail, MessagePosted))
        return next((mail for mail in posted if mail.message_id == message_id), None)

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


def finds_of(mails: Sequence[RoomMail]) -> dict[str, Find]:
    """Return what a gap hid of a batch, by message ID."""
    looks = (mail for mail in mails if isinstance(mail, LookBack))
    return {find.message_id: find for mail in looks for find in mail.finds}


def ids_of(mails: Sequence[RoomMail]) -> list[str]:
    """Return which messages a batch announces, in order, each once; edits announce none."""
    announced = (
        id_
        for mail in mails
        if not isinstance(mail, MessageEdited | MessageRetracted)
        for id_ in ids_about(mail)
    )
    return list(dict.fromkeys(announced))


def ids_about(mail: RoomMail) -> Iterable[str]:
    """Return the messages a mail is about."""
    match mail:
        case RecoverMessage():
            return (mail.row.message_id,)
        case LookBack():
            return (find.message_id for find in mail.finds)
        case _:
            return (mail.message_id,)


def cause_of(row: TurnRow) -> Cause:
    """Return why a message was meant when its receipt was written."""
    return Cause(row.cause) if row.cause else Cause.MENTION
