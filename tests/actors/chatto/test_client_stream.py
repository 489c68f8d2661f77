"""The stream through the edge, on a Chatto server: the sandbox, or a real one."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

import anyio
import pytest

from hermes_chatto.actors.chatto.client import ChattoServer
from hermes_chatto.actors.chatto.credential import Password
from hermes_chatto.actors.sandbox.venue import ACCOUNTS, OWNER, Venue
from hermes_chatto.actors.sessions.errors import StreamLostError
from hermes_chatto.actors.sessions.facts import Place, RoomKind
from hermes_chatto.actors.sessions.ports import Post
from hermes_chatto.actors.sessions.stream_events import (
    Membership,
    Mentioned,
    MessageEdited,
    MessagePosted,
    MessageRetracted,
    PersonChanged,
    RoomChanged,
    StreamEvent,
    StreamOpened,
)

Events: TypeAlias = AsyncGenerator[StreamEvent, None]


async def test_stream_tells_what_happens_in_a_room(venue: Venue) -> None:
    """From joining to leaving; own messages are passed on like others."""
    room_id = await venue.room("alice")
    alice, hermes = await venue.guest("alice"), await venue.guest("hermes")
    pb = await venue.pb()
    async with aclosing(hermes.server.stream()) as stream:
        opened = await anext(stream)
        add = pb.rooms.AddMemberRequest(room_id=room_id, user_id=hermes.user_id)
        await venue.call(OWNER, "rooms", "add_member", add)
        root_id = await alice.server.post(Post(room_id, None, None, "@hermes, a question"))
        own_id = await hermes.server.post(Post(room_id, root_id, root_id, "an answer"))
        await alice.server.show_typing(Place(room_id, RoomKind.CHANNEL, root_id))
        edit = pb.messages.UpdateMessageRequest(room_id=room_id, event_id=root_id, body="none")
        await venue.call("alice", "messages", "update_message", edit)
        delete = pb.messages.DeleteMessageRequest(room_id=room_id, event_id=root_id)
        await venue.call("alice", "messages", "delete_message", delete)
        remove = pb.rooms.RemoveMemberRequest(room_id=room_id, user_id=hermes.user_id)
        await venue.call(OWNER, "rooms", "remove_member", remove)
        left = RoomChanged(room_id, hermes.user_id, Membership.LEFT)
        seen = [event async for event in until(stream, left)]

    assert isinstance(opened, StreamOpened)
    assert opened.server_version
    assert [without_time(event) for event in seen] == [
        RoomChanged(room_id, hermes.user_id, Membership.JOINED),
        MessagePosted(room_id, root_id, None, alice.user_id, EPOCH),
        Mentioned(room_id, root_id, alice.user_id),
        MessagePosted(room_id, own_id, root_id, hermes.user_id, EPOCH),
        MessageEdited(room_id, root_id, alice.user_id, EPOCH),
        MessageRetracted(room_id, root_id),
        left,
    ]


EPOCH = datetime.fromtimestamp(0, UTC)


def without_time(event: StreamEvent) -> StreamEvent:
    """Return an event without what a test cannot know."""
    match event:
        case MessagePosted():
            return replace(event, posted_at=EPOCH)
        case MessageEdited():
            return replace(event, edited_at=EPOCH)
        case _:
            return event


async def until(stream: Events, last: StreamEvent) -> Events:
    """Yield events up to and with the last; other tests' rooms may be heard, too."""
    with anyio.fail_after(10):
        async for event in stream:
            yield event
            if event == last:
                return


async def test_answer_to_the_account_is_no_mention(venue: Venue) -> None:
    """The server notifies of it, and points at the message it answers."""
    room_id = await venue.room("alice", "hermes")
    alice, hermes = await venue.guest("alice"), await venue.guest("hermes")
    own_id = await hermes.server.post(Post(room_id, None, None, "own"))
    async with aclosing(hermes.server.stream()) as stream:
        await anext(stream)
        reply_id = await alice.server.post(Post(room_id, None, own_id, "a reply"))
        meant_id = await alice.server.post(Post(room_id, None, None, "@hermes"))
        last = Mentioned(room_id, meant_id, alice.user_id)
        seen = [event async for event in until(stream, last)]

    assert Mentioned(room_id, reply_id, alice.user_id) not in seen


async def test_stream_tells_of_names_and_rooms(venue: Venue) -> None:
    """What is known of them must be looked at again."""
    room_id = await venue.room("hermes")
    hermes = await venue.guest("hermes")
    pb = await venue.pb()
    async with aclosing(hermes.server.stream()) as stream:
        await anext(stream)
        rename = pb.rooms.UpdateRoomRequest(room_id=room_id, description="other")
        await venue.call(OWNER, "rooms", "update_room", rename)
        archive = pb.rooms.ArchiveRoomRequest(room_id=room_id)
        await venue.call(OWNER, "rooms", "archive_room", archive)
        unarchive = pb.rooms.UnarchiveRoomRequest(room_id=room_id)
        await venue.call(OWNER, "rooms", "unarchive_room", unarchive)
        seen = [event async for event in until_count(stream, RoomChanged(room_id), 3)]

    assert not any(isinstance(event, PersonChanged) for event in seen)


async def until_count(stream: Events, wanted: StreamEvent, count: int) -> Events:
    """Yield events until one was seen so often."""
    with anyio.fail_after(10):
        async for event in stream:
            yield event
            count -= event == wanted
            if count == 0:
                return


async def test_logout_elsewhere_ends_the_stream_and_not_the_token(venue: Venue) -> None:
    """A person may have used the account in a browser."""
    server = ChattoServer(venue.url, Password("bob", ACCOUNTS["bob"]))
    async with aclosing(server.stream()) as stream:
        await anext(stream)
        await log_out_elsewhere(venue, "bob")
        with pytest.raises(StreamLostError, match=r"^session_terminated:logout$"):
            await anext(stream)

    async with aclosing(server.stream()) as stream:
        assert isinstance(await anext(stream), StreamOpened)


async def log_out_elsewhere(venue: Venue, login: str) -> None:
    """Log in as somebody and out again."""
    wire = await (await venue.guest(login)).session.wire()
    token = await wire.door.log_in(Password(login, ACCOUNTS[login]))
    reader, writer = await asyncio.open_connection(*host_and_port(venue.url))
    writer.write(
        f"POST /auth/logout HTTP/1.1\r\nhost: chat\r\nauthorization: Bearer {token}\r\n"
        "content-length: 0\r\nconnection: close\r\n\r\n".encode()
    )
    assert b" 200 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


def host_and_port(url: str) -> tuple[str, int]:
    """Return where a loopback server listens."""
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


def stream_tasks() -> set[str]:
    """Return the names of the tasks of streams."""
    return {name for task in asyncio.all_tasks() if (name := task.get_name()) == "chatto stream"}


async def test_stream_whose_consumer_is_cancelled_leaves_nothing(venue: Venue) -> None:
    """The usual end: somebody stops the plugin."""
    server = (await venue.guest("hermes")).server
    is_open = asyncio.Event()

    async def consume() -> None:
        async for event in server.stream():
            assert isinstance(event, StreamOpened)
            is_open.set()

    running: set[str] = set()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        await is_open.wait()
        running |= stream_tasks()
        tasks.cancel_scope.cancel()

    await anyio.wait_all_tasks_blocked()
    assert running
    assert stream_tasks() == set()


async def test_stream_whose_consumer_breaks_off_leaves_nothing(venue: Venue) -> None:
    """Without a word of farewell: the event loop closes what nobody holds."""
    server = (await venue.guest("hermes")).server

    async for _ in server.stream():
        break

    with anyio.fail_after(5):
        while stream_tasks():
            await anyio.wait_all_tasks_blocked()
    assert stream_tasks() == set()
