"""Edits that nobody has announced: who made them, and so whose words stand there, is unknown."""

from collections.abc import Collection, Mapping

from ...store.turns import TurnRow
from .admission import Admitted, Bypassed, Path, Refused, Verdict
from .batch import Batch
from .facts import Message
from .mail import ROOM, EditorUnknown
from .policy import EditedUnseen
from .receipt import digest_of_message
from .services import Services
from .signage import EDITED_UNSEEN

__all__ = ["Unannounced"]

STREAMED = frozenset({Path.POSTED, Path.REPLAYED})
"""Ways in which the event of an edit comes, too."""


class Unannounced:
    """Holds messages of one room back until it is known who edited them."""

    def __init__(self, room_id: str, services: Services) -> None:
        """Hold nothing back yet.

        Args:
            room_id: the room.
            services: what the actors of the profile share.
        """
        self._room_id = room_id
        self._services = services
        self._held: set[str] = set()

    def __contains__(self, message_id: object) -> bool:
        """Tell whether a message is held back."""
        return message_id in self._held

    def release(self, message_ids: Collection[str]) -> None:
        """Hold these back no more."""
        self._held.difference_update(message_ids)

    def hold_back(self, messages: Mapping[str, Message], batch: Batch) -> Mapping[str, Message]:
        """Leave out messages whose first read shows an edit that nobody has announced yet.

        A moderator's quick edit would speak with the author's voice: the event that follows says
        who it was. Source: Chatto 0.4.20 emits `message_edited` right after the edit.
        """
        ready = dict[str, Message]()
        for id_, message in messages.items():
            is_plain = message.updated_at is None or batch.path_of(id_) not in STREAMED
            if is_plain or batch.is_overdue(id_):
                ready[id_] = message
            elif id_ not in self._held:
                self._held.add(id_)
                wait_s = self._services.limits.editor_wait_s
                self._services.tell_later(wait_s, ROOM, self._room_id, EditorUnknown(id_))
        return ready

    def verdict(
        self, message: Message, row: TurnRow | None, path: Path, verdict: Verdict
    ) -> Verdict:
        """Refuse what would run with words that nobody knows the author of."""
        was_held_back = message.message_id in self._held
        self._held.discard(message.message_id)
        has_changed = row is not None and row.digest != digest_of_message(message)
        # No event will come any more that says who edited it.
        is_past = path is Path.CAUGHT_UP and row is None and message.updated_at is not None
        is_unseen = was_held_back or has_changed or is_past
        refuses = self._services.policy.revisions.unseen is EditedUnseen.REFUSE
        if isinstance(verdict, Admitted | Bypassed) and refuses and is_unseen:
            return Refused(verdict.cause, EDITED_UNSEEN)
        return verdict
