"""What a person is told whose message is refused: one plain line, once in a row."""

import secrets

from ...store import turns
from ...store.outbox import PartRow
from .answering import digest_of
from .inert import quotable_name
from .journal import Draft
from .mail import DELIVERY, Send
from .people_texts import REFUSALS
from .policy import Policy
from .services import Services
from .turn import TurnActor

__all__ = ["LimitNotices"]


class LimitNotices:
    """Plans the posts that say so; they go through the outbox like everything else."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services

    async def plan(self, draft: Draft, turn: TurnActor, running: TurnActor | None) -> str | None:
        """Plan to tell a person why a message is refused.

        Args:
            draft: where the refusal is planned.
            turn: of the message.
            running: the turn the gateway has in this lane; None: none.

        Returns:
            The delivery to be sent once it is recorded; None: there is nothing to be told, or it
            was told already: the last question of that person was refused for the same reason.
        """
        row = turn.row
        sentence = REFUSALS.get(row.reason or "") if row.state == "refused" else None
        if sentence is None or self._services.is_program(row.author_id):
            return None
        last = await self._services.journal.read(lambda db: turns.last_before(db, row))
        if last is not None and (last.state, last.reason) == (row.state, row.reason):
            return None
        name = quotable_name(running.row.author_name) if running is not None else ""
        text = _filled(sentence, self._services.policy, name)
        return draft.add_part(self._part(turn, text)).delivery_id

    def send(self, delivery_id: str | None) -> None:
        """Have a planned notice brought out; None: there is none."""
        if delivery_id is not None:
            self._services.tell(DELIVERY, delivery_id, Send())

    def _part(self, turn: TurnActor, text: str) -> PartRow:
        row, now = turn.row, self._services.journal.now()
        delivery_id = f"{row.message_id}:{secrets.token_hex(4)}"
        return PartRow(
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
            bytes=len(text.encode()),
            digest=digest_of(text),
            state="pending",
            reason=None,
            attempt=0,
            message_id=None,
            created_at=now,
            updated_at=now,
        )


def _filled(sentence: str, policy: Policy, name: str) -> str:
    return sentence.format(waiting=policy.max_waiting, hourly=policy.max_turns_per_hour, name=name)
