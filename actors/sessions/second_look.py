"""Look once more at the messages of open turns: a gap hides edits and deletions, too."""

from collections.abc import Sequence

from ...store import turns
from ...store.turns import TurnRow
from .facts import Room
from .mail import EditedUnseen, LookBack, Retracted, Revision, Revisions
from .policy import EditedUnseen as WhenEditedUnseen
from .receipt import digest_of_message
from .revision import OPEN, Reviser
from .room_reader import Reading
from .services import Services

__all__ = ["SecondLook"]


class SecondLook:
    """Compares what stands in a room with what the rows say; lives in the room's mailbox."""

    def __init__(self, reviser: Reviser, services: Services) -> None:
        """Look at the messages of one room.

        Args:
            reviser: decides about edits in that room.
            services: what the actors of the profile share.
        """
        self._reviser = reviser
        self._services = services

    async def take(self, asked: Sequence[LookBack], room: Room | None, reading: Reading) -> None:
        """Say what became of open turns, to whoever asks.

        A room that cannot be read says nothing about its messages.
        """
        for mail in asked:
            if room is None or reading.is_refused:
                mail.outcome.keep(())
            else:
                mail.outcome.keep(await self._revisions(room, mail.open_ids, reading))

    async def _revisions(self, room: Room, ids: Sequence[str], reading: Reading) -> Revisions:
        scope = self._services.journal.scope
        rows = await self._services.journal.read(lambda db: turns.find_all(db, scope, ids))
        found = list[tuple[str, Revision]]()
        for row in rows.values():
            revision = await self._revision(room, row, reading)
            if revision is not None:
                found.append((row.session_key, revision))
        return tuple(found)

    async def _revision(self, room: Room, row: TurnRow, reading: Reading) -> Revision | None:
        """Return what happened to a message; None: nothing that changes its turn."""
        message = reading.messages.get(row.message_id)
        revisions = self._services.policy.revisions
        if row.state not in OPEN:
            return None
        if message is None:
            return Retracted(row.message_id, "message_deleted")
        if not revisions.count or digest_of_message(message) == row.digest:
            return None
        if revisions.unseen is WhenEditedUnseen.REFUSE:
            return EditedUnseen(row.message_id)
        return await self._reviser.as_if_by_author(room, message, row)
