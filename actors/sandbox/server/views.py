"""Views: rows, rooms and accounts as the wire shows them to one viewer.

Source: Chatto 0.4.20, cli/internal/connectapi/room_timeline_assembler.go,
cli/internal/connectapi/thread_assembler.go, cli/internal/connectapi/room_directory.go,
cli/internal/connectapi/member_directory.go.
"""

from . import access
from .accounts import Account
from .assets import Asset
from .inbox import Entry, EntryKind
from .pb import Proto, api, at
from .reactions import PREVIEW
from .rooms import Room
from .rows import Echo, Message, Post
from .world import World

THUMBNAIL = "image/960x400/contain"  # of files in timelines
SMALL_THUMBNAIL = "image/120x120/cover"  # of files looked up by themselves


class Views:
    """Builds what calls answer."""

    def __init__(self, world: World) -> None:
        """Show this world."""
        self._world = world

    # --- accounts -------------------------------------------------------------------------

    def user(self, account: Account) -> Proto:
        """Show an account; a deleted one is only a name that says so."""
        if account.is_deleted:
            return api.User(
                id=account.id,
                display_name="Deleted User",
                deleted=True,
                presence_status=api.PRESENCE_STATUS_OFFLINE,
            )
        return api.User(
            id=account.id,
            login=account.login,
            display_name=account.display_name,
            presence_status=int(self._world.presence.of(account.id)),
            custom_status=self.custom_status(account),
        )

    def custom_status(self, account: Account) -> Proto | None:
        """Show what an account says about itself; None for nothing."""
        status = account.status
        if status is None:
            return None
        if status.expires_ns is None:
            return api.CustomUserStatus(emoji=status.emoji, text=status.text)
        if status.expires_ns <= self._world.clock.now_ns():
            return None
        return api.CustomUserStatus(
            emoji=status.emoji, text=status.text, expires_at=at(status.expires_ns)
        )

    def member(self, account: Account, *, with_roles: bool) -> Proto:
        """Show an account in a directory; members of a room stand there without roles."""
        return api.DirectoryMember(
            user=self.user(account),
            roles=account.role_names if with_roles else [],
            created_at=at(account.created_ns),
        )

    # --- rooms ----------------------------------------------------------------------------

    def room(self, room: Room) -> Proto:
        """Show a room."""
        return api.Room(
            id=room.id,
            kind=int(room.kind),
            name=room.name,
            description=room.description,
            archived=room.is_archived,
            group_id=room.group_id,
            universal=room.is_universal,
        )

    def room_summary(self, room: Room) -> Proto:
        """Show what is needed to name a room."""
        return api.RoomSummary(id=room.id, kind=int(room.kind), name=room.name)

    def room_for(self, viewer: Account, room: Room) -> Proto:
        """Show a room with what the viewer has to do with it and may do in it."""
        is_member = self._world.permissions.is_member(viewer, room)
        state = api.RoomViewerState(
            is_member=is_member,
            has_unread=is_member and self._world.markers.has_unread(viewer.id, room),
            permissions=[
                api.PermissionGrant(permission=permission, granted=granted)
                for permission, granted in self._world.permissions.grants(viewer, room)
            ],
        )
        return api.RoomWithViewerState(room=self.room(room), viewer_state=state)

    # --- messages -------------------------------------------------------------------------

    def message(self, viewer: Account, post: Post) -> Proto:
        """Show a message, an echo or a tombstone."""
        original = access.original_of(post)
        view = api.Message(
            id=post.id,
            room_id=post.room.id,
            created_at=at(post.created_ns),
            actor_id=post.actor_id,
            in_reply_to=original.in_reply_to,
            reactions=self._reactions(viewer, original),
        )
        if original.deleted_ns is None:
            self._fill_content(viewer, view, original)
        else:
            view.deleted_at.CopyFrom(at(original.deleted_ns))
        if isinstance(post, Echo):
            view.echo_of_event_id = original.id
            view.echo_from_thread_root_event_id = original.thread_root_id
        else:
            self._fill_place(viewer, view, post)
        return view

    def thread(self, viewer: Account, root: Message) -> Proto:
        """Show the summary of the thread under a message, of an empty one too."""
        summary = api.ThreadSummary(thread_root_event_id=root.id)
        thread = self._world.threads.get(root.id)
        if thread is not None:
            participant_ids = thread.participant_ids
            summary.reply_count = thread.reply_count
            summary.participant_count = len(participant_ids)
            summary.participant_preview_user_ids.extend(participant_ids[:PREVIEW])
            if thread.last_reply is not None:
                summary.last_reply_at.CopyFrom(at(thread.last_reply.created_ns))
        is_following = thread is not None and thread.is_followed_by(viewer.id)
        summary.viewer_state.is_following = is_following
        summary.viewer_state.has_unread = thread is not None and thread.is_unread_by(viewer.id)
        return summary

    def reaction(self, viewer: Account, message_id: str, emoji: str) -> Proto:
        """Show one emoji on a message."""
        users = self._world.reactions.on(message_id).get(emoji, set())
        return api.MessageReaction(
            emoji=emoji,
            count=len(users),
            has_reacted=viewer.id in users,
            preview_user_ids=sorted(users)[:PREVIEW],
        )

    def _reactions(self, viewer: Account, message: Message) -> list[Proto]:
        on_message = self._world.reactions.on(message.id)
        return [self.reaction(viewer, message.id, emoji) for emoji in on_message]

    def _fill_content(self, viewer: Account, view: Proto, message: Message) -> None:
        view.body = message.body
        if message.updated_ns is not None:
            view.updated_at.CopyFrom(at(message.updated_ns))
        for asset_id in message.asset_ids:
            asset = self._world.assets.find(asset_id)
            if asset is not None:
                view.attachments.append(self._attachment(viewer, asset))

    def _fill_place(self, viewer: Account, view: Proto, message: Message) -> None:
        view.thread_root_event_id = message.thread_root_id
        if message.visible_echo is not None:
            view.channel_echo_event_id = message.visible_echo.id
        if not message.thread_root_id:
            view.thread.CopyFrom(self.thread(viewer, message))

    # --- files ----------------------------------------------------------------------------

    def asset(self, viewer: Account, asset: Asset) -> Proto:
        """Show a file with addresses only this viewer can use."""
        return api.Asset(
            id=asset.id,
            filename=asset.filename,
            content_type=asset.content_type,
            size=len(asset.content),
            width=asset.width,
            height=asset.height,
            **self._addresses(viewer, asset, SMALL_THUMBNAIL),
        )

    def _attachment(self, viewer: Account, asset: Asset) -> Proto:
        return api.MessageAttachment(
            id=asset.id,
            filename=asset.filename,
            content_type=asset.content_type,
            width=asset.width,
            height=asset.height,
            **self._addresses(viewer, asset, THUMBNAIL),
        )

    def _addresses(self, viewer: Account, asset: Asset, thumbnail: str) -> dict[str, Proto]:
        """Return the addresses of a file: paths, for the public URL is not configured."""
        ticket, expires_ns = self._world.assets.ticket(asset.id, viewer.id)
        path = f"/assets/files/{asset.id}"
        return {
            field: api.MessageAssetUrl(url=f"{one}?access={ticket}", expires_at=at(expires_ns))
            for field, one in (
                ("asset_url", path),
                ("thumbnail_asset_url", f"{path}/{thumbnail}"),
            )
        }

    # --- inbox ----------------------------------------------------------------------------

    def notification(self, entry: Entry) -> Proto:
        """Show an entry of an inbox; its actor is absent once the account is deleted."""
        actor = self._world.accounts.get(entry.actor_id)
        content = {"room": self.room_summary(entry.room), "event_id": entry.post.id}
        if entry.kind is EntryKind.REPLY:
            content["in_reply_to_id"] = entry.in_reply_to
        if entry.thread_root_id:
            content["thread_root_event_id"] = entry.thread_root_id
        return api.NotificationItem(
            id=entry.id,
            created_at=at(entry.created_ns),
            actor=self.user(actor) if actor else None,
            **{entry.kind: content},
        )
