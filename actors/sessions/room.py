"""Read what people post in a room, and decide what of it concerns the agent."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from ...store import ignored, turns
from ..runtime.backoff import backoff
from ..runtime.store_errors import StoreBusyError, StoreUnavailableError, is_outage
from .admission import NotForUs, Path, Refused
from .batch import Batch, Decided, cause_of, finds_of, ids_about, ids_of
from .errors import ServerBusyError, ServerUnreachableError, UnusableConnectionError
from .facts import Level, Message, Room
from .find import Find
from .held_back import HeldBack
from .judge import Judge, Question
from .loops import Loops
from .mail import ROOM, THREAD, LookBack, Received, RoomMail
from .receipt import receipt_of, receipt_of_find
from .revision import Reviser
from .room_reader import Reading, RoomReader
from .second_look import SecondLook
from .services import Services
from .stream_events import Mentioned, MessageEdited, MessageRetracted
from .verdicts import Verdicts

__all__ = ["RoomActor"]

log = logging.getLogger(__name__)

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
        self._reader = RoomReader(room_id, services)
        self._held_back = HeldBack(room_id, services)
        self._judge = Judge(room_id, services)
        self._verdicts = Verdicts(room_id, services)
        self._reviser = Reviser(room_id, services, self._read_edited, self._judge)
        self._second_look = SecondLook(self._reviser, services)
        self._unmeant: OrderedDict[str, Message] = OrderedDict()
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
            reading = Reading({}, is_refused=True)
            decided = list[Decided]()
        else:
            reading = await self._read(batch)
            undecided = {i: reading.messages[i] for i in batch.undecided if i in reading.messages}
            ready = self._held_back.sort(undecided, batch)
            decided, loops = await self._decide(room, ready, batch)
        decided += self._unreadable(room, batch, reading)
        await self._record(batch, decided, loops)
        await self._revise(room, mails)
        self._find_echoed(batch, reading)
        await self._second_look.take(batch.look_backs, room, reading)
        self._services.keeper.position.settle(
            id_ for id_ in ids_of(mails) if id_ not in self._held_back
        )
        self._services.keeper.position.apply(mails)
        self._services.keeper.write_soon()

    def _unreadable(self, room: Room | None, batch: Batch, reading: Reading) -> list[Decided]:
        """Decide about what cannot be read: without a row it only counts, unless it was meant."""
        decided = list[Decided]()
        for id_ in batch.undecided:
            if id_ in reading.messages:
                continue
            if id_ in self._held_back and not batch.is_overdue(id_):
                continue
            self._services.tally.count(self._room_id, "unreadable")
            self._held_back.forget(id_)
            row, find = batch.known.get(id_), batch.find(id_)
            if row is not None:
                decided.append(Decided(row, Refused(cause_of(row), "unreadable"), is_new=False))
            elif find is not None and find.leaves_row:
                new = receipt_of_find(self._room_id, room, find, self._services)
                reason = "author_gone" if find.author_id is None else "unreadable"
                decided.append(Decided(new, Refused(find.cause, reason), is_new=True))
        return decided

    def _find_echoed(self, batch: Batch, reading: Reading) -> None:
        """Have the thread replies looked at whose echoes alone were found.

        An echo is no message of its own: what it repeats has one key, however it was found.
        """
        finds = list[Find]()
        for id_ in batch.undecided:
            find, message = batch.find(id_), reading.messages.get(id_)
            if find is not None and message is not None and message.echo_of_id is not None:
                finds.append(replace(find, message_id=message.echo_of_id))
        if finds:
            look_back = LookBack(tuple(finds), (), batch.asked_at)
            self._services.tell(ROOM, self._room_id, look_back)

    async def _revise(self, room: Room | None, mails: Sequence[RoomMail]) -> None:
        """Take the edits and deletions of a batch, after what it posted."""
        counts = self._services.policy.revisions.count
        edits = [
            mail
            for mail in mails
            if isinstance(mail, MessageEdited) and (counts or mail.message_id in self._held_back)
        ]
        if edits and room is not None:
            self._held_back.learn(await self._reviser.edit(room, edits))
            for mail in edits:
                self._unmeant.pop(mail.message_id, None)
        overdue = self._held_back.overdue(mails)
        if overdue and room is not None:
            await self._reviser.give_up(room, overdue)
        await self._reviser.retract([m for m in mails if isinstance(m, MessageRetracted)])

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
        return Batch(mails, known, undecided, finds_of(mails))

    async def _read(self, batch: Batch) -> Reading:
        """Read what is to be decided, in the order of the events, and open turns again."""
        ids = list(dict.fromkeys([*batch.undecided, *batch.open_ids]))
        known = {i: self._unmeant[i] for i in batch.undecided if i in self._unmeant}
        return await self._reader.read(ids, {**known, **batch.already_read})

    async def _read_edited(self, ids: Sequence[str]) -> Mapping[str, Message]:
        return (await self._reader.read_now(ids)).messages

    async def _decide(
        self, room: Room, messages: Mapping[str, Message], batch: Batch
    ) -> tuple[list[Decided], Loops | None]:
        """Decide about messages in their order; those that are not meant are passed over."""
        if not messages:
            return [], None
        questions = [self._question(message, batch) for message in messages.values()]
        judgement = await self._judge.decide(room, questions)
        decided = list[Decided]()
        for question in questions:
            message, id_ = question.message, question.message.message_id
            row, verdict = batch.known.get(id_), judgement.verdicts[id_]
            self._verdicts.compare(room.kind, question, verdict)
            if not isinstance(verdict, NotForUs):
                new = row or await receipt_of(room, message, verdict.cause, self._services)
                decided.append(Decided(new, verdict, is_new=row is None))
            elif row is None:
                self._pass_over(message, verdict)
            else:
                refused = Refused(cause_of(row), verdict.cause)
                decided.append(Decided(row, refused, is_new=False))
        return decided, judgement.loops

    def _question(self, message: Message, batch: Batch) -> Question:
        id_ = message.message_id
        row, path = batch.known.get(id_), batch.path_of(id_)
        asked_at = batch.asked_at if path is Path.CAUGHT_UP else None
        if path in {Path.RECOVERED, Path.REPLAYED}:
            asked_at = self._services.server.server_time()
        # Where the account is told of everything, being told means nothing.
        levels = self._services.server.notification_levels()
        tells_all = path is Path.POSTED and levels.of(self._room_id) is Level.ALL_MESSAGES
        return Question(
            message=message,
            path=path,
            editor=self._held_back.editor_of(message, row, path),
            is_new=row is None,
            says_mentioned=batch.is_mentioned(id_) and not tells_all,
            targets=batch.targets_of(id_),
            asked_at=asked_at,
        )

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
        for mail in mails:
            if isinstance(mail, LookBack):
                mail.outcome.keep(None)
        ids = {id_ for mail in mails for id_ in ids_about(mail)}
        self._services.keeper.position.leave(ids)
        for _ in ids:
            self._services.tally.count(self._room_id, "unreadable")
        log.warning("room %s: %d messages could not be read: %s", self._room_id, len(ids), error)


def _remember(memory: OrderedDict[str, T], key: str, value: T) -> None:
    """Put something into a memory that forgets what is oldest."""
    memory[key] = value
    if len(memory) > REMEMBERED:
        memory.popitem(last=False)
