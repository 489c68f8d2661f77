"""Posting: the checks of a new message in their order, and everything it brings about.

Source: Chatto 0.4.20, cli/internal/core/message_model.go, cli/internal/core/messages.go,
cli/internal/core/validation.go.
"""

import unicodedata
from dataclasses import dataclass

from . import access
from .accounts import Account
from .addressing import meant_by
from .frames import Event
from .ids import IdKind
from .notifying import Notifying
from .permissions import Permission
from .readmarkers import last_post
from .refusals import Reason, refused
from .rooms import Room
from .rows import Echo, Message, Post, RowKind
from .threads import Thread
from .world import World

MAX_BODY = 10_000  # bytes of UTF-8
INVISIBLE = frozenset({"Cf", "Cc", "Zs", "Zl", "Zp"})  # Unicode categories


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a client wants to post."""

    room_id: str
    body: str
    thread_root_id: str = ""
    in_reply_to: str = ""
    asset_ids: tuple[str, ...] = ()
    wants_echo: bool = False
    """Whether the thread reply shall show in the room as well."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a draft goes, once everything it names was found."""

    room: Room
    root: Message | None
    """None: the room itself."""


class Posting:
    """Takes drafts and makes messages of them."""

    def __init__(self, world: World) -> None:
        """Work on this world."""
        self._world = world
        self._notifying = Notifying(world)

    def post(self, author: Account, draft: Draft) -> Message:
        """Post a message and do all that follows from it.

        Raises:
            RefusedError: the first check it fails; nothing was changed.
        """
        place = self._place(author, draft)
        asset_ids = self._usable_assets(place.room, draft)
        message = self._write(author, draft, place, asset_ids)
        thread = self._announce(message, place.root)
        self._mark_as_read(message, thread)
        meant = meant_by(self._world, place.room, draft.body)
        message.mentioned_ids = frozenset(meant.user_ids)
        self._notifying.of_message(message, meant, thread)
        if thread is not None and draft.wants_echo:
            self.show_echo(message)
        self._world.markers.announce(author.id, place.room)
        return message

    def show_echo(self, reply: Message) -> None:
        """Show a thread reply in the room, at its end, with the reply's old time."""
        echo = Echo(
            sequence=self._world.log.next_sequence(),
            id=self._world.ids.new(IdKind.MESSAGE),
            kind=RowKind.MESSAGE_POSTED,
            room=reply.room,
            actor_id=reply.actor_id,
            created_ns=reply.created_ns,
            original=reply,
        )
        reply.echoes.append(echo)
        reply.room.rows.append(echo)
        self._world.log.keep(echo)
        self._tell_posted(echo)
        self._notifying.of_echo(echo)

    def _place(self, author: Account, draft: Draft) -> _Place:
        """Check a draft against the room and what it names there."""
        if not is_visible(draft.body) and not draft.asset_ids:
            raise refused(Reason.EMPTY_MESSAGE)
        if draft.wants_echo and not draft.thread_root_id:
            raise refused(Reason.ECHO_WITHOUT_THREAD)
        room = self._world.rooms.require(draft.room_id)
        if room.is_archived:
            raise refused(Reason.ARCHIVED)
        if not self._world.permissions.is_member(author, room):
            raise refused(Reason.NOT_A_MEMBER)
        self._require_permissions(author, room, draft)
        require_length(draft.body)
        target = self._target(room, draft.in_reply_to)
        root = self._root(room, draft.thread_root_id)
        if root is None and isinstance(target, Message) and target.thread_root_id:
            root = self._root(room, target.thread_root_id)
        return _Place(room, root)

    def _require_permissions(self, author: Account, room: Room, draft: Draft) -> None:
        if room.is_dm and draft.thread_root_id:
            raise refused(Reason.NO_THREADS_IN_DMS)
        in_thread = bool(draft.thread_root_id)
        wanted = [Permission.POST_IN_THREAD if in_thread else Permission.POST]
        if draft.asset_ids:
            wanted.append(Permission.ATTACH)
        if draft.wants_echo:
            wanted += [Permission.ECHO, Permission.POST]
        for permission in wanted:
            access.require(self._world, author, permission, room)

    def _target(self, room: Room, event_id: str) -> Post | None:
        if not event_id:
            return None
        row = self._world.log.find(room, event_id)
        if row is None:
            raise refused(Reason.NO_TARGET)
        if not isinstance(row, Message | Echo):
            raise refused(Reason.TARGET_IS_NO_MESSAGE)
        return row

    def _root(self, room: Room, root_id: str) -> Message | None:
        if not root_id:
            return None
        row = self._world.log.find(room, root_id)
        if row is None:
            raise refused(Reason.NO_POST_ROOT)
        if not isinstance(row, Message | Echo):
            raise refused(Reason.POST_ROOT_IS_NO_MESSAGE)
        if isinstance(row, Echo) or row.thread_root_id:
            raise refused(Reason.POST_ROOT_IS_NO_ROOT)
        return row

    def _usable_assets(self, room: Room, draft: Draft) -> list[str]:
        """Return those assets that are there; the others are dropped without a word."""
        usable = [one for one in draft.asset_ids if self._world.assets.in_room(room, one)]
        if not usable and not is_visible(draft.body):
            raise refused(Reason.EMPTY_MESSAGE)
        return usable

    def _write(
        self, author: Account, draft: Draft, place: _Place, asset_ids: list[str]
    ) -> Message:
        self._announce_thread(author, place.root)
        message = Message(
            sequence=self._world.log.next_sequence(),
            id=self._world.ids.new(IdKind.MESSAGE),
            kind=RowKind.MESSAGE_POSTED,
            room=place.room,
            actor_id=author.id,
            created_ns=self._world.clock.now_ns(),
            body=draft.body,
            in_reply_to=draft.in_reply_to,
            thread_root_id=place.root.id if place.root else "",
            asset_ids=asset_ids,
        )
        self._world.assets.keep(asset_ids)
        self._world.log.keep(message)
        return message

    def _announce_thread(self, author: Account, root: Message | None) -> None:
        if root is None or self._world.threads.of(root).replies:
            return
        payload = {"room_id": root.room.id, "thread_root_event_id": root.id}
        self._world.feed.tell_room(root.room, Event("thread_created", author.id, payload))

    def _announce(self, message: Message, root: Message | None) -> Thread | None:
        """Put a message into its timeline and tell the room."""
        thread = self._world.threads.of(root) if root else None
        if thread is None:
            message.room.rows.append(message)
        else:
            self._world.threads.add_reply(thread, message)
        self._tell_posted(message)
        return thread

    def _mark_as_read(self, message: Message, thread: Thread | None) -> None:
        """Let the author have read the room, and the thread followed by author and root's."""
        author_id = message.actor_id
        newest = last_post(message.room)
        if newest is not None:
            self._world.markers.advance(author_id, message.room, newest)
        if thread is None:
            return
        thread.read_to[author_id] = message.moment
        self._world.threads.follow(thread, author_id)
        root_author = self._world.accounts.get(thread.root.actor_id)
        if root_author is not None and thread.reply_count == 1:
            self._world.threads.follow_first(thread, root_author.id)

    def _tell_posted(self, post: Post) -> None:
        payload = {"room_id": post.room.id, "message_event_id": post.id}
        if isinstance(post, Message) and post.thread_root_id:
            payload["thread_root_event_id"] = post.thread_root_id
        event = Event(RowKind.MESSAGE_POSTED, post.actor_id, payload, post.id, post.created_ns)
        self._world.feed.tell_room(post.room, event)


def is_visible(body: str) -> bool:
    """Tell whether a text has a character that is no space, format or control character."""
    return any(
        unicodedata.category(character) not in INVISIBLE and not character.isspace()
        for character in body
    )


def require_length(body: str) -> None:
    """Pass a text that is not too long; bytes count.

    Raises:
        RefusedError: it has more than 10,000.
    """
    if len(body.encode()) > MAX_BODY:
        raise refused(Reason.TOO_LONG)
