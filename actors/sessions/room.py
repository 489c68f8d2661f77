"""Read what people post in a room, and decide what of it concerns the agent."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

from ...store import ignored, turns
from ...store.turns import TurnRow
from ..runtime.backoff import backoff
from ..runtime.store_errors import StoreBusyError, StoreUnavailableError, is_outage
from .admission import Cause, Editor, NotForUs, Path, Refused
from .batch import Batch, Decided, ids_of, message_id_of
from .errors import (
    RequestRefusedError,
    ServerBusyError,
    ServerUnreachableError,
    UnusableConnectionError,
)
from .facts import Message, Room
from .judge import Judge, Question
from .loops import Loops
from .mail import ROOM, THREAD, EditorUnknown, Received, RoomMail
from .receipt import digest_of_message, receipt_of
from .revision import Reviser
from .services import Services
from .stream_events import Mentioned, MessageEdited, MessageRetracted
from .verdicts import Verdicts

__all__ = ["RoomActor"]

log = logging.getLogger(__name__)

SECOND_LOOK_S = 0.05  # behind a load balancer a message may be readable some milliseconds late
LONGEST_WAIT_S = 8.0  # between two attempts to read from a server that does not answer
REMEMBERED = 256  # messages: what the server, or a repetition, says of them comes soon

LATER = (ServerUnreachableError, ServerBusyError, StoreBusyError, StoreUnavailableError)
"""Errors that a wait may heal: a server that does not answer, a disk that is full.

A receipt waits for the disk as long as it takes, a read not for its server.
"""

T = TypeVar("T")


class RoomActor:
    """Reads in natural batches: one read in flight, with whatever has gathered meanwhile."""

    def __init__(self, room_id: str, services: Services) -> None:
        """Start with nothing remembered.

        Args:
            room_id: the room.
            services: what the actors of the profile share.
        """
        self._room_id = room_id
        self._services = services
        self._journal = services.journal
        self._judge = Judge(room_id, services)
        self._verdicts = Verdicts(room_id, services)
        self._unmeant: OrderedDict[str, Message] = OrderedDict()
        self._held_back: set[str] = set()
        """Messages that were edited before their first read, by nobody knows whom yet."""
        self._reviser = Reviser(room_id, services, self._read_now, self._judge)
        self._told: OrderedDict[str, None] = OrderedDict()
        """Messages whose lanes know of them; not all of them have decided yet."""

    @classmethod
    async def load(cls, room_id: str, services: Services) -> "RoomActor":
        """Make the actor of a room; it has no row, since rooms have no cursor."""
        return cls(room_id, services)

    async def handle(self, mails: Sequence[RoomMail]) -> None:
        """Read, decide, record the receipts, then tell the lanes.

        Until the receipts are written nothing has happened, so what a wait may heal is simply
        tried again. Receipts of before that could not be read are left for a new start.
        """
        limits = self._services.limits
        longest_s = max(LONGEST_WAIT_S, limits.first_wait_s)
        waits = backoff(first=limits.first_wait_s, factor=2, longest=longest_s)
        patience_s = limits.outage_wait_s
        while True:
            try:
                await self._take(mails)
            except LATER as error:
                wait_s = next(waits)
                patience_s -= 0 if is_outage(error) else wait_s
                if patience_s < 0:
                    return self._leave(mails, error)
                log.info("room %s, again in %.1f s: %s", self._room_id, wait_s, error)
                await self._journal.clock.sleep(wait_s)
            except UnusableConnectionError as error:
                self._services.give_up(error)
                return self._leave(mails, error)
            else:
                return None

    async def _take(self, mails: Sequence[RoomMail]) -> None:
        room = await self._services.directory.room(self._room_id)
        for mail in mails:
            if isinstance(mail, Mentioned):
                self._verdicts.note(mail.message_id)
        batch = await self._batch_of(mails)
        loops: Loops | None = None
        if room is None:
            log.info("room %s is hidden or gone: %d events passed over", self._room_id, len(mails))
            messages: Mapping[str, Message] = {}
            decided = list[Decided]()
        else:
            messages = self._hold_back(await self._read(batch.undecided), batch)
            decided, loops = await self._decide(room, messages, batch)
        for id_ in batch.undecided:
            if id_ not in messages and id_ not in self._held_back:
                self._services.tally.count(self._room_id, "unreadable")
                if row := batch.known.get(id_):
                    decided.append(
                        Decided(row, Refused(_cause_of(row), "unreadable"), is_new=False)
                    )
        await self._record(batch, decided, loops)
        await self._revise(room, mails)

    async def _revise(self, room: Room | None, mails: Sequence[RoomMail]) -> None:
        """Take the edits and deletions of a batch, after what it posted."""
        counts = self._services.policy.revisions.count
        edits = [
            mail
            for mail in mails
            if isinstance(mail, MessageEdited) and (counts or mail.message_id in self._held_back)
        ]
        if edits and room is not None:
            authors_own = await self._reviser.edit(room, edits)
            for mail in edits:
                self._unmeant.pop(mail.message_id, None)
            # What a moderator wrote stays held back: nobody can tell what its author said.
            self._held_back -= authors_own
        await self._reviser.retract([m for m in mails if isinstance(m, MessageRetracted)])

    def _hold_back(self, messages: Mapping[str, Message], batch: Batch) -> Mapping[str, Message]:
        """Leave out messages whose first read shows an edit that nobody has announced yet.

        A moderator's quick edit would speak with the author's voice: the event that follows says
        who it was. Source: Chatto 0.4.20 emits `message_edited` right after the edit.
        """
        ready = dict[str, Message]()
        for id_, message in messages.items():
            is_plain = message.updated_at is None or batch.path_of(id_) is not Path.POSTED
            if is_plain or batch.is_overdue(id_):
                ready[id_] = message
            elif id_ not in self._held_back:
                self._held_back.add(id_)
                wait_s = self._services.limits.editor_wait_s
                self._services.tell_later(wait_s, ROOM, self._room_id, EditorUnknown(id_))
        return ready

    async def _batch_of(self, mails: Sequence[RoomMail]) -> Batch:
        """Look up what is known of a batch."""
        ids = ids_of(mails)
        scope = self._journal.scope
        known = await self._journal.read(lambda db: turns.find_all(db, scope, ids))
        undecided = [
            id_
            for id_ in ids
            if id_ not in known or (known[id_].state == "received" and id_ not in self._told)
        ]
        return Batch(mails, known, undecided)

    async def _read(self, ids: Sequence[str]) -> dict[str, Message]:
        """Return the messages in the order of their events, without what cannot be read."""
        found = {id_: self._unmeant[id_] for id_ in ids if id_ in self._unmeant}
        for wait_s in (0.0, SECOND_LOOK_S):
            missing = [id_ for id_ in ids if id_ not in found]
            if missing:
                await self._journal.clock.sleep(wait_s)
                found.update(await self._read_now(missing))
        return {id_: found[id_] for id_ in ids if id_ in found}

    async def _read_now(self, ids: Sequence[str]) -> dict[str, Message]:
        try:
            read = await self._services.server.read_messages(self._room_id, ids)
        except RequestRefusedError as error:
            log.info("room %s cannot be read any more: %s", self._room_id, error)
            self._services.directory.forget_room(self._room_id)
            return {}
        return {message.message_id: message for message in read}

    async def _decide(
        self, room: Room, messages: Mapping[str, Message], batch: Batch
    ) -> tuple[list[Decided], Loops | None]:
        """Decide about messages in their order; those that are not meant are passed over."""
        if not messages:
            return [], None
        rows = {id_: batch.known.get(id_) for id_ in messages}
        questions = [
            Question(
                message=message,
                path=batch.path_of(id_),
                editor=self._editor_of(message, rows[id_]),
                is_new=rows[id_] is None,
                says_mentioned=batch.is_mentioned(id_),
            )
            for id_, message in messages.items()
        ]
        judgement = await self._judge.decide(room, questions)
        decided = list[Decided]()
        for question in questions:
            message, id_ = question.message, question.message.message_id
            row, verdict = rows[id_], judgement.verdicts[id_]
            self._verdicts.compare(room.kind, question, verdict)
            self._held_back.discard(id_)
            if not isinstance(verdict, NotForUs):
                new = row or await receipt_of(room, message, verdict.cause, self._services)
                decided.append(Decided(new, verdict, is_new=row is None))
            elif row is None:
                self._pass_over(message, verdict)
            else:
                refused = Refused(_cause_of(row), verdict.cause)
                decided.append(Decided(row, refused, is_new=False))
        return decided, judgement.loops

    def _editor_of(self, message: Message, row: TurnRow | None) -> Editor:
        """Tell whether the words are those of a message's author, as far as can be told."""
        was_held_back = message.message_id in self._held_back
        has_changed = row is not None and row.digest != digest_of_message(message)
        return Editor.UNKNOWN if was_held_back or has_changed else Editor.AUTHOR

    async def _record(self, batch: Batch, decided: Sequence[Decided], loops: Loops | None) -> None:
        """Write the receipts of what is meant, in one transaction, and tell the lanes."""
        draft = self._journal.draft()
        if loops is not None:
            loops.record(draft)
        for each in decided:
            if each.is_new:
                draft.receive(each.row)
        has_row = batch.known.keys() | {each.row.message_id for each in decided}
        for id_, times in batch.repetitions().items():
            for _ in range(times if id_ in has_row else 0):
                draft.remark(id_, "repeat", "redelivered")
        if not draft.is_empty:
            with self._services.tally.taken() as counts:
                at = self._journal.now()
                draft.also(partial(ignored.add, scope=self._journal.scope, counts=counts, at=at))
                await draft.commit()
        for each in decided:
            id_ = each.row.message_id
            received = Received(id_, each.verdict)
            await self._services.send(THREAD, each.row.session_key, received)
            self._unmeant.pop(id_, None)
            _remember(self._told, id_, None)

    def _pass_over(self, message: Message, verdict: NotForUs) -> None:
        """Count a message that leaves no row; remember it while the server may still speak."""
        if message.message_id not in self._unmeant:
            self._services.tally.count(self._room_id, verdict.cause)
            _remember(self._unmeant, message.message_id, message)

    def _leave(self, mails: Sequence[RoomMail], error: Exception) -> None:
        """Give up reading; whoever has a receipt is decided about at the next start."""
        ids = {message_id_of(mail) for mail in mails}
        for _ in ids:
            self._services.tally.count(self._room_id, "unreadable")
        log.warning("room %s: %d messages could not be read: %s", self._room_id, len(ids), error)


def _cause_of(row: TurnRow) -> Cause:
    """Return why a message was meant when its receipt was written."""
    return Cause(row.cause) if row.cause else Cause.MENTION


def _remember(memory: OrderedDict[str, T], key: str, value: T) -> None:
    """Put something into a memory that forgets what is oldest."""
    memory[key] = value
    if len(memory) > REMEMBERED:
        memory.popitem(last=False)
