"""The realtime stream against servers that behave oddly."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import NoReturn, TypeAlias

import anyio
import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from hermes_chatto.actors.chatto.limits import Limits
from hermes_chatto.actors.chatto.pb import Proto
from hermes_chatto.actors.chatto.pb import realtime as pb
from hermes_chatto.actors.chatto.realtime import RealtimeStream, open_stream
from hermes_chatto.actors.chatto.refusals import TokenRefusedError
from hermes_chatto.actors.sandbox.odd_servers import Hangup, OddServer, OddStream, Page, Silence
from hermes_chatto.actors.sessions.errors import ProtocolNotSpokenError, StreamLostError
from hermes_chatto.actors.sessions.stream_events import MessageRetracted, PersonDeleted

LIMITS = Limits(handshake_timeout_s=5, heartbeat_s=5)
Talk: TypeAlias = Callable[[ServerConnection], Awaitable[None]]


async def opened(url: str, limits: Limits = LIMITS) -> RealtimeStream:
    """Open a stream without TLS."""
    return await open_stream(url, "cht_AT1", ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), limits)


def frame(**parts: object) -> bytes:
    """Return a server frame as it goes over the wire."""
    return bytes(pb.RealtimeServerFrame(**parts).SerializeToString())


HELLO = frame(hello={"protocol_version": 1, "server_version": "0.4.20"})
SUBSCRIBED = frame(subscribed={})
HEARTBEAT = frame(heartbeat={"id": "E1"})


def retracted(message_id: str) -> bytes:
    """Return an event frame."""
    body = {"room_id": "R1", "message_event_id": message_id}
    return frame(event={"id": "E9", "message_retracted": body})


def fatal(code: str) -> bytes:
    """Return an error frame that ends the stream."""
    return frame(error={"code": code, "message": "said so", "fatal": True})


def talk(*parts: bytes | str, hello: bytes = HELLO, subscribed: bytes = SUBSCRIBED) -> Talk:
    """Return a server that answers the handshake, says its part and waits for the end."""

    async def run(connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await connection.recv()
            await connection.send(hello)
            await connection.recv()
            await connection.send(subscribed)
            for part in parts:
                await connection.send(part)
            await connection.wait_closed()

    return run


def first(answer: bytes | str) -> Talk:
    """Return a server that answers the hello like this and waits for the end."""

    async def run(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(answer)
        await connection.wait_closed()

    return run


async def end_of(url: str, limits: Limits = LIMITS) -> StreamLostError:
    """Return how a stream was lost, or was not opened."""
    with pytest.raises(StreamLostError) as caught:
        await all_of(url, limits)
    return caught.value


async def all_of(url: str, limits: Limits) -> NoReturn:
    """Open a stream and take events until it ends."""
    async with aclosing(await opened(url, limits)) as stream:
        while True:
            await stream.next_event()


# --- handshake --------------------------------------------------------------------------------


async def test_handshake_says_version_and_token_then_subscribes() -> None:
    """In this order, and nothing else."""
    said: list[Proto] = []

    async def run(connection: ServerConnection) -> None:
        for answer in (HELLO, SUBSCRIBED):
            said.append(pb.RealtimeClientFrame.FromString(await connection.recv()))
            await connection.send(answer)
        await connection.wait_closed()

    async with OddStream(run) as url, aclosing(await opened(url)) as stream:
        assert stream.server_version == "0.4.20"

    hello = pb.RealtimeClientHello(protocol_version=1, bearer_token="cht_AT1")  # noqa: S106 - known to nobody
    subscribe = pb.RealtimeSubscribeEvents()
    assert said == [
        pb.RealtimeClientFrame(hello=hello),
        pb.RealtimeClientFrame(subscribe_events=subscribe),
    ]


async def test_stream_is_open_only_when_the_server_delivers() -> None:
    """A reading that starts before `subscribed` would leave a hole."""
    asked, may_subscribe = asyncio.Event(), asyncio.Event()

    async def run(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(HELLO)
        await connection.recv()
        asked.set()
        await may_subscribe.wait()
        await connection.send(SUBSCRIBED)
        await connection.wait_closed()

    async with OddStream(run) as url:
        opening = asyncio.create_task(opened(url))
        await asked.wait()
        await anyio.wait_all_tasks_blocked()
        was_open = opening.done()
        may_subscribe.set()
        await (await opening).aclose()

    assert not was_open


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (fatal("temporarily_unavailable"), "temporarily_unavailable"),
        (fatal("subscribe_failed"), "subscribe_failed"),
        (fatal("bad_hello"), "bad_hello"),
        (frame(close={"code": "stream_closed", "retry_after_ms": 1000}), "stream_closed"),
    ],
)
async def test_refusal_of_the_moment_is_a_loss(hello: bytes, reason: str) -> None:
    """`bad_hello` is what a client hears that was too slow to say it."""
    async with OddStream(first(hello)) as url:
        lost = await end_of(url)

    assert lost.reason == reason


@pytest.mark.parametrize(
    "hello",
    [
        fatal("unsupported_protocol"),
        frame(hello={"protocol_version": 2}),
        frame(close={"message": "upgrade required"}),
        retracted("E1"),
        HEARTBEAT,
        b"",
        b"\xff\xff\xff",
        "hello",
    ],
    ids=["error", "version", "newer close", "event", "heartbeat", "unknown", "garbage", "text"],
)
async def test_server_that_speaks_otherwise_is_told_apart(hello: bytes | str) -> None:
    """No retry helps; the text says what is needed."""
    async with OddStream(first(hello)) as url:
        with pytest.raises(ProtocolNotSpokenError, match=r"^CHATTO_URL: .*protocol 1, as Chatto"):
            await opened(url)


async def test_anything_but_subscribed_is_another_protocol() -> None:
    """The second answer is fixed, too."""
    async with OddStream(talk(subscribed=retracted("E1"))) as url:
        with pytest.raises(ProtocolNotSpokenError, match=r"message|event instead of subscribed"):
            await opened(url)


async def test_refused_token_is_told_apart() -> None:
    """Another one may be had."""
    async with OddStream(first(fatal("authentication_required"))) as url:
        with pytest.raises(TokenRefusedError):
            await opened(url)


@pytest.mark.parametrize("said", [(), (HELLO,)], ids=["no hello", "no subscribed"])
async def test_server_that_falls_silent_is_left(said: tuple[bytes, ...]) -> None:
    """Each step of the handshake has its time."""

    async def run(connection: ServerConnection) -> None:
        for part in said:
            await connection.send(part)
        await connection.wait_closed()

    async with OddStream(run) as url:
        lost = await end_of(url, Limits(handshake_timeout_s=0.05))

    assert lost.reason == ("no_subscribed" if said else "no_hello")


async def test_failed_handshake_leaves_no_socket_behind() -> None:
    """Neither does a cancelled one."""
    silent = OddStream(lambda connection: connection.wait_closed())
    async with silent as url:
        with anyio.move_on_after(0.05):
            await opened(url)
        with anyio.fail_after(3):
            await silent.ended.wait()


@pytest.mark.parametrize("status", [200, 301, 401, 403, 404, 500, 502, 503])
async def test_page_instead_of_an_upgrade_is_a_loss(status: int) -> None:
    """Identifying told who answers; a proxy that forwards no upgrade shows its status."""
    async with OddServer(Page(status)) as url:
        lost = await end_of(url.replace("http://", "ws://"))

    assert lost.reason == f"http_{status}"


async def test_ways_not_to_connect_have_names() -> None:
    """They stand in the row."""
    async with OddServer(Hangup(b"SSH-2.0-odd\r\n")) as url:
        odd = await end_of(url.replace("http://", "ws://"))
        plain = await end_of(url.replace("http://", "wss://"))
    async with OddServer(Silence()) as url:
        hasty = Limits(handshake_timeout_s=0.05)
        silent = await end_of(url.replace("http://", "ws://"), hasty)
    closed = await end_of("ws://127.0.0.1:1/")
    unknown = await end_of("ws://chat.invalid/")

    assert [odd.reason, plain.reason] == ["no_websocket", "tls"]
    assert [closed.reason, unknown.reason] == ["refused", "name_unknown"]
    assert silent.reason == "connect_timeout"


async def test_token_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """At the finest level the library logs every frame, in hexadecimal."""
    caplog.set_level(0)
    async with OddStream(talk()) as url, aclosing(await opened(url)):
        records = [
            each.getMessage() for each in caplog.records if each.name != "websockets.server"
        ]

    assert not any(sign in text for text in records for sign in ("cht_", "63 68 74 5f"))


# --- the end ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "reason", "retry_after_s"),
    [
        (frame(close={"code": "stream_closed", "retry_after_ms": 1500}), "stream_closed", 1.5),
        (frame(close={}), "closed", 0),
        (fatal("bad_frame"), "bad_frame", 0),
        (
            frame(event={"id": "E9", "session_terminated": {"reason": "logout"}}),
            "session_terminated:logout",
            0,
        ),
        ("text", "text_frame", 0),
        (b"\xff\xff\xff", "undecodable_frame", 0),
    ],
)
async def test_last_frame_says_why(last: bytes | str, reason: str, retry_after_s: float) -> None:
    """And how long to stay away."""
    async with OddStream(talk(last)) as url:
        lost = await end_of(url)

    assert (lost.reason, lost.retry_after_s) == (reason, retry_after_s)


async def test_credential_taken_back_is_told_apart() -> None:
    """Newer servers end the stream of a key that was changed."""
    last = frame(close={"code": "authentication_required", "message": "key changed"})
    async with OddStream(talk(last)) as url, aclosing(await opened(url)) as stream:
        with pytest.raises(TokenRefusedError):
            await stream.next_event()


@pytest.mark.parametrize("code", [1000, 1001, 1008, 1011])
async def test_closing_handshake_is_a_loss(code: int) -> None:
    """A polite end is an end: the stream never just stops."""

    async def run(connection: ServerConnection) -> None:
        await talk_shortly(connection)
        await connection.close(code)

    async with OddStream(run) as url:
        lost = await end_of(url)

    assert lost.reason == f"closed_{code}"


async def test_end_before_a_word_is_a_loss() -> None:
    """Also where it is noticed while our hello is written."""
    async with OddStream(lambda connection: connection.close(1013)) as url:
        lost = await end_of(url)

    assert lost.reason == "closed_1013"


async def test_broken_connection_is_a_loss() -> None:
    """A server that was killed says nothing."""

    async def run(connection: ServerConnection) -> None:
        await talk_shortly(connection)
        connection.transport.abort()

    async with OddStream(run) as url:
        lost = await end_of(url)

    assert lost.reason == "closed_1006"


async def talk_shortly(connection: ServerConnection) -> None:
    """Go through the handshake."""
    await connection.recv()
    await connection.send(HELLO)
    await connection.recv()
    await connection.send(SUBSCRIBED)


async def test_silence_for_three_heartbeats_is_a_loss() -> None:
    """A server that hangs keeps its sockets open."""
    async with OddStream(talk(HEARTBEAT)) as url:
        lost = await end_of(url, Limits(heartbeat_s=0.02))

    assert lost.reason == "silent"


async def test_nobody_waits_for_the_goodbye_of_a_server_that_is_silent() -> None:
    """Something between us swallows ours, too; and the loss is to be told in its time."""

    async def swallow(connection: ServerConnection) -> None:
        await talk_shortly(connection)
        connection.transport.pause_reading()
        await connection.wait_closed()

    async with OddStream(swallow) as url:
        began = anyio.current_time()
        lost = await end_of(url, Limits(heartbeat_s=0.02))
        lasted_s = anyio.current_time() - began

    assert lost.reason == "silent"
    assert lasted_s < 0.9  # a second is what a goodbye may take


async def test_interval_is_the_servers() -> None:
    """Ours is only for a server that names none."""
    hello = frame(hello={"heartbeat_interval_seconds": 1})
    async with OddStream(talk(hello=hello)) as url:
        lost = await end_of(url, Limits(heartbeat_s=60, missed_heartbeats=1))

    assert lost.reason == "silent"


async def test_heartbeats_keep_the_stream_alive() -> None:
    """They are all that comes at night."""

    async def run(connection: ServerConnection) -> None:
        await talk_shortly(connection)
        for _ in range(20):
            await asyncio.sleep(0.05)  # the server's pace: together longer than the patience
            await connection.send(HEARTBEAT)
        await connection.send(retracted("E1"))
        await connection.wait_closed()

    async with (
        OddStream(run) as url,
        aclosing(await opened(url, Limits(heartbeat_s=0.3))) as stream,
    ):
        event = await stream.next_event()

    assert event == MessageRetracted("R1", "E1")


async def test_what_came_before_the_end_is_returned_before_it() -> None:
    """Events that were read are not lost with the stream."""
    last = frame(close={"code": "stream_closed"})
    async with (
        OddStream(talk(retracted("E1"), retracted("E2"), last)) as url,
        aclosing(await opened(url)) as stream,
    ):
        with pytest.raises(StreamLostError):
            await stream_is_over(stream)
        events = [await stream.next_event() for _ in range(2)]
        with pytest.raises(StreamLostError):
            await stream.next_event()

    assert events == [MessageRetracted("R1", "E1"), MessageRetracted("R1", "E2")]


async def stream_is_over(stream: RealtimeStream) -> None:
    """Wait until the reader has ended, without taking any event."""
    tasks = [task for task in asyncio.all_tasks() if task.get_name() == "chatto stream"]
    assert stream.server_version
    await asyncio.gather(*tasks)


async def test_complaints_that_end_nothing_are_passed_over() -> None:
    """During the handshake and after it."""
    complaint = frame(error={"code": "odd", "message": "never seen"})

    async def run(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(complaint)
        await connection.send(HELLO)
        await connection.recv()
        for part in (SUBSCRIBED, complaint, b"", frame(pong={}), retracted("E1")):
            await connection.send(part)
        await connection.wait_closed()

    async with OddStream(run) as url, aclosing(await opened(url)) as stream:
        event = await stream.next_event()

    assert event == MessageRetracted("R1", "E1")


# --- the consumer -----------------------------------------------------------------------------


async def test_slow_consumer_does_not_slow_the_reader() -> None:
    """The server would cut the connection, and what it cut would be lost."""
    everything_sent = asyncio.Event()

    async def run(connection: ServerConnection) -> None:
        await talk_shortly(connection)
        for number in range(5_000):
            await connection.send(retracted(f"E{number}"))
        everything_sent.set()
        await connection.wait_closed()

    async with OddStream(run) as url, aclosing(await opened(url)) as stream:
        await everything_sent.wait()
        events = [await stream.next_event() for _ in range(5_000)]

    assert events[-1] == MessageRetracted("R1", "E4999")


async def test_consumer_that_never_comes_is_left_behind() -> None:
    """Memory has a bound, and a stream with a hole is no stream."""
    events = [retracted(f"E{number}") for number in range(4)]
    async with (
        OddStream(talk(*events)) as url,
        aclosing(await opened(url, Limits(queued_events=3))) as stream,
    ):
        with pytest.raises(StreamLostError, match="overflow"):
            await stream_is_over(stream)
        got = [await stream.next_event() for _ in range(3)]
        with pytest.raises(StreamLostError, match="overflow"):
            await stream.next_event()

    assert got[-1] == MessageRetracted("R1", "E2")


async def test_events_nobody_needs_take_no_room() -> None:
    """Presence of a whole server would fill any queue."""
    presence = frame(event={"id": "E9", "presence_changed": {"user_id": "U1"}})
    deleted = frame(event={"id": "E9", "server_member_deleted": {"user_id": "U2"}})
    async with (
        OddStream(talk(*[presence] * 50, deleted)) as url,
        aclosing(await opened(url, Limits(queued_events=1))) as stream,
    ):
        event = await stream.next_event()

    assert event == PersonDeleted("U2")


async def test_closing_ends_task_and_socket_and_may_be_repeated() -> None:
    """Whatever the stream was doing."""
    server = OddStream(talk())
    async with server as url:
        stream = await opened(url)
        await stream.aclose()
        await stream.aclose()
        with anyio.fail_after(3):
            await server.ended.wait()

    assert "chatto stream" not in {task.get_name() for task in asyncio.all_tasks()}
