"""The inbox: stored notifications of every account, and the levels that steer them.

One entry for everything an account should look at, made before the post that causes it is
answered.
Source: Chatto 0.4.20, cli/internal/core/notifications.go,
cli/internal/core/notification_level.go.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from .clock import Clock
from .feed import Feed
from .frames import Event
from .ids import IdKind, IdSource
from .pb import Proto, api
from .presence import Presence
from .rooms import Room
from .rows import Post


class Level(IntEnum):
    """How much an account wants to be told, numbered as on the wire."""

    DEFAULT = api.NOTIFICATION_LEVEL_DEFAULT
    MUTED = api.NOTIFICATION_LEVEL_MUTED
    NORMAL = api.NOTIFICATION_LEVEL_NORMAL
    ALL_MESSAGES = api.NOTIFICATION_LEVEL_ALL_MESSAGES


class EntryKind(StrEnum):
    """Why an account should look, named as on the wire."""

    MENTION = "mention"
    REPLY = "reply"
    DIRECT_MESSAGE = "direct_message"
    ROOM_MESSAGE = "room_message"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Entry:
    """One stored notification."""

    id: str
    kind: EntryKind
    created_ns: int
    actor_id: str
    post: Post
    """What to look at."""
    in_reply_to: str
    """For replies: the message pointed at, or the thread's root; otherwise empty."""
    thread_root_id: str
    """Empty outside of threads."""

    @property
    def room(self) -> Room:
        """The room it is about."""
        return self.post.room


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What a post gives an account to look at."""

    kind: EntryKind
    post: Post
    in_reply_to: str = ""
    thread_root_id: str = ""


class Inbox:
    """The entries and levels of all accounts."""

    def __init__(self, clock: Clock, ids: IdSource, feed: Feed, presence: Presence) -> None:
        """Start with empty inboxes and default levels."""
        self._clock = clock
        self._ids = ids
        self._feed = feed
        self._presence = presence
        self._entries: dict[str, dict[str, Entry]] = {}
        self._levels: dict[tuple[str, str], Level] = {}

    def of(self, user_id: str) -> dict[str, Entry]:
        """Return an account's entries by ID, the oldest first."""
        return self._entries.setdefault(user_id, {})

    def notify(self, user_id: str, cause: Cause) -> bool:
        """Store an entry and tell the account's streams; tell whether it wants any.

        A muted account gets nothing. One that is not to be disturbed gets it silently.
        """
        if self.effective_level(user_id, cause.post.room) is Level.MUTED:
            return False
        entry = Entry(
            id=self._ids.new(IdKind.NOTIFICATION),
            kind=cause.kind,
            created_ns=self._clock.now_ns(),
            actor_id=cause.post.actor_id,
            post=cause.post,
            in_reply_to=cause.in_reply_to,
            thread_root_id=cause.thread_root_id,
        )
        self.of(user_id)[entry.id] = entry
        self._feed.tell_user(
            user_id, Event("notification_created", entry.actor_id, self._told(user_id, entry))
        )
        return True

    def dismiss(self, user_id: str, entry_id: str) -> None:
        """Take an entry away; one that is gone already is fine."""
        if self.of(user_id).pop(entry_id, None) is None:
            return
        payload = {"notification_id": entry_id}
        self._feed.tell_user(user_id, Event("notification_dismissed", user_id, payload))

    def dismiss_where(self, user_id: str, matches: Callable[[Entry], bool]) -> int:
        """Take every matching entry away and return how many there were."""
        found = [entry.id for entry in self.of(user_id).values() if matches(entry)]
        for entry_id in found:
            self.dismiss(user_id, entry_id)
        return len(found)

    def forget(self, user_id: str) -> None:
        """Drop entries and levels of a deleted account."""
        self._entries.pop(user_id, None)
        self._levels = {key: level for key, level in self._levels.items() if key[0] != user_id}

    def level(self, user_id: str, room: Room | None) -> Level:
        """Return the level set for a room, or server-wide for None."""
        return self._levels.get((user_id, room.id if room else ""), Level.DEFAULT)

    def effective_level(self, user_id: str, room: Room | None) -> Level:
        """Return the level that holds: the room's, else the server-wide one, else NORMAL."""
        for scope in (room, None) if room else (None,):
            level = self.level(user_id, scope)
            if level is not Level.DEFAULT:
                return level
        return Level.NORMAL

    def wanting_all(self, room: Room) -> list[str]:
        """Return who is to be told of every message of a room, members or not."""
        asking = dict.fromkeys(
            user_id
            for (user_id, room_id), level in self._levels.items()
            if level is Level.ALL_MESSAGES and room_id in {"", room.id}
        )
        wanted = Level.ALL_MESSAGES
        return [one for one in asking if self.effective_level(one, room) is wanted]

    def set_level(self, user_id: str, room: Room | None, level: Level) -> None:
        """Set a level for a room, or server-wide for None."""
        self._levels[user_id, room.id if room else ""] = level
        payload = {
            "room_id": room.id if room else "",
            "level": int(level),
            "effective_level": int(self.effective_level(user_id, room)),
        }
        self._feed.tell_user(user_id, Event("notification_level_changed", user_id, payload))

    def _told(self, user_id: str, entry: Entry) -> dict[str, Proto]:
        """Return what the live event says; of a direct message it names only the room."""
        told: dict[str, Proto] = {
            "notification_id": entry.id,
            "room_id": entry.room.id,
            "silent": self._presence.wants_quiet(user_id),
        }
        if entry.kind is not EntryKind.DIRECT_MESSAGE:
            told["event_id"] = entry.post.id
        if entry.kind is EntryKind.REPLY:
            told["in_reply_to_id"] = entry.in_reply_to
        return told
