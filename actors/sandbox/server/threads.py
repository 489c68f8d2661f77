"""Threads: their replies, who follows them, how far each account has read.

A thread begins to exist with its first reply; before that any message of a room can be
followed and read as one.
Source: Chatto 0.4.20, cli/internal/core/threads.go, cli/internal/core/thread_projection.go.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto

from .feed import Feed
from .frames import Event
from .refusals import Reason, refused
from .rooms import Room
from .rows import Log, Message


class Following(Enum):
    """What an account has to do with a thread."""

    NEVER_SET = auto()
    FOLLOWING = auto()
    UNFOLLOWED = auto()


@dataclass(slots=True, eq=False)
class Thread:
    """The replies under one root."""

    root: Message
    replies: list[Message] = field(default_factory=list)
    """All of them by sequence, tombstones too."""
    repliers: Counter[str] = field(default_factory=Counter)
    """Who wrote how many of the replies that are not deleted."""
    followers: dict[str, Following] = field(default_factory=dict)
    read_to: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The moment up to which an account has read."""

    @property
    def reply_count(self) -> int:
        """How many replies are not deleted."""
        return self.repliers.total()

    @property
    def participant_ids(self) -> list[str]:
        """Who wrote a reply that is not deleted; the first one first."""
        return [user_id for user_id, count in self.repliers.items() if count]

    @property
    def last_reply(self) -> Message | None:
        """Return the newest reply that is not deleted."""
        return next((one for one in reversed(self.replies) if not one.is_deleted), None)

    def following(self, user_id: str) -> Following:
        """Tell what an account has to do with this thread."""
        return self.followers.get(user_id, Following.NEVER_SET)

    def is_followed_by(self, user_id: str) -> bool:
        """Tell whether an account follows this thread."""
        return self.following(user_id) is Following.FOLLOWING

    def is_unread_by(self, user_id: str) -> bool:
        """Tell whether the newest reply is newer than what the account has read."""
        last = self.last_reply
        return last is not None and self.read_to.get(user_id, (0, 0)) < last.moment


class Threads:
    """Every thread anybody replied to, followed or read."""

    def __init__(self, log: Log, feed: Feed) -> None:
        """Start without any."""
        self._log = log
        self._feed = feed
        self._by_root: dict[str, Thread] = {}
        self._followed: dict[str, dict[str, Thread]] = {}

    def get(self, root_id: str) -> Thread | None:
        """Look a thread up; None while nobody had to do with it."""
        return self._by_root.get(root_id)

    def of(self, root: Message) -> Thread:
        """Return the thread under a message, making its record if need be."""
        thread = self._by_root.get(root.id)
        if thread is None:
            thread = self._by_root[root.id] = Thread(root)
        return thread

    def require_root(self, room: Room, root_id: str) -> Message:
        """Return the message of this room that roots a thread or could.

        Raises:
            RefusedError: `not_found` for an unknown one, `invalid_argument` for a row that is
                a reply, an echo or no message.
        """
        row = self._log.find(room, root_id)
        if row is None:
            raise refused(Reason.NO_ROOT)
        if not isinstance(row, Message) or row.thread_root_id:
            raise refused(Reason.NOT_A_ROOT)
        return row

    def add_reply(self, thread: Thread, reply: Message) -> None:
        """Append a reply."""
        thread.replies.append(reply)
        thread.repliers[reply.actor_id] += 1

    def drop_reply(self, reply: Message) -> None:
        """Count a reply no more that was just deleted."""
        self._by_root[reply.thread_root_id].repliers[reply.actor_id] -= 1

    def follow(self, thread: Thread, user_id: str) -> None:
        """Let an account follow a thread, also one it has unfollowed."""
        self._set(thread, user_id, Following.FOLLOWING)

    def follow_first(self, thread: Thread, user_id: str) -> bool:
        """Let an account follow unless it ever followed or unfollowed; tell whether it did."""
        if thread.following(user_id) is not Following.NEVER_SET:
            return False
        self._set(thread, user_id, Following.FOLLOWING)
        return True

    def unfollow(self, thread: Thread, user_id: str) -> None:
        """Let an account follow a thread no more."""
        self._set(thread, user_id, Following.UNFOLLOWED)

    def followed_by(self, user_id: str) -> list[Thread]:
        """Return the threads an account follows, newest reply first, without reply last."""
        threads = self._followed.get(user_id, {}).values()
        return sorted(threads, key=_activity, reverse=True)

    def followers_of(self, thread: Thread) -> list[str]:
        """Return who follows a thread, the first one first."""
        return [user_id for user_id in thread.followers if thread.is_followed_by(user_id)]

    def _set(self, thread: Thread, user_id: str, following: Following) -> None:
        if thread.following(user_id) is following:
            return
        thread.followers[user_id] = following
        followed = self._followed.setdefault(user_id, {})
        is_following = following is Following.FOLLOWING
        if is_following:
            followed[thread.root.id] = thread
        else:
            followed.pop(thread.root.id, None)
        self._feed.tell_user(
            user_id,
            Event(
                "thread_follow_changed",
                user_id,
                {
                    "room_id": thread.root.room.id,
                    "thread_root_event_id": thread.root.id,
                    "following": is_following,
                },
            ),
        )


def _activity(thread: Thread) -> tuple[int, int]:
    last = thread.last_reply
    return last.moment if last else (0, 0)
