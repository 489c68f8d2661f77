"""Notifying: what a new post puts into whose inbox, in the server's order.

Mentions first, then who was replied to, then the thread's followers, then the other side of a
direct conversation, then those who want to be told of everything.
Source: Chatto 0.4.20, cli/internal/core/messages.go (PostMessage), cli/internal/core/threads.go,
cli/internal/core/mentions.go, cli/internal/core/dm.go.
"""

from collections.abc import Collection

from .addressing import Meant
from .frames import Event
from .inbox import Cause, EntryKind
from .rows import Echo, Message, Post
from .threads import Thread
from .world import World


class Notifying:
    """Fills inboxes and tells streams."""

    def __init__(self, world: World) -> None:
        """Work on this world."""
        self._world = world

    def of_message(self, message: Message, meant: Meant, thread: Thread | None) -> None:
        """Notify everybody a new message concerns.

        Args:
            message: as it was just posted.
            meant: whom its text means.
            thread: the thread it is in; None for a message of the room.
        """
        new_followers = self._mentioned(message, meant, thread)
        answered_id = self._answered(message, meant)
        if thread is not None:
            self._followers(message, thread, besides={*new_followers, answered_id})
        elif message.room.is_dm:
            self._other_side(message)
        else:
            told = {*meant.user_ids, answered_id, message.actor_id}
            self._all_messages(message, besides=told)

    def of_echo(self, echo: Echo) -> None:
        """Notify those who want to be told of everything in the room."""
        self._all_messages(echo, besides={*echo.original.mentioned_ids, echo.actor_id})

    def _mentioned(self, message: Message, meant: Meant, thread: Thread | None) -> list[str]:
        """Notify whom the text means; return who follows the thread by that."""
        new_followers = []
        cause = Cause(kind=EntryKind.MENTION, post=message, thread_root_id=message.thread_root_id)
        for user_id in meant.user_ids:
            if user_id == message.actor_id or not self._world.inbox.notify(user_id, cause):
                continue
            is_new_follower = (
                thread is not None
                and user_id in meant.by_name
                and self._world.threads.follow_first(thread, user_id)
            )
            if is_new_follower:
                new_followers.append(user_id)
            self._tell_of_mention(message, user_id)
        return new_followers

    def _tell_of_mention(self, message: Message, user_id: str) -> None:
        if self._world.presence.wants_quiet(user_id):
            return
        payload = {
            "room_id": message.room.id,
            "actor_user_id": message.actor_id,
            "room_name": message.room.name,
            "actor_display_name": self._display_name(message.actor_id),
        }
        self._world.feed.tell_user(
            user_id, Event("mention_notification", message.actor_id, payload)
        )

    def _answered(self, message: Message, meant: Meant) -> str:
        """Notify the author of the message replied to; return who was, empty for nobody."""
        target = self._world.log.any(message.in_reply_to) if message.in_reply_to else None
        if target is None or target.actor_id in {message.actor_id, *meant.user_ids}:
            return ""
        if self._world.accounts.get(target.actor_id) is None:
            return ""
        cause = Cause(
            kind=EntryKind.REPLY,
            post=message,
            in_reply_to=message.in_reply_to,
            thread_root_id=message.thread_root_id,
        )
        return target.actor_id if self._world.inbox.notify(target.actor_id, cause) else ""

    def _followers(self, message: Message, thread: Thread, besides: Collection[str]) -> None:
        cause = Cause(
            kind=EntryKind.REPLY,
            post=message,
            in_reply_to=thread.root.id,
            thread_root_id=thread.root.id,
        )
        for user_id in self._world.threads.followers_of(thread):
            if user_id != message.actor_id and user_id not in besides:
                self._world.inbox.notify(user_id, cause)

    def _other_side(self, message: Message) -> None:
        cause = Cause(kind=EntryKind.DIRECT_MESSAGE, post=message)
        for account in self._world.permissions.members(message.room):
            is_told = account.id != message.actor_id and self._world.inbox.notify(
                account.id, cause
            )
            if is_told and not self._world.presence.wants_quiet(account.id):
                self._tell_of_direct_message(message, account.id)

    def _tell_of_direct_message(self, message: Message, user_id: str) -> None:
        others = [one for one in message.room.member_ids if one != user_id]
        payload = {
            "room_id": message.room.id,
            "sender_id": message.actor_id,
            "sender_display_name": self._display_name(message.actor_id),
            "sender_avatar_url": "",
            "conversation_name": ", ".join(self._display_name(one) for one in others),
        }
        event = Event("new_direct_message_notification", message.actor_id, payload)
        self._world.feed.tell_user(user_id, event)

    def _all_messages(self, post: Post, besides: Collection[str]) -> None:
        cause = Cause(kind=EntryKind.ROOM_MESSAGE, post=post)
        for user_id in self._world.inbox.wanting_all(post.room):
            account = self._world.accounts.get(user_id)
            is_member = account and self._world.permissions.is_member(account, post.room)
            if is_member and user_id not in besides:
                self._world.inbox.notify(user_id, cause)

    def _display_name(self, user_id: str) -> str:
        account = self._world.accounts.known(user_id)
        return account.display_name if account else ""
