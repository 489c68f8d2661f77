"""The row of a message that is meant for the agent, before anything else happens."""

import hashlib
import json

from ...store.turns import TurnRow
from ..runtime.clock import utc_text
from .admission import Cause
from .facts import Message, Room
from .find import Find
from .mail import Words
from .services import Services
from .standing import place_of_message
from .stream_events import MessagePosted

__all__ = ["digest_of_message", "receipt_of", "receipt_of_find", "words_of"]


async def receipt_of(room: Room, message: Message, cause: Cause, services: Services) -> TurnRow:
    """Make the receipt of a message.

    It says why the message is meant for the agent, since a part of that (the server's verdict)
    is said only once. The author's name costs a read once per person. Raises: ChatError.
    """
    people = await services.directory.people([message.author_id])
    author_name = people[message.author_id].display_name
    row = _row(room, message, author_name, services)
    let_in_by = services.let_in_by(message.author_id, place_of_message(room, message))
    return row._replace(cause=cause.value, let_in_by=let_in_by)


def receipt_of_unread(event: MessagePosted, services: Services) -> TurnRow:
    """Make the receipt of a message that was announced and could not be read."""
    room = services.directory.known_room(event.room_id)
    kind = services.directory.kind_of(event.room_id)
    message = Message(
        message_id=event.message_id,
        room_id=event.room_id,
        author_id=event.author_id,
        body="",
        created_at=event.posted_at,
        updated_at=None,
        in_reply_to=None,
        thread_root_id=event.thread_root_id,
        echo_of_id=None,
    )
    unknown = Room(event.room_id, "", kind, is_member=True, is_archived=False)
    return _row(room or unknown, message, event.author_id, services)


def receipt_of_find(room_id: str, room: Room | None, find: Find, services: Services) -> TurnRow:
    """Make the receipt of a message that a gap hid and that cannot be read.

    Args:
        room_id: where it was posted.
        room: None: hidden, or gone.
        find: what is known of it.
        services: what the actors of the profile share.
    """
    kind = services.directory.kind_of(room_id)
    message = Message(
        message_id=find.message_id,
        room_id=room_id,
        author_id=find.author_id or "",
        body="",
        created_at=find.posted_at,
        updated_at=None,
        in_reply_to=None,
        thread_root_id=find.thread_root_id,
        echo_of_id=None,
    )
    unknown = Room(room_id, "", kind, is_member=False, is_archived=False)
    row = _row(room or unknown, message, find.author_id or "", services)
    return row._replace(cause=find.cause.value)


def _row(room: Room, message: Message, author_name: str, services: Services) -> TurnRow:
    place = place_of_message(room, message)
    now = services.journal.now()
    return TurnRow(
        scope=services.journal.scope,
        message_id=message.message_id,
        room_id=message.room_id,
        room_name=room.name or None,
        room_kind=room.kind.value,
        thread_root_id=place.thread_root_id,
        session_key=services.gateway.session_key(place),
        author_id=message.author_id,
        author_name=author_name,
        body=message.body,
        digest=digest_of_message(message),
        attachment_ids=json.dumps(message.attachment_ids),
        in_reply_to=message.in_reply_to,
        posted_at=utc_text(message.created_at),
        received_at=now,
        lane_order=0,
        state="received",
        reason=None,
        cause=None,
        attempt=0,
        carrier_id=None,
        ends_as=None,
        ended_by=None,
        ended_with=None,
        thread_before=None,
        frontier_before=None,
        holding_before=None,
        session_token=None,
        command=None,
        asks=0,
        sign=None,
        let_in_by=None,
        updated_at=now,
        closed_at=None,
    )


def words_of(message: Message) -> Words:
    """Return what a message says, as its row keeps it."""
    return Words(
        body=message.body,
        digest=digest_of_message(message),
        attachment_ids=json.dumps(message.attachment_ids),
    )


def digest_of_message(message: Message) -> str:
    """Return what changes when the words or the files of a message do, in hexadecimal."""
    words = message.body.encode("utf-8", "surrogatepass")
    files = json.dumps(sorted(message.attachment_ids)).encode()
    return hashlib.sha256(words + b"\0" + files).hexdigest()
