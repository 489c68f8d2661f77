"""What the plugin itself says to a person: one plain sentence where a bound is met."""

import secrets

from ...store.outbox import PartRow
from ...store.turns import TurnRow
from . import people_texts as texts
from .journal import Draft
from .mail import DELIVERY, Send
from .repetition import digest_of
from .services import Services

__all__ = ["LANE_FULL", "TOO_MANY_ATTEMPTS", "Notices"]

LANE_FULL = "lane_full"
TOO_MANY_ATTEMPTS = "too_many_attempts"


class Notices:
    """Posts through the outbox, as a reply to the message it is about, where that is answered."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services
        self._journal = services.journal

    def lane_full(self, draft: Draft, row: TurnRow) -> None:
        """Plan the notice that too many questions wait already."""
        self.tell(draft, row, texts.lane_full(self._services.limits.waiting_turns))

    def too_many_attempts(self, draft: Draft, row: TurnRow) -> None:
        """Plan the notice that a question is given up."""
        self.tell(draft, row, texts.too_many_attempts(self._services.limits.turn_attempts))

    def tell(self, draft: Draft, row: TurnRow, text: str) -> None:
        """Plan a reply to a message, and that it goes out once it is recorded."""
        body = text.encode()
        now = self._journal.now()
        delivery_id = f"{row.message_id}:{secrets.token_hex(4)}"
        draft.add_part(
            PartRow(
                scope=row.scope,
                outbox_id=f"{delivery_id}/1",
                delivery_id=delivery_id,
                turn_id=row.message_id,
                kind="other",
                part=1,
                parts=1,
                room_id=row.room_id,
                thread_root_id=row.thread_root_id,
                in_reply_to=row.message_id,
                body=text,
                bytes=len(body),
                digest=digest_of(body),
                state="pending",
                reason=None,
                attempt=0,
                message_id=None,
                created_at=now,
                updated_at=now,
            )
        )
        draft.then(lambda: self._services.tell_surely(DELIVERY, delivery_id, Send()))
