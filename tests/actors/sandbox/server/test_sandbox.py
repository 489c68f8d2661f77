"""The embedded server in the test's own process: set-up, clock, counters, faults, stop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from chattolib import ChattoClient
from chattolib.exceptions import ChattoConnectError
from chattolib.realtime import realtime_url
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from hermes_chatto.actors.sandbox.server import frames
from hermes_chatto.actors.sandbox.server.clock import NANOSECONDS
from hermes_chatto.actors.sandbox.server.faults import Call, NoFaults
from hermes_chatto.actors.sandbox.server.frames import Event
from hermes_chatto.actors.sandbox.server.pb import wire
from hermes_chatto.actors.sandbox.server.presence import LIFETIME_S, Status
from hermes_chatto.actors.sandbox.server.realtime import BACKLOG, Timing
from hermes_chatto.actors.sandbox.server.rooms import Room
from hermes_chatto.actors.sandbox.server.sandbox import PortTakenError, Sandbox

START_NS = 1_700_000_000 * NANOSECONDS
ABNORMAL = 1006  # how a client sees an end without a closing handshake


class HandClock:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.time_ns = START_NS

    def now_ns(self) -> int:
        """Return what the hand says."""
        return self.time_ns

    async def sleep(self, seconds: float) -> None:
        """Wait for ever: nobody moves the hand on its own."""
        del seconds
        await asyncio.Event().wait()


class LostAnswers(NoFaults):
    """Applies posts and loses their answers."""

    async def answering(self, call: Call, send: Callable[[], Awaitable[None]]) -> None:
        """Send every answer but that of a post."""
        if call.name != "MessageService/CreateMessage":
            await send()


async def log_in(url: str, login: str) -> ChattoClient:
    """Return a client of an account with its default password."""
    return await ChattoClient.login(login, f"{login}-pass-1", base_url=url)


@asynccontextmanager
async def subscribed(client: ChattoClient, url: str) -> AsyncIterator[ClientConnection]:
    """Open a stream that has got its `subscribed`."""
    async with connect(realtime_url(url)) as socket:
        hello = wire.RealtimeClientHello(protocol_version=1, bearer_token=client.token)
        await socket.send(wire.RealtimeClientFrame(hello=hello).SerializeToString())
        await socket.recv()
        subscribe = wire.RealtimeClientFrame(subscribe_events=wire.RealtimeSubscribeEvents())
        await socket.send(subscribe.SerializeToString())
        await socket.recv()
        yield socket


async def next_frame(socket: ClientConnection) -> Any:  # noqa: ANN401  # generated, untyped
    """Return the next server frame."""
    return wire.RealtimeServerFrame.FromString(await socket.recv())


async def frame_kinds(socket: ClientConnection) -> AsyncIterator[str]:
    """Give the kinds of all frames until the connection ends."""
    with suppress(ConnectionClosed):
        while True:
            yield (await next_frame(socket)).WhichOneof("frame")


async def test_set_up_accounts_and_rooms_without_the_wire() -> None:
    """A test arranges people and rooms, then talks to them as a client does."""
    sandbox = Sandbox()
    alice, bob = sandbox.add_account("alice"), sandbox.add_account("bob")
    room = sandbox.add_room("kitchen", alice)
    sandbox.add_members(room, bob)

    async with sandbox as url:
        client = await log_in(url, "bob")
        members, page = await client.list_room_members(room.id)

    assert [member.user.login for member in members if member.user] == ["alice", "bob"]
    assert page.total_count == 2


async def test_messages_carry_the_time_of_the_given_clock() -> None:
    """Nothing here looks at another clock than the one it was given."""
    clock = HandClock()
    sandbox = Sandbox(clock=clock)
    room = sandbox.add_room("kitchen", sandbox.add_account("alice"))
    async with sandbox as url:
        client = await log_in(url, "alice")
        message = await client.post_message(room.id, "tea")
        clock.time_ns += 3 * 3600 * NANOSECONDS + 1

        with pytest.raises(ChattoConnectError, match="edit window has expired"):
            await client.update_message(room.id, message.id, body="coffee")

    assert message.created_at == datetime.fromtimestamp(START_NS // NANOSECONDS, UTC)


async def test_presence_lasts_a_minute() -> None:
    """Whoever says nothing for so long counts as gone."""
    clock = HandClock()
    sandbox = Sandbox(clock=clock)
    alice = sandbox.add_account("alice")
    presence = sandbox.world.presence
    presence.say(alice.id, Status.ONLINE)
    clock.time_ns += LIFETIME_S * NANOSECONDS - 1
    before = presence.of(alice.id)

    clock.time_ns += 1

    assert (before, presence.of(alice.id)) == (Status.ONLINE, Status.OFFLINE)


async def test_calls_are_counted_by_method() -> None:
    """A test can say how many calls something may cost; refused ones count, too."""
    sandbox = Sandbox()
    sandbox.add_account("alice")
    async with sandbox as url:
        client = await log_in(url, "alice")
        await client.me()
        await client.me()
        with pytest.raises(ChattoConnectError):
            await client.get_room("R00000000000000")

    assert sandbox.calls == {"ViewerService/GetViewer": 2, "RoomDirectoryService/GetRoom": 1}


async def test_a_lost_answer_leaves_the_message_posted() -> None:
    """The hook around the answer: the call is applied, the client never hears of it."""
    sandbox = Sandbox(faults=LostAnswers())
    room = sandbox.add_room("kitchen", sandbox.add_account("alice"))
    async with sandbox as url:
        client = await log_in(url, "alice")
        with pytest.raises(ChattoConnectError, match="unavailable"):
            await client.post_message(room.id, "tea")
        page = await client.get_room_events(room.id)

    assert [row.message.body for row in page.events if row.message] == ["tea"]


async def test_heartbeats_come_as_often_as_asked() -> None:
    """The interval can be shortened for tests, and the hello says so."""
    sandbox = Sandbox(timing=Timing(heartbeat_s=0.05))
    sandbox.add_account("alice")
    async with sandbox as url:
        client = await log_in(url, "alice")
        async with subscribed(client, url) as socket:
            kinds = [(await next_frame(socket)).WhichOneof("frame") for _ in range(2)]

    assert kinds == ["heartbeat", "heartbeat"]


async def test_stop_asks_streams_to_come_back() -> None:
    """The close frame is the last one, then the connection just ends."""
    sandbox = Sandbox()
    sandbox.add_account("alice")
    url = await sandbox.__aenter__()
    client = await log_in(url, "alice")
    async with subscribed(client, url) as socket:
        await sandbox.__aexit__(None, None, None)
        last = await next_frame(socket)
        with pytest.raises(ConnectionClosed):
            await socket.recv()

    assert (last.close.code, last.close.reconnect) == ("stream_closed", True)
    assert last.close.retry_after_ms == frames.RETRY_AFTER_MS
    assert socket.close_code == ABNORMAL


async def test_stop_tells_nothing_in_the_handshake() -> None:
    """Who has not subscribed yet sees the bare end."""
    sandbox = Sandbox()
    url = await sandbox.__aenter__()
    async with connect(realtime_url(url)) as socket:
        await sandbox.__aexit__(None, None, None)
        with pytest.raises(ConnectionClosed):
            await socket.recv()

    assert socket.close_code == ABNORMAL


async def test_a_taken_port_is_an_error_of_its_own() -> None:
    """The caller can say what to do instead of showing a traceback."""
    async with Sandbox() as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(PortTakenError):
            await Sandbox(address=("127.0.0.1", port)).__aenter__()


def flood(sandbox: Sandbox, room: Room) -> None:
    """Queue more for every listener of the room than sockets take without a reader."""
    event = Event("user_typing", "", {"room_id": room.id, "thread_root_event_id": "x" * 50_000})
    for _ in range(2 * BACKLOG):
        sandbox.world.feed.tell_room(room, event)


async def test_a_slow_reader_that_comes_back_gets_the_close_frame() -> None:
    """What the sockets held comes first, the rest is lost, and the client is told to return."""
    sandbox = Sandbox(timing=Timing(stall_s=0))
    room = sandbox.add_room("kitchen", sandbox.add_account("alice"))
    async with sandbox as url:
        client = await log_in(url, "alice")
        async with subscribed(client, url) as socket:
            flood(sandbox, room)
            kinds = [kind async for kind in frame_kinds(socket)]

    assert kinds[-1] == "close"
    assert len(kinds) < 2 * BACKLOG


async def test_a_reader_that_stays_away_is_cut_without_a_word() -> None:
    """After the write limit the connection just ends."""
    sandbox = Sandbox(timing=Timing(write_s=0.05))
    room = sandbox.add_room("kitchen", sandbox.add_account("alice"))
    async with sandbox as url:
        client = await log_in(url, "alice")
        async with subscribed(client, url) as socket:
            flood(sandbox, room)
            with anyio.fail_after(10):
                while sandbox.world.feed.streams():  # noqa: ASYNC110  # nobody is told
                    await anyio.sleep(0.01)
            kinds = [kind async for kind in frame_kinds(socket)]

    assert set(kinds) == {"event"}
    assert socket.close_code == ABNORMAL


async def test_a_reader_that_keeps_up_gets_a_burst_whole() -> None:
    """Much at once is no reason to cut a client that reads."""
    sandbox = Sandbox()
    room = sandbox.add_room("kitchen", sandbox.add_account("alice"))
    async with sandbox as url:
        client = await log_in(url, "alice")
        async with subscribed(client, url) as socket:
            flood(sandbox, room)
            kinds = [(await next_frame(socket)).WhichOneof("frame") for _ in range(2 * BACKLOG)]

    assert set(kinds) == {"event"}
