"""The row of a message that is meant for the agent, before anything else happens."""

import hashlib
import json

from ...store.turns import TurnRow
from ..runtime.clock import utc_text
from .facts import Message, Room
from .services import Services
from .standing import place_of_message

__all__ = ["digest_of_message", "receipt_of"]


async def receipt_of(room: Room, message: Message, services: Services) -> TurnRow:
    """Make the receipt of a message.

    The author's name costs a read once per person. Raises: ChatError.
    """
    place = place_of_message(room, message)
    people = await services.directory.people([message.author_id])
    now = services.journal.now()
    return TurnRow(
        scope=services.journal.scope,
        message_id=message.message_id,
        room_id=message.room_id,
        room_kind=room.kind.value,
        thread_root_id=place.thread_root_id,
        session_key=services.gateway.session_key(place),
        author_id=message.author_id,
        author_name=people[message.author_id].display_name,
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
        updated_at=now,
        closed_at=None,
    )


def digest_of_message(message: Message) -> str:
    """Return what changes when the words or the files of a message do, in hexadecimal."""
    words = message.body.encode("utf-8", "surrogatepass")
    files = json.dumps(sorted(message.attachment_ids)).encode()
    return hashlib.sha256(words + b"\0" + files).hexdigest()
