"""Editing: changes to messages that are posted, deletion, and echoes shown and hidden.

Source: Chatto 0.4.20, cli/internal/core/message_model.go, cli/internal/core/messages.go,
docs/fdr/FDR-003, docs/fdr/FDR-004.
"""

from . import access
from .accounts import Account
from .clock import NANOSECONDS
from .frames import Event
from .permissions import Permission
from .posting import Posting, require_length
from .refusals import Reason, refused
from .rows import Echo, Message, Post
from .timelines import take_out
from .world import World

EDIT_WINDOW_S = 3 * 3600  # for authors; who manages messages has no limit


class Editing:
    """Changes, deletes and takes apart what was posted."""

    def __init__(self, world: World, posting: Posting) -> None:
        """Work on this world; `posting` shows echoes."""
        self._world = world
        self._posting = posting

    def update(self, editor: Account, post: Post, *, body: str | None, echo: bool | None) -> None:
        """Change a message's text, or whether a thread reply shows in the room.

        Args:
            editor: the author, or who manages messages.
            post: the message or its echo.
            body: None leaves the text as it is; it still counts as an edit.
            echo: None leaves the echo as it is.

        Raises:
            RefusedError: the first check it fails; nothing was changed.
        """
        message = access.original_of(post)
        if body is None and echo is None:
            raise refused(Reason.NOTHING_TO_EDIT)
        if message.is_deleted:
            raise refused(Reason.NO_MESSAGE)
        self._require_editor(editor, message, echo=echo)
        text = message.body if body is None else body
        require_length(text)
        access.require_open(message.room)
        self._require_window(editor, message)
        if echo is not None and not message.thread_root_id:
            raise refused(Reason.ECHO_OF_NO_REPLY)
        self._rewrite(editor, post, text)
        if echo is not None:
            self._switch_echo(editor, message, is_on=echo)

    def delete(self, actor: Account, post: Post) -> None:
        """Delete a message, or an echo alone; a deleted message is fine.

        Raises:
            RefusedError: the actor is neither the author nor manages messages.
        """
        if post.actor_id != actor.id and not self._manages(actor, post):
            raise refused(Reason.DENIED)
        if isinstance(post, Echo) and not post.original.is_deleted:
            self._hide(actor, post)
        elif isinstance(post, Message) and not post.is_deleted:
            self.retract(post)
            self._tell_retracted(actor, post)
            for asset_id in post.asset_ids:
                self._tell_asset_deleted(actor, post, asset_id)

    def retract(self, message: Message) -> None:
        """Leave a tombstone; files go with the message. Nobody is told."""
        message.deleted_ns = self._world.clock.now_ns()
        for asset_id in message.asset_ids:
            self._world.assets.remove(asset_id)
        if message.thread_root_id:
            self._world.threads.drop_reply(message)

    def remove_attachment(self, actor: Account, post: Post, asset_id: str) -> None:
        """Take a file off a message; it is gone then.

        Raises:
            RefusedError: the actor is not the author, or the message has no such file.
        """
        message = access.original_of(post)
        if message.is_deleted:
            raise refused(Reason.NO_MESSAGE)
        if message.actor_id != actor.id:
            raise refused(Reason.NOT_THE_AUTHOR)
        if asset_id not in message.asset_ids:
            raise refused(Reason.NO_ATTACHMENT)
        message.asset_ids = [one for one in message.asset_ids if one != asset_id]
        self._world.assets.remove(asset_id)
        self._rewrite(actor, post, message.body)
        self._tell_asset_deleted(actor, post, asset_id)

    def _require_editor(self, editor: Account, message: Message, *, echo: bool | None) -> None:
        is_author = message.actor_id == editor.id
        if not is_author and not self._manages(editor, message):
            raise refused(Reason.DENIED)
        if echo is None:
            return
        if not is_author:
            raise refused(Reason.NOT_THE_AUTHOR)
        if echo:
            access.require(self._world, editor, Permission.ECHO, message.room)
            access.require(self._world, editor, Permission.POST, message.room)

    def _require_window(self, editor: Account, message: Message) -> None:
        age_ns = self._world.clock.now_ns() - message.created_ns
        if message.actor_id == editor.id and age_ns > EDIT_WINDOW_S * NANOSECONDS:
            raise refused(Reason.EDIT_WINDOW_OVER)

    def _manages(self, account: Account, post: Post) -> bool:
        return self._world.permissions.may(account, Permission.MANAGE_MESSAGES, post.room)

    def _rewrite(self, editor: Account, post: Post, body: str) -> None:
        """Set the text and tell of the edit: once for each ID that shows it, `post` first."""
        message = access.original_of(post)
        message.body = body
        message.updated_ns = self._world.clock.now_ns()
        linked: list[Post] = list(message.echoes) if post is message else [message]
        for edited in (post, *linked):
            payload = {"room_id": message.room.id, "message_event_id": edited.id}
            self._world.feed.tell_room(message.room, Event("message_edited", editor.id, payload))

    def _switch_echo(self, editor: Account, message: Message, *, is_on: bool) -> None:
        echo = message.visible_echo
        if is_on and echo is None:
            self._posting.show_echo(message)
        elif not is_on and echo is not None:
            self._hide(editor, echo)

    def _hide(self, actor: Account, echo: Echo) -> None:
        """Take an echo's row out of the room; its ID means nothing any more."""
        echo.is_hidden = True
        take_out(echo.room.rows, echo)
        self._tell_retracted(actor, echo)

    def _tell_retracted(self, actor: Account, post: Post) -> None:
        payload = {"room_id": post.room.id, "message_event_id": post.id}
        self._world.feed.tell_room(post.room, Event("message_retracted", actor.id, payload))

    def _tell_asset_deleted(self, actor: Account, post: Post, asset_id: str) -> None:
        payload = {"room_id": post.room.id, "asset_id": asset_id}
        self._world.feed.tell_room(post.room, Event("asset_deleted", actor.id, payload))
