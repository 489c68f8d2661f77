"""What the server keeps for the account, as the sessions know it."""

from datetime import timedelta

import pytest

from hermes_chatto.actors.chatto.resources import Proto
from hermes_chatto.actors.sandbox.venue import Venue
from hermes_chatto.actors.sessions.errors import RequestRefusedError
from hermes_chatto.actors.sessions.facts import EntryKind, InboxEntry, Level, Place, RoomKind
from hermes_chatto.actors.sessions.ports import Post

MUTED = 2  # NOTIFICATION_LEVEL_MUTED


async def entries_of(venue: Venue, room_id: str) -> list[InboxEntry]:
    """Return the agent's entries of a room, newest first."""
    page = await (await venue.guest("hermes")).server.inbox_page(0)
    assert len(page.entry_ids) >= len(page.entries)
    return [entry for entry in page.entries if entry.room_id == room_id]


async def test_entries_name_message_thread_and_author(venue: Venue) -> None:
    """A mention in a room, a reply in a thread, a direct message."""
    room_id = await venue.room("alice", "hermes")
    alice, hermes = await venue.guest("alice"), await venue.guest("hermes")
    m1 = await alice.server.post(Post(room_id, None, None, "@hermes hello"))
    m2 = await hermes.server.post(Post(room_id, m1, m1, "hello"))
    m3 = await alice.server.post(Post(room_id, m1, m2, "why?"))
    (read,) = await hermes.server.read_messages(room_id, [m1])

    reply, mention = await entries_of(venue, room_id)

    assert (mention.kind, mention.message_id, mention.thread_root_id) == (
        *(EntryKind.MENTION, m1, None),
    )
    assert (reply.kind, reply.message_id, reply.thread_root_id) == (EntryKind.REPLY, m3, m1)
    assert mention.author_id == alice.user_id
    assert read.created_at <= mention.made_at <= read.created_at + timedelta(seconds=1)


async def test_a_direct_message_has_an_entry(venue: Venue) -> None:
    """With its message, which the live event does not name."""
    room_id = await venue.direct("alice", "hermes")
    alice = await venue.guest("alice")
    m1 = await alice.server.post(Post(room_id, None, None, "psst"))

    entry, *_ = await entries_of(venue, room_id)

    assert (entry.kind, entry.message_id) == (EntryKind.DIRECT, m1)
    rooms = await (await venue.guest("hermes")).server.list_rooms()
    assert [room.has_unread for room in rooms if room.room_id == room_id] == [True]


async def test_pages_leave_out_the_newest(venue: Venue) -> None:
    """By the offset."""
    room_id = await venue.room("alice", "hermes")
    alice, hermes = await venue.guest("alice"), await venue.guest("hermes")
    for number in range(3):
        await alice.server.post(Post(room_id, None, None, f"@hermes {number}"))

    whole = await hermes.server.inbox_page(0)
    later = await hermes.server.inbox_page(1)

    assert later.entry_ids[:2] == whole.entry_ids[1:3]


async def test_a_thread_can_be_followed_again(venue: Venue) -> None:
    """Also one without replies; what is no thread is refused."""
    room_id = await venue.room("alice", "hermes")
    alice, hermes = await venue.guest("alice"), await venue.guest("hermes")
    m1 = await alice.server.post(Post(room_id, None, None, "a root"))
    await hermes.server.follow_thread(room_id, m1)
    await hermes.server.follow_thread(room_id, m1)
    m2 = await alice.server.post(Post(room_id, m1, None, "a reply"))

    assert [entry.message_id for entry in await entries_of(venue, room_id)] == [m2]
    with pytest.raises(RequestRefusedError):
        await hermes.server.follow_thread(room_id, "E00000000000000")


async def test_a_muted_room_is_known_after_identifying(venue: Venue) -> None:
    """No call of its own is needed."""
    room_id = await venue.room("alice", "hermes")
    hermes = await venue.guest("hermes")
    pb: Proto = (await hermes.session.wire()).pb
    request = pb.preferences.UpdateRoomNotificationPreferenceRequest(room_id=room_id, level=MUTED)
    await venue.call(
        "hermes", "notification_prefs", "update_room_notification_preference", request
    )
    await hermes.server.identify()

    assert hermes.server.notification_levels().own[room_id] is Level.MUTED
    assert hermes.server.notification_levels().of("R00000000000000") is Level.NORMAL


async def test_newest_messages_reach_back_to_a_moment(venue: Venue) -> None:
    """Oldest first, in rooms and in threads, over more than one page, without deleted ones."""
    room_id = await venue.room("alice", "hermes")
    alice, hermes = await venue.guest("alice"), await venue.guest("hermes")
    root = await alice.server.post(Post(room_id, None, None, "a root"))
    replies = [
        await alice.server.post(Post(room_id, root, None, f"line {number}"))
        for number in range(105)
    ]
    (first,) = await hermes.server.read_messages(room_id, [replies[0]])
    thread = Place(room_id, RoomKind.CHANNEL, root)
    room = Place(room_id, RoomKind.CHANNEL, None)

    in_thread = await hermes.server.newest_messages(thread, since=first.created_at, most=500)
    in_room = await hermes.server.newest_messages(room, since=first.created_at, most=500)
    some = await hermes.server.newest_messages(thread, since=first.created_at, most=50)

    found = [message.message_id for message in in_thread if message.message_id != root]
    assert found == replies
    assert [message.message_id for message in in_room] == [root]
    assert [m.message_id for m in some if m.message_id != root] == replies[-100:]


async def test_the_servers_time_is_that_of_its_answers(venue: Venue) -> None:
    """Up to a second early, never late."""
    hermes = await venue.guest("hermes")
    room_id = await venue.room("hermes")
    m1 = await hermes.server.post(Post(room_id, None, None, "now"))
    (read,) = await hermes.server.read_messages(room_id, [m1])
    now = hermes.server.server_time()

    assert now is not None
    assert abs(now - read.created_at) < timedelta(seconds=2)
