"""Messages that show an edit of which no event has come: nobody knows whose words they are."""

from collections.abc import Collection, Mapping, Sequence

from ...store.turns import TurnRow
from .admission import Editor, Path
from .batch import Batch
from .facts import Message
from .mail import ROOM, EditorUnknown, RoomMail
from .receipt import digest_of_message
from .revision import Authorship
from .services import Services

__all__ = ["HeldBack"]

STREAMED = frozenset({Path.POSTED, Path.REPLAYED})
"""Ways in which the event of an edit comes, too."""


class HeldBack:
    """Remembers them for one room, each until an event or the end of its wait says more."""

    def __init__(self, room_id: str, services: Services) -> None:
        """Hold nothing back yet.

        Args:
            room_id: the room.
            services: what the actors of the profile share.
        """
        self._room_id = room_id
        self._services = services
        self._ids: set[str] = set()
        self._moderated: set[str] = set()
        """Those of them that show somebody else's words; what their author said is lost."""

    def __contains__(self, message_id: object) -> bool:
        """Tell whether a message is held back."""
        return message_id in self._ids

    def forget(self, message_id: str) -> None:
        """Hold a message back no longer."""
        self._ids.discard(message_id)
        self._moderated.discard(message_id)

    def sort(self, messages: Mapping[str, Message], batch: Batch) -> Mapping[str, Message]:
        """Hold back those whose first read shows an edit; return the others.

        A moderator's quick edit would speak with the author's voice: the event that follows says
        who it was. Source: Chatto 0.4.20 emits `message_edited` right after the edit.
        """
        ready = dict[str, Message]()
        for id_, message in messages.items():
            is_plain = message.updated_at is None or batch.path_of(id_) not in STREAMED
            if is_plain or batch.is_overdue(id_):
                ready[id_] = message
            else:
                self._hold({id_})
        return ready

    def learn(self, whose: Authorship) -> None:
        """Take in what edit events said."""
        self._ids -= whose.own
        self._moderated -= whose.own
        # What a moderator wrote stays held back: nobody can tell what its author said.
        self._moderated |= whose.moderated & self._ids
        self._hold(whose.unknown)

    def overdue(self, mails: Sequence[RoomMail]) -> frozenset[str]:
        """Return what no event came for in time, and forget it.

        Words that are known to be somebody else's are not among it: nothing follows from them.
        """
        due = {mail.message_id for mail in mails if isinstance(mail, EditorUnknown)} & self._ids
        unknown = due - self._moderated
        self._ids -= due
        self._moderated -= due
        return frozenset(unknown)

    def editor_of(self, message: Message, row: TurnRow | None, path: Path) -> Editor:
        """Tell whose words a message shows, as far as is known, and hold it back no more."""
        was_held_back = message.message_id in self._ids
        is_moderated = message.message_id in self._moderated
        self.forget(message.message_id)
        has_changed = row is not None and row.digest != digest_of_message(message)
        # No event will come any more that says who edited it.
        is_past = path is Path.CAUGHT_UP and row is None and message.updated_at is not None
        if is_moderated:
            return Editor.OTHER
        return Editor.UNKNOWN if was_held_back or has_changed or is_past else Editor.AUTHOR

    def _hold(self, ids: Collection[str]) -> None:
        """Wait for the event that says whose words these messages show."""
        wait_s = self._services.limits.editor_wait_s
        for id_ in ids:
            if id_ not in self._ids:
                self._ids.add(id_)
                self._services.tell_later(wait_s, ROOM, self._room_id, EditorUnknown(id_))
