"""Read what people post in a room, and decide what of it concerns the agent."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial

from ...store import ignored, turns
from ...store.turns import TurnRow
from .admission import Admitted, Cause, Inbound, NotForUs, Path, Refused, Verdict, admit
from .facts import Message, Place, Room, RoomKind
from .mail import THREAD, Received, RecoverMessage, RoomMail
from .receipt import receipt_of
from .services import Services
from .standing import Standing, Standings
from .stream_events import Mentioned, MessagePosted

__all__ = ["RoomActor"]

log = logging.getLogger(__name__)

SECOND_LOOK_S = 0.05  # behind a load balancer a message may be readable some milliseconds late
REMEMBERED = 256  # messages that were not meant: the server's verdict comes right after them


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
        self._standings = Standings(services)
        self._unmeant: OrderedDict[str, Message] = OrderedDict()

    @classmethod
    async def load(cls, room_id: str, services: Services) -> "RoomActor":
        """Make the actor of a room; it has no row, since rooms have no cursor."""
        return cls(room_id, services)

    async def handle(self, mails: Sequence[RoomMail]) -> None:
        """Read, decide, record the receipts, then tell the lanes."""
        room = await self._services.directory.room(self._room_id)
        if room is None:
            log.info("room %s is hidden or gone: %d events passed over", self._room_id, len(mails))
            return
        ids = list(dict.fromkeys(_message_id(mail) for mail in mails))
        scope = self._journal.scope
        known = await self._journal.read(lambda db: turns.find_all(db, scope, ids))
        undecided = [id_ for id_ in ids if id_ not in known or known[id_].state == "received"]
        messages = await self._read(undecided)
        verdicts = await self._judge(room, messages, known, mails)
        for id_ in undecided:
            if id_ in known and id_ not in messages:
                verdicts[id_] = Refused(Cause.MENTION, "unreadable")
        await self._record(room, messages, verdicts, known, mails)

    async def _read(self, ids: Sequence[str]) -> dict[str, Message]:
        """Return the messages in the order of their events."""
        found = {id_: self._unmeant[id_] for id_ in ids if id_ in self._unmeant}
        for wait_s in (0.0, SECOND_LOOK_S):
            missing = [id_ for id_ in ids if id_ not in found]
            if missing:
                await self._journal.clock.sleep(wait_s)
                read = await self._services.server.read_messages(self._room_id, missing)
                found.update({message.message_id: message for message in read})
        for id_ in ids:
            if id_ not in found:
                self._services.tally.count(self._room_id, "unreadable")
        return {id_: found[id_] for id_ in ids if id_ in found}

    async def _judge(
        self,
        room: Room,
        messages: Mapping[str, Message],
        known: Mapping[str, TurnRow],
        mails: Sequence[RoomMail],
    ) -> dict[str, Verdict]:
        mentioned = {mail.message_id for mail in mails if isinstance(mail, Mentioned)}
        standings = await self._standings.of(room, list(messages.values()))
        verdicts = dict[str, Verdict]()
        asked = list[tuple[Place, str]]()
        for id_, message in messages.items():
            path = Path.RECOVERED if id_ in known else Path.POSTED
            says = id_ in mentioned
            standing = standings[id_]
            for place, asker_id in asked:
                if place == standing.place:
                    standing = standing.after_question_of(asker_id, message.author_id)
            inbound = self._inbound(room, message, standing, path, says_mentioned=says)
            verdict = admit(inbound, self._services.policy)
            if isinstance(verdict, Admitted):
                asked.append((standing.place, message.author_id))
            if isinstance(verdict, NotForUs) and path is Path.RECOVERED:
                verdict = Refused(Cause.MENTION, verdict.cause)
            verdicts[id_] = verdict
        return verdicts

    def _inbound(
        self,
        room: Room,
        message: Message,
        standing: Standing,
        path: Path,
        *,
        says_mentioned: bool,
    ) -> Inbound:
        account = self._services.directory.account
        return Inbound(
            message=message,
            room=room,
            path=path,
            own_id=account.user_id,
            own_login=account.login,
            author_may_speak=self._services.gateway.may_speak(message.author_id, standing.place),
            is_pair=room.kind is RoomKind.DIRECT
            and self._services.server.is_pair(room.room_id, message.author_id),
            server_says_mentioned=says_mentioned,
            replies_to_own=standing.replies_to_own,
            answered_here=standing.answered_here,
            author_is_asker=standing.author_is_asker,
        )

    async def _record(
        self,
        room: Room,
        messages: Mapping[str, Message],
        verdicts: Mapping[str, Verdict],
        known: Mapping[str, TurnRow],
        mails: Sequence[RoomMail],
    ) -> None:
        """Write the receipts of what is meant, in one transaction, and tell the lanes."""
        draft = self._journal.draft()
        meant = dict[str, tuple[str, Received]]()
        for id_, verdict in verdicts.items():
            if isinstance(verdict, NotForUs):
                self._pass_over(messages[id_], verdict)
                continue
            row = known.get(id_) or await receipt_of(room, messages[id_], self._services)
            if id_ not in known:
                draft.receive(row)
            self._unmeant.pop(id_, None)
            meant[id_] = (row.session_key, Received(id_, verdict))
        for mail in mails:
            if isinstance(mail, MessagePosted) and mail.message_id in known:
                draft.turn(known[mail.message_id], "repeat", reason="redelivered")
        if not draft.is_empty:
            with self._services.tally.taken() as counts:
                at = self._journal.now()
                draft.also(partial(ignored.add, scope=self._journal.scope, counts=counts, at=at))
                await draft.commit()
        for session_key, received in meant.values():
            self._services.tell(THREAD, session_key, received)

    def _pass_over(self, message: Message, verdict: NotForUs) -> None:
        """Count a message that leaves no row; remember it while the server may still speak."""
        if message.message_id in self._unmeant:
            return
        self._services.tally.count(self._room_id, verdict.cause)
        self._unmeant[message.message_id] = message
        if len(self._unmeant) > REMEMBERED:
            self._unmeant.popitem(last=False)


def _message_id(mail: RoomMail) -> str:
    return mail.row.message_id if isinstance(mail, RecoverMessage) else mail.message_id
