"""MessageService: posting, changing, reading messages, reacting to them.

Source: Chatto 0.4.20, proto/chatto/api/v1/messages.proto.
"""

from . import access
from .accounts import Account
from .editing import Editing
from .frames import Event
from .pb import Proto, api
from .permissions import Permission
from .posting import Draft, Posting
from .reactions import require_shortcode
from .refusals import Reason, refused
from .rooms import Room
from .rows import Echo, Message, Post
from .views import Views
from .world import World


class MessageCalls:
    """Answers the calls of MessageService."""

    def __init__(self, world: World, views: Views, posting: Posting, editing: Editing) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views
        self._posting = posting
        self._editing = editing

    def create_message(self, request: Proto, caller: Account) -> Proto:
        """Post a message. The server makes no previews, so no preview token is good."""
        if request.link_preview_token:
            raise refused(Reason.BAD_PREVIEW_TOKEN)
        draft = Draft(
            room_id=request.room_id,
            body=request.body,
            thread_root_id=request.thread_root_event_id,
            in_reply_to=request.in_reply_to,
            asset_ids=tuple(request.attachment_asset_ids),
            wants_echo=request.also_send_to_channel,
        )
        message = self._posting.post(caller, draft)
        return api.CreateMessageResponse(message=self._views.message(caller, message))

    def update_message(self, request: Proto, caller: Account) -> Proto:
        """Change a message's text or whether it shows in the room."""
        post = self._post(caller, request.room_id, request.event_id)
        self._editing.update(
            caller,
            post,
            body=request.body if request.HasField("body") else None,
            echo=request.also_send_to_channel
            if request.HasField("also_send_to_channel")
            else None,
        )
        return api.UpdateMessageResponse(message=self._views.message(caller, post))

    def delete_message(self, request: Proto, caller: Account) -> Proto:
        """Delete a message, or an echo alone."""
        self._editing.delete(caller, self._post(caller, request.room_id, request.event_id))
        return api.DeleteMessageResponse(deleted=True)

    def delete_attachment(self, request: Proto, caller: Account) -> Proto:
        """Take a file off a message."""
        post = self._post(caller, request.room_id, request.event_id)
        self._editing.remove_attachment(caller, post, request.attachment_id)
        return api.DeleteAttachmentResponse(deleted=True)

    def fetch_link_preview(self, request: Proto, caller: Account) -> Proto:
        """Look at a page: the sandbox fetches none, so there never is a preview."""
        del request, caller
        return api.FetchLinkPreviewResponse()

    def delete_link_preview(self, request: Proto, caller: Account) -> Proto:
        """Take a preview off a message: none has one."""
        post = self._post(caller, request.room_id, request.event_id)
        if access.original_of(post).actor_id != caller.id:
            raise refused(Reason.NOT_THE_AUTHOR)
        raise refused(Reason.NO_PREVIEW)

    def get_message(self, request: Proto, caller: Account) -> Proto:
        """Read one message; a deleted one is not found."""
        post = self._post(caller, request.room_id, request.event_id)
        if access.original_of(post).is_deleted:
            raise refused(Reason.NO_MESSAGE)
        return api.GetMessageResponse(message=self._views.message(caller, post))

    def batch_get_messages(self, request: Proto, caller: Account) -> Proto:
        """Read messages in the order asked for, each once; what cannot be had is left out."""
        room = access.member_room(self._world, caller, request.room_id)
        found = [self._world.log.find(room, one) for one in dict.fromkeys(request.event_ids)]
        return api.BatchGetMessagesResponse(
            messages=[
                self._views.message(caller, row)
                for row in found
                if isinstance(row, Message | Echo) and not access.original_of(row).is_deleted
            ]
        )

    def add_reaction(self, request: Proto, caller: Account) -> Proto:
        """React to an event, whether or not it is a message."""
        room, target_id = self._reaction_target(request, caller)
        access.require_open(room)
        access.require(self._world, caller, Permission.REACT, room)
        is_new = self._world.reactions.add(target_id, request.emoji, caller.id)
        if is_new:
            self._tell("reaction_added", caller, room, (target_id, request.emoji))
        reaction = self._views.reaction(caller, target_id, request.emoji)
        return api.AddReactionResponse(added=is_new, reaction=reaction)

    def remove_reaction(self, request: Proto, caller: Account) -> Proto:
        """Take a reaction back."""
        room, target_id = self._reaction_target(request, caller)
        was_there = self._world.reactions.remove(target_id, request.emoji, caller.id)
        if was_there:
            self._tell("reaction_removed", caller, room, (target_id, request.emoji))
        response = api.RemoveReactionResponse(removed=was_there)
        if request.emoji in self._world.reactions.on(target_id):
            left = self._views.reaction(caller, target_id, request.emoji)
            response.reaction.CopyFrom(left)
        return response

    def _post(self, caller: Account, room_id: str, event_id: str) -> Post:
        room = access.member_room(self._world, caller, room_id)
        return access.post_in(self._world, room, event_id)

    def _reaction_target(self, request: Proto, caller: Account) -> tuple[Room, str]:
        """Return the room and the ID reactions count for: an echo's is its original's.

        Raises:
            RefusedError: no member, no emoji, or an event of another room. An unknown one is
                fine.
        """
        room = access.member_room(self._world, caller, request.room_id)
        require_shortcode(request.emoji)
        row = self._world.log.any(request.message_event_id)
        if row is None:
            return room, request.message_event_id
        if row.room is not room:
            raise refused(Reason.NO_MESSAGE)
        return room, row.original.id if isinstance(row, Echo) else row.id

    def _tell(self, kind: str, actor: Account, room: Room, reaction: tuple[str, str]) -> None:
        message_id, emoji = reaction
        payload = {"room_id": room.id, "message_event_id": message_id, "emoji": emoji}
        self._world.feed.tell_room(room, Event(kind, actor.id, payload))
