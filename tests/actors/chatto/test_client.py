"""The edge against a Chatto server: the sandbox, or a real one (see the fixture `venue`)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hermes_chatto.actors.chatto.client import ChattoServer
from hermes_chatto.actors.chatto.credential import Password, Token
from hermes_chatto.actors.chatto.read_back import FIRST_PAGE
from hermes_chatto.actors.sandbox.odd_servers import OddServer, Page
from hermes_chatto.actors.sandbox.venue import ACCOUNTS, OWNER, Venue
from hermes_chatto.actors.sessions.errors import (
    CredentialRefusedError,
    NotChattoError,
    RequestRefusedError,
    ServerUnreachableError,
)
from hermes_chatto.actors.sessions.facts import Account, Message, Person, Place, Room, RoomKind
from hermes_chatto.actors.sessions.ports import ChatServer, Post

UNKNOWN = "R00000000000000"


def as_port(server: ChattoServer) -> ChatServer:
    """Return the edge as the sessions know it; the type checkers compare the two."""
    return server


# --- who we are -------------------------------------------------------------------------------


async def test_password_identifies_the_account(venue: Venue) -> None:
    """The login counts in any case; the answer holds it as registered."""
    server = ChattoServer(f"{venue.url}/", Password("HERMES", ACCOUNTS["hermes"]))

    account = await as_port(server).identify()

    assert account == Account(account.user_id, "hermes", "Hermes")
    assert account.user_id.startswith("U")


async def test_wrong_password_is_refused(venue: Venue) -> None:
    """As is a login that does not exist."""
    for login in ("hermes", "nobody-at-all"):
        with pytest.raises(CredentialRefusedError, match="CHATTO_PASSWORD"):
            await ChattoServer(venue.url, Password(login, "wrong")).identify()


async def test_wrong_token_is_refused(venue: Venue) -> None:
    """By calls and by the stream alike."""
    server = ChattoServer(venue.url, Token("cht_ATnever_given_out"))

    with pytest.raises(CredentialRefusedError, match="CHATTO_TOKEN"):
        await server.identify()
    with pytest.raises(CredentialRefusedError, match="CHATTO_TOKEN"):
        await anext(server.stream())


async def test_who_answers_at_a_wrong_address_is_found_out() -> None:
    """A token is not exchanged for anything, so nobody has looked before."""
    async with OddServer(Page(200)) as url:
        with pytest.raises(NotChattoError, match="CHATTO_URL"):
            await ChattoServer(url, Token("cht_AT1")).identify()
    with pytest.raises(ServerUnreachableError, match="CHATTO_URL"):
        await ChattoServer("http://127.0.0.1:1", Token("cht_AT1")).identify()


async def test_answer_without_an_account_is_not_chatto() -> None:
    """Whatever it is, it knows nobody."""
    async with OddServer(Page(200, b"", "application/proto")) as url:
        with pytest.raises(NotChattoError, match="names no account"):
            await ChattoServer(url, Token("cht_AT1")).identify()


# --- rooms ------------------------------------------------------------------------------------


def channel(room_id: str, name: str) -> Room:
    """Return a room the account is in."""
    return Room(room_id, name, RoomKind.CHANNEL, is_member=True, is_archived=False)


async def test_rooms_are_listed_with_membership(venue: Venue) -> None:
    """Rooms to be joined are among them; archived ones are not."""
    mine, other, archived = [await venue.room(*who) for who in (["hermes"], [], ["hermes"])]
    pb = await venue.pb()
    await venue.call(OWNER, "rooms", "archive_room", pb.rooms.ArchiveRoomRequest(room_id=archived))

    rooms = {
        each.room_id: each for each in await (await venue.guest("hermes")).server.list_rooms()
    }

    assert rooms[mine] == channel(mine, rooms[mine].name)
    assert rooms[mine].name.startswith("edge-")
    assert not rooms[other].is_member
    assert archived not in rooms


async def test_direct_conversation_has_no_name(venue: Venue) -> None:
    """Its kind says what it is."""
    room_id = await venue.direct("alice", "hermes")

    room = await (await venue.guest("hermes")).server.get_room(room_id)

    assert room is not None
    seen = replace(room, has_unread=False)
    assert seen == Room(room_id, name="", kind=RoomKind.DIRECT, is_member=True, is_archived=False)


async def test_archived_room_can_be_looked_at(venue: Venue) -> None:
    """It is in no list, but what is in it remains."""
    room_id = await venue.room("hermes")
    pb = await venue.pb()
    await venue.call(OWNER, "rooms", "archive_room", pb.rooms.ArchiveRoomRequest(room_id=room_id))

    room = await (await venue.guest("hermes")).server.get_room(room_id)

    assert room is not None
    assert room.is_archived


async def test_room_that_is_unknown_or_hidden_is_none(venue: Venue) -> None:
    """The server tells the two apart; for us they are one."""
    hidden = await venue.direct("alice", "bob")
    server = (await venue.guest("hermes")).server

    assert [await server.get_room(room_id) for room_id in (UNKNOWN, hidden)] == [None, None]


# --- messages ---------------------------------------------------------------------------------


async def test_message_is_read_as_it_was_posted(venue: Venue) -> None:
    """A thread reply with all its pointers."""
    room_id = await venue.room("alice", "hermes")
    alice, hermes = await venue.guest("alice"), await venue.guest("hermes")
    before = datetime.now(UTC) - timedelta(minutes=1)
    root_id = await alice.server.post(Post(room_id, None, None, "question"))
    reply_id = await hermes.server.post(Post(room_id, root_id, root_id, "änswer"))

    [reply] = await alice.server.read_messages(room_id, [reply_id])

    assert reply == Message(
        message_id=reply_id,
        room_id=room_id,
        author_id=hermes.user_id,
        body="änswer",
        created_at=reply.created_at,
        updated_at=None,
        in_reply_to=root_id,
        thread_root_id=root_id,
        echo_of_id=None,
    )
    assert before < reply.created_at < datetime.now(UTC) + timedelta(minutes=1)


async def test_deleted_and_unknown_messages_are_left_out(venue: Venue) -> None:
    """The others come in the order asked for."""
    room_id = await venue.room("alice")
    server = (await venue.guest("alice")).server
    ids = [await server.post(Post(room_id, None, None, text)) for text in "abc"]
    pb = await venue.pb()
    delete = pb.messages.DeleteMessageRequest(room_id=room_id, event_id=ids[1])
    await venue.call("alice", "messages", "delete_message", delete)

    found = await server.read_messages(room_id, [ids[2], "E00000000000000", ids[1], ids[0]])

    assert [each.message_id for each in found] == [ids[2], ids[0]]


async def test_edit_shows_in_the_message(venue: Venue) -> None:
    """When, never by whom."""
    room_id = await venue.room("alice")
    server = (await venue.guest("alice")).server
    message_id = await server.post(Post(room_id, None, None, "first"))
    pb = await venue.pb()
    edit = pb.messages.UpdateMessageRequest(room_id=room_id, event_id=message_id, body="second")
    await venue.call("alice", "messages", "update_message", edit)

    [message] = await server.read_messages(room_id, [message_id])

    assert message.body == "second"
    assert message.updated_at is not None
    assert message.updated_at >= message.created_at


async def test_reading_where_one_is_not_is_refused(venue: Venue) -> None:
    """Unlike a message that is missing."""
    room_id = await venue.room("alice")

    with pytest.raises(RequestRefusedError) as caught:
        await (await venue.guest("hermes")).server.read_messages(room_id, ["E00000000000000"])

    assert caught.value.code == "permission_denied"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"room_id": UNKNOWN}, "not_found"),
        ({"thread_root_id": "E00000000000000"}, "not_found"),
        ({"in_reply_to": "E00000000000000"}, "invalid_argument"),
        ({"body": " \u200b"}, "invalid_argument"),
        ({"body": "ä" * 5_001}, "invalid_argument"),
        ({"body": "x" * 1_100_000}, "resource_exhausted"),
        ({"body": "half \ud83d"}, "invalid_argument"),
    ],
    ids=["room", "root", "pointer", "empty", "long", "huge", "half a character"],
)
async def test_post_that_will_never_do_is_refused(
    venue: Venue, changed: dict[str, str], code: str
) -> None:
    """With the server's code, for the row."""
    room_id = await venue.room("hermes")
    server = (await venue.guest("hermes")).server

    with pytest.raises(RequestRefusedError) as caught:
        await server.post(replace(Post(room_id, None, None, "hello"), **changed))

    assert caught.value.code == code


async def test_post_where_one_is_not_is_refused(venue: Venue) -> None:
    """Removed meanwhile, for one."""
    room_id = await venue.room("alice")

    with pytest.raises(RequestRefusedError, match="not a member of this room"):
        await (await venue.guest("hermes")).server.post(Post(room_id, None, None, "hello"))


async def test_typing_is_shown(venue: Venue) -> None:
    """In a room, a thread, a direct conversation."""
    room_id = await venue.room("hermes")
    direct_id = await venue.direct("hermes", "alice")
    server = (await venue.guest("hermes")).server
    root_id = await server.post(Post(room_id, None, None, "root"))

    await server.show_typing(Place(room_id, RoomKind.CHANNEL, root_id))
    await server.show_typing(Place(direct_id, RoomKind.DIRECT, None))
    with pytest.raises(RequestRefusedError):
        await server.show_typing(Place(UNKNOWN, RoomKind.CHANNEL, None))


# --- reading back -----------------------------------------------------------------------------


async def test_post_is_found_in_its_thread_its_room_its_conversation(venue: Venue) -> None:
    """Each has its own read."""
    room_id, direct_id = await venue.room("hermes"), await venue.direct("hermes", "alice")
    server = (await venue.guest("hermes")).server
    now = datetime.now(UTC)
    root = Post(room_id, None, None, "root")
    root_id = await server.post(root)
    reply, direct = Post(room_id, root_id, root_id, "reply"), Post(direct_id, None, None, "hello")
    ids = [root_id, await server.post(reply), await server.post(direct)]

    found = [
        await server.find_post(each, not_before=now, exclude=()) for each in (root, reply, direct)
    ]

    assert found == ids


async def test_post_that_never_arrived_is_not_found(venue: Venue) -> None:
    """Nor is the same text of somebody else, or one that is known to be another."""
    room_id = await venue.room("hermes", "alice")
    hermes, alice = await venue.guest("hermes"), await venue.guest("alice")
    now = datetime.now(UTC)
    root_id = await alice.server.post(Post(room_id, None, None, "root"))
    post = Post(room_id, root_id, root_id, "answer")
    await alice.server.post(post)
    assert await hermes.server.find_post(post, not_before=now, exclude=()) is None

    first_id = await hermes.server.post(post)

    assert await hermes.server.find_post(post, not_before=now, exclude=[first_id]) is None


async def test_post_is_found_behind_what_others_wrote_since(venue: Venue) -> None:
    """The first page is the newest; older ones follow while they may hold it."""
    room_id = await venue.room("hermes", "alice")
    hermes, alice = await venue.guest("hermes"), await venue.guest("alice")
    now = datetime.now(UTC)
    root_id = await alice.server.post(Post(room_id, None, None, "root"))
    post = Post(room_id, root_id, root_id, "answer")
    message_id = await hermes.server.post(post)
    for number in range(FIRST_PAGE + 1):
        await alice.server.post(Post(room_id, root_id, None, f"more {number}"))

    assert await hermes.server.find_post(post, not_before=now, exclude=()) == message_id


async def test_unreadable_room_is_no_answer_to_the_question(venue: Venue) -> None:
    """None would mean: post it again."""
    with pytest.raises(RequestRefusedError):
        await (await venue.guest("hermes")).server.find_post(
            Post(UNKNOWN, None, None, "hello"), not_before=datetime.now(UTC), exclude=()
        )


# --- people -----------------------------------------------------------------------------------


async def test_people_are_told_by_id(venue: Venue) -> None:
    """Unknown ones are left out, and nobody costs no call."""
    alice, bob = await venue.guest("alice"), await venue.guest("bob")
    server = (await venue.guest("hermes")).server

    people = await server.people([alice.user_id, bob.user_id, "U00000000000000"])

    assert people == {
        alice.user_id: Person(alice.user_id, "alice", "Alice"),
        bob.user_id: Person(bob.user_id, "bob", "Bob"),
    }
    assert await server.people([]) == {}


async def test_any_number_of_people_may_be_asked_for(venue: Venue) -> None:
    """The server takes a hundred at once."""
    alice = await venue.guest("alice")
    unknown = [f"U{number:014}" for number in range(230)]

    people = await alice.server.people([*unknown, alice.user_id])

    assert set(people) == {alice.user_id}


async def test_person_is_found_by_login(venue: Venue) -> None:
    """In any case; None: nobody."""
    alice = await venue.guest("alice")

    found = await alice.server.find_person("ALICE")

    assert found == Person(alice.user_id, "alice", "Alice")
    assert await alice.server.find_person("nobody-at-all") is None
