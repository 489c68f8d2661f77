"""Route what the stream says; the cheapest questions first, all of them in memory."""

import logging
from collections import OrderedDict
from typing import assert_never

from ...store import turns
from ..runtime.mailbox import Address
from .admission import answers_room
from .errors import ChatError
from .facts import Place, Room, RoomKind
from .levels import note_levels
from .mail import MEMBERSHIP, ROOM, THREAD, Look, Retracted
from .policy import Bots
from .room_rules import rules_of
from .services import Services
from .signs import sign_again
from .stream_events import (
    LevelChanged,
    Membership,
    Mentioned,
    MessageEdited,
    MessagePosted,
    MessageRetracted,
    PersonChanged,
    PersonDeleted,
    Reached,
    RoomChanged,
    StreamEvent,
    StreamOpened,
)

__all__ = ["Reception"]

log = logging.getLogger(__name__)

KNOWN_MOST = 1_024  # messages; an edit is looked for within a second of a read
HELD_MOST = 5_000  # events; a flood does not wait for what was missed

Held = MessagePosted | Mentioned | MessageEdited | MessageRetracted | PersonDeleted
"""What may wait until a gap was caught up."""


class Reception:
    """Lets through what an allowed person posted in a room the agent answers in."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services
        self._held: list[Held] | None = None
        """What waits until a gap was caught up; None: nothing does."""
        self.announced: set[str] = set()
        """Messages the open stream brought while a gap was being caught up."""
        self._let_through: OrderedDict[str, None] = OrderedDict()
        """Messages that were posted or edited lately by somebody who may speak."""
        self._looked_at: set[str] = set()
        """Rooms that are being read because the account may be in them again."""

    def hold(self) -> None:
        """Let what is posted from now on wait: what a gap hid comes first.

        What waits from a hold before this one goes on waiting.
        """
        self._held = self._held or []
        self.announced = {
            event.message_id for event in self._held if isinstance(event, MessagePosted)
        }

    async def release(self) -> None:
        """Let through what waits, in its order, and hold nothing more.

        Raises:
            SupervisorClosedError: the profile is being stopped.
        """
        while self._held:
            await self._deliver(self._held.pop(0))
        self._held = None

    async def route(self, event: StreamEvent) -> None:  # noqa: C901, PLR0912  one case an event
        """Pass an event on; waits only while the mailbox of its room is full.

        Raises:
            SupervisorClosedError: the profile is being stopped.
        """
        match event:
            case MessagePosted() | Mentioned():
                self._note(event)
                if self._concerns_us(event):
                    await self._forward(event)
                elif self._services.directory.has_left(event.room_id):
                    self._look_at_room(event.room_id)
            case RoomChanged():
                self._services.directory.note_room(event)
                if event.user_id == self._services.directory.account.user_id:
                    self._services.unseen.miss(event.room_id)
                await self._look(event)
            case LevelChanged():
                note_levels(self._services)
            case PersonChanged():
                self._services.directory.note_person(event)
            case MessageEdited() | MessageRetracted():
                if isinstance(event, MessageEdited):
                    self._services.editors.note(event)
                if self._may_revise(event):
                    await self._forward(event)
            case PersonDeleted():
                await self._forward(event)
            case Reached():
                self._services.keeper.position.reach(event.cursor)
                self._services.keeper.write_soon()
            case StreamOpened():
                log.debug("stream opened by server %s", event.server_version)
            case _:
                assert_never(event)

    def _look_at_room(self, room_id: str) -> None:
        """Find out whether we are back in a room from which the account is still notified."""
        if room_id not in self._looked_at:
            self._looked_at.add(room_id)
            self._services.tasks.start_soon(self._read_room, room_id)

    async def _read_room(self, room_id: str) -> None:
        directory = self._services.directory
        directory.forget_room(room_id)
        try:
            await directory.room(room_id)
        except ChatError as error:
            log.info("whether room %s is ours again is not known: %s", room_id, error)
        finally:
            self._looked_at.discard(room_id)

    async def _forward(self, event: Held) -> None:
        """Send an event to its room, or keep it; waits only while that mailbox is full."""
        position = self._services.keeper.position
        position.arrive(event)
        if isinstance(event, MessagePosted):
            position.announce(event.message_id, event.posted_at)
        if isinstance(event, MessagePosted | MessageEdited):
            self._let_through[event.message_id] = None
            if len(self._let_through) > KNOWN_MOST:
                self._let_through.popitem(last=False)
        if self._held is None:
            await self._deliver(event)
            return
        self._held.append(event)
        if isinstance(event, MessagePosted):
            self.announced.add(event.message_id)
        if len(self._held) > HELD_MOST:
            await self.release()

    async def _deliver(self, event: Held) -> None:
        if isinstance(event, PersonDeleted):
            await self._forget_author(event.user_id)
            self._services.keeper.position.apply([event])
            self._services.keeper.write_soon()
        else:
            await self._services.supervisor.send(Address(ROOM, event.room_id), event)

    async def _look(self, event: RoomChanged) -> None:
        """Have it recorded how the account stands in a room, where that may be another way now.

        What is remembered of a room it left does not tell whether it may come back.
        """
        if event.user_id in {None, self._services.directory.account.user_id}:
            self._services.directory.forget_room(event.room_id)
            await sign_again(self._services, event.room_id)
            look = Look("room_changed")
            if event.membership is not None:
                look = Look(event.membership.value, event.membership is Membership.JOINED)
            await self._services.send(MEMBERSHIP, event.room_id, look)

    def _note(self, event: MessagePosted | Mentioned) -> None:
        """Remember what was posted in which conversation, whoever wrote it."""
        if isinstance(event, Mentioned):
            return
        if event.author_id == self._services.directory.account.user_id:
            self._services.own_posts.note(event.message_id)
        directory, root_id = self._services.directory, event.thread_root_id
        if root_id is not None or directory.kind_of(event.room_id) is RoomKind.DIRECT:
            self._services.unseen.note(event.room_id, root_id, event.message_id)
        else:
            self._services.unseen.note_opening(event.message_id)

    def _concerns_us(self, event: MessagePosted | Mentioned) -> bool:
        """Ask what costs nothing: our own, a room we answer in, an author who may speak."""
        cause = self._why_not(event.room_id, event.author_id, event.message_id)
        if cause is None:
            return True
        if isinstance(event, MessagePosted):
            self._services.tally.count(event.room_id, cause)
            self._services.keeper.position.pass_by(event.posted_at)
            self._services.keeper.write_soon()
        return False

    def _why_not(self, room_id: str, author_id: str, message_id: str) -> str | None:
        services = self._services
        if author_id == services.directory.account.user_id:
            return "own_message"
        room = services.directory.known_room(room_id)
        if room is not None and not answers_room(room, services.policy):
            return "room_not_answered"
        kind = services.directory.kind_of(room_id)
        root = message_id if kind is RoomKind.CHANNEL else None
        if services.let_in_by(author_id, Place(room_id, kind, root)) is not None:
            return "program" if room is not None and self._is_shut_out(author_id, room) else None
        if services.policy.strangers_reach_gateway and kind is RoomKind.DIRECT:
            return None
        return "author_not_allowed"

    def _is_shut_out(self, author_id: str, room: Room) -> bool:
        """Tell whether the author is a program where none may speak."""
        is_none = rules_of(room, self._services.policy).allow_bots is Bots.NONE
        return is_none and self._services.is_program(author_id)

    def _may_revise(self, event: MessageEdited | MessageRetracted) -> bool:
        """Tell whether an edit or a deletion may concern a turn; whose it is, its row says.

        A moderator need not be on any list, and says whose words a read shows that was just made.
        """
        if isinstance(event, MessageEdited) and event.message_id not in self._let_through:
            return self._why_not(event.room_id, event.editor_id, event.message_id) is None
        room = self._services.directory.known_room(event.room_id)
        return room is None or answers_room(room, self._services.policy)

    async def _forget_author(self, user_id: str) -> None:
        """End what waits or runs for somebody whose account is gone: nothing else tells.

        Source: Chatto 0.4.20 deletes the account's messages without retracting them.
        """
        services, scope = self._services, self._services.journal.scope
        rows = await services.journal.read(lambda db: turns.of_author(db, scope, user_id))
        for row in rows:
            mail = Retracted(row.message_id, "author_gone")
            await services.send(THREAD, row.session_key, mail)
