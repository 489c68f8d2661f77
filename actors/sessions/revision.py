"""What an edit means: a correction, a question after all, or nothing; and what a deletion ends."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from ...store import ignored, turns
from ...store.turns import TurnRow
from .admission import Admitted, NotForUs, Path, Refused, Verdict
from .facts import Message, Room
from .journal import Draft
from .mail import THREAD, Edited, Received, Retracted
from .receipt import digest_of_message, receipt_of, words_of
from .services import Services
from .stream_events import MessageEdited, MessageRetracted

__all__ = ["Decide", "Read", "Reviser"]

log = logging.getLogger(__name__)

Read = Callable[[Sequence[str]], Awaitable[Mapping[str, Message]]]
"""Reads messages of the room by ID; what cannot be read is left out."""
Decide = Callable[[Room, Sequence[Message], Path], Awaitable[Mapping[str, Verdict]]]
"""Asks admission, the same for posts and edits."""

OPEN = frozenset(
    {"received", "admitted", "queued", "handed", "processing", "interrupted", "correcting"}
)
"""States of a turn that an edit can still change."""


class Reviser:
    """Takes the edits and deletions of one room; lives in the room's mailbox.

    So an edit never overtakes the reading of what it edits.
    """

    def __init__(self, room_id: str, services: Services, read: Read, decide: Decide) -> None:
        """Revise messages of one room.

        Args:
            room_id: the room.
            services: what the actors of the profile share.
            read: how the room reads.
            decide: how the room decides.
        """
        self._room_id = room_id
        self._services = services
        self._journal = services.journal
        self._read = read
        self._decide = decide

    async def retract(self, events: Sequence[MessageRetracted]) -> None:
        """Tell the lanes which of their messages are gone."""
        ids = [event.message_id for event in events]
        rows = await self._rows(ids) if ids else {}
        for row in rows.values():
            mail = Retracted(row.message_id, "message_deleted")
            await self._services.send(THREAD, row.session_key, mail)

    async def edit(self, room: Room, events: Sequence[MessageEdited]) -> frozenset[str]:
        """Decide what edits mean, record what they change nothing about, and tell the lanes.

        Several edits of one message are one: a read shows the newest words, and those are whose
        edit was the last.

        Returns:
            The messages whose words are known to be their author's.
        """
        editors = {event.message_id: event.editor_id for event in events}
        rows = await self._rows(list(editors))
        draft = self._journal.draft()
        for id_, row in rows.items():
            if row.state not in OPEN and row.state != "refused":
                draft.remark(id_, "edit", f"too_late: {row.state}")
                del editors[id_]
        messages = await self._read(list(editors)) if editors else {}
        own = [
            message
            for message in messages.values()
            if message.author_id == editors[message.message_id]
        ]
        for id_ in messages.keys() - {message.message_id for message in own}:
            self._ignore(draft, rows.get(id_), id_, "editor_is_not_author")
        verdicts = await self._decide(room, own, Path.EDITED) if own else {}
        mails = [
            await self._revise(draft, room, message, rows.get(message.message_id), verdict)
            for message in own
            if (verdict := verdicts.get(message.message_id))
        ]
        await self._commit(draft)
        for told in mails:
            if told is not None:
                await self._services.send(THREAD, *told)
        return frozenset(message.message_id for message in own)

    async def as_if_by_author(self, room: Room, message: Message, row: TurnRow) -> Edited | None:
        """Decide about an edit that nobody announced, as if the message's author had made it.

        Returns:
            None where it changes nothing; then it is recorded why.
        """
        verdicts = await self._decide(room, [message], Path.EDITED)
        draft = self._journal.draft()
        told = await self._revise(draft, room, message, row, verdicts[message.message_id])
        await self._commit(draft)
        return told[1] if told is not None and isinstance(told[1], Edited) else None

    async def _revise(
        self,
        draft: Draft,
        room: Room,
        message: Message,
        row: TurnRow | None,
        verdict: Verdict,
    ) -> tuple[str, Edited | Received] | None:
        """Plan what one edit means; return whom to tell what, None: nobody anything."""
        if reason := self._why_not(message, row, verdict):
            self._ignore(draft, row, message.message_id, reason)
            return None
        if isinstance(verdict, NotForUs) or not isinstance(verdict, Admitted | Refused):
            return None
        if row is None:
            new = await receipt_of(room, message, verdict.cause, self._services)
            draft.receive(new)
            return new.session_key, Received(message.message_id, verdict)
        return row.session_key, Edited(message.message_id, verdict, words_of(message))

    def _why_not(self, message: Message, row: TurnRow | None, verdict: Verdict) -> str | None:
        """Say why an edit changes nothing; None: it counts."""
        window = timedelta(seconds=self._services.policy.revisions.window_s)
        edited_at = message.updated_at or message.created_at
        if message.echo_of_id is not None:
            return "echo"
        if row is not None and digest_of_message(message) == row.digest:
            return "unchanged"
        if edited_at - message.created_at > window:
            return "too_old"
        if isinstance(verdict, NotForUs):
            return verdict.cause
        if row is not None and row.state in OPEN and isinstance(verdict, Refused):
            return verdict.reason
        return None

    def _ignore(self, draft: Draft, row: TurnRow | None, message_id: str, reason: str) -> None:
        if row is None:
            self._services.tally.count(self._room_id, f"edit_{reason}")
        else:
            draft.remark(message_id, "ignore_edit", reason)

    async def _commit(self, draft: Draft) -> None:
        if draft.is_empty:
            return
        with self._services.tally.taken() as counts:
            at = self._journal.now()
            draft.also(partial(ignored.add, scope=self._journal.scope, counts=counts, at=at))
            await draft.commit()

    async def _rows(self, ids: Sequence[str]) -> dict[str, TurnRow]:
        scope = self._journal.scope
        return await self._journal.read(lambda db: turns.find_all(db, scope, ids))
