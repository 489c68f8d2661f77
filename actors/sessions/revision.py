"""What an edit means: a correction, a question after all, or nothing; and what a deletion ends."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from ...store import ignored, turns
from ...store.turns import TurnRow
from .admission import (
    Admitted,
    Bypassed,
    Editor,
    Expired,
    NotForUs,
    Path,
    Refused,
    Verdict,
)
from .facts import Message, Room
from .journal import Draft
from .judge import Judge, Judgement, Question
from .mail import THREAD, Edited, Received, Retracted
from .policy import EditedUnseen
from .receipt import digest_of_message, receipt_of, words_of
from .services import Services
from .signage import EDITED_UNSEEN
from .standing import place_of_message
from .stream_events import MessageEdited, MessageRetracted

__all__ = ["Authorship", "Read", "Reviser"]

log = logging.getLogger(__name__)

Read = Callable[[Sequence[str]], Awaitable[Mapping[str, Message]]]
"""Reads messages of the room by ID; what cannot be read is left out."""

OPEN = frozenset(
    {"received", "admitted", "queued", "handed", "processing", "interrupted", "correcting"}
)
"""States of a turn that an edit can still change."""


FOREIGN_EDIT = "editor_is_not_author"
"""Words that a moderator put into somebody's mouth."""


@dataclass(frozen=True, slots=True)
class Authorship:
    """Whose words edited messages show."""

    own: frozenset[str]
    """Those whose words are known to be their author's."""
    moderated: frozenset[str]
    """Those whose words are known to be somebody else's."""
    unknown: frozenset[str]
    """Those that show an edit of which no event has come: nobody knows whose words they are."""


class Reviser:
    """Takes the edits and deletions of one room; lives in the room's mailbox.

    So an edit never overtakes the reading of what it edits.
    """

    def __init__(self, room_id: str, services: Services, read: Read, judge: Judge) -> None:
        """Revise messages of one room.

        Args:
            room_id: the room.
            services: what the actors of the profile share.
            read: how the room reads.
            judge: asks admission, the same for posts and edits.
        """
        self._room_id = room_id
        self._services = services
        self._journal = services.journal
        self._read = read
        self._judge = judge

    async def retract(self, events: Sequence[MessageRetracted]) -> None:
        """Tell the lanes which of their messages are gone."""
        ids = [event.message_id for event in events]
        rows = await self._rows(ids) if ids else {}
        for row in rows.values():
            mail = Retracted(row.message_id, "message_deleted")
            await self._services.send(THREAD, row.session_key, mail)

    async def edit(self, room: Room, events: Sequence[MessageEdited]) -> Authorship:
        """Decide what edits mean, record what they change nothing about, and tell the lanes.

        Several edits of one message are one: a read shows the newest words, and those are whose
        edit was the last. Words of an edit behind the last one that was announced are nobody's:
        its event follows and says whose.
        """
        newest = {event.message_id: event for event in events}
        rows = await self._rows(list(newest))
        draft = self._journal.draft()
        for id_, row in rows.items():
            if row.state not in OPEN and row.state != "refused":
                draft.remark(id_, "edit", f"too_late: {row.state}")
                del newest[id_]
        messages = await self._read(list(newest)) if newest else {}
        unknown = {id_ for id_, message in messages.items() if _is_behind(newest[id_], message)}
        known = [message for id_, message in messages.items() if id_ not in unknown]
        own = [each for each in known if each.author_id == newest[each.message_id].editor_id]
        own_ids = frozenset(message.message_id for message in own)
        moderated = frozenset(messages.keys() - unknown - own_ids)
        editors = dict.fromkeys(moderated, Editor.OTHER) | dict.fromkeys(own_ids, Editor.AUTHOR)
        await self._take(draft, room, {messages[id_]: editors[id_] for id_ in editors}, rows)
        return Authorship(own_ids, moderated, frozenset(unknown))

    async def give_up(self, room: Room, ids: Collection[str]) -> None:
        """Take messages with a row whose newest edit nobody announced, as the operator decided."""
        rows = await self._rows(list(ids))
        draft = self._journal.draft()
        own = dict[Message, Editor]()
        if self._services.policy.revisions.unseen is EditedUnseen.ANSWER:
            read = await self._read(list(rows)) if rows else {}
            own = dict.fromkeys(read.values(), Editor.AUTHOR)
        else:
            for id_, row in rows.items():
                self._ignore(draft, row, id_, EDITED_UNSEEN)
        await self._take(draft, room, own, rows)

    async def _take(
        self,
        draft: Draft,
        room: Room,
        edited: Mapping[Message, Editor],
        rows: Mapping[str, TurnRow],
    ) -> None:
        """Record what edits mean, and tell the lanes."""
        judgement = await self._judge.decide(
            room,
            [
                Question(
                    message=message,
                    path=Path.EDITED,
                    editor=editor,
                    is_new=_was_kept_out(rows.get(message.message_id)),
                )
                for message, editor in edited.items()
            ],
        )
        mails = [
            await self._revise(draft, room, message, rows.get(message.message_id), judgement)
            for message in edited
        ]
        judgement.loops.record(draft)
        await self._commit(draft)
        for told in mails:
            if told is not None:
                await self._services.send(THREAD, *told)

    async def as_if_by_author(self, room: Room, message: Message, row: TurnRow) -> Edited | None:
        """Decide about an edit that nobody announced, as if the message's author had made it.

        Returns:
            None where it changes nothing; then it is recorded why.
        """
        question = Question(message, Path.EDITED, Editor.AUTHOR, is_new=_was_kept_out(row))
        judgement = await self._judge.decide(room, [question])
        draft = self._journal.draft()
        told = await self._revise(draft, room, message, row, judgement)
        judgement.loops.record(draft)
        await self._commit(draft)
        return told[1] if told is not None and isinstance(told[1], Edited) else None

    async def _revise(
        self,
        draft: Draft,
        room: Room,
        message: Message,
        row: TurnRow | None,
        judgement: Judgement,
    ) -> tuple[str, Edited | Received] | None:
        """Plan what one edit means; return whom to tell what, None: nobody anything."""
        verdict = judgement.verdicts[message.message_id]
        reason = self._why_not(message, row, verdict)
        if isinstance(verdict, NotForUs) and verdict.cause == FOREIGN_EDIT:
            reason = FOREIGN_EDIT
        if reason is not None:
            self._ignore(draft, row, message.message_id, reason)
            return None
        if isinstance(verdict, NotForUs | Bypassed | Expired):
            return None  # `_why_not` has said why
        if isinstance(verdict, Admitted) and message.author_id in judgement.programs:
            key = self._services.gateway.session_key(place_of_message(room, message))
            judgement.loops.count(key, message.author_id)
        if row is None:
            new = await receipt_of(room, message, verdict.cause, self._services)
            draft.receive(new, Path.EDITED.value)
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
        return _objection(verdict, is_open=row is not None and row.state in OPEN)

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


def _was_kept_out(row: TurnRow | None) -> bool:
    return row is None or row.state == "refused"


def _objection(verdict: Verdict, *, is_open: bool) -> str | None:
    """Say what admission has against an edit; None: nothing, or a refusal that makes a row."""
    match verdict:
        case NotForUs():
            return verdict.cause
        case Bypassed():
            return "command"  # admission lets none past that is no post
        case Expired():
            return "too_old"
        case Refused() if is_open:
            return verdict.reason
        case _:
            return None


def _is_behind(event: MessageEdited, message: Message) -> bool:
    """Tell whether a message shows a later edit than the one an event tells of.

    Both times are of the server's one clock, and an edit is stamped before its event is made: so
    any later time is that of another edit. Two edits within the moment between the two stamps
    cannot be told apart.
    """
    return message.updated_at is not None and message.updated_at > event.edited_at
