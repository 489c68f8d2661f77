"""Realtime frames, as the server writes them.

Source: Chatto 0.4.20, proto/chatto/realtime/v1/realtime.proto,
cli/internal/http_server/realtime.go.
"""

from dataclasses import dataclass, field

from .pb import Proto, at, wire

SERVER_VERSION = "0.4.20"
PROTOCOL_VERSION = 1
CAPABILITIES = (
    "chatto.realtime.events.live.v1",
    "chatto.realtime.heartbeat.v1",
    "chatto.realtime.ping.v1",
)
RETRY_AFTER_MS = 1000


@dataclass(frozen=True, slots=True)
class Frame:
    """One server frame: its kind (of the event, if it is one) and its bytes."""

    kind: str
    encoded: bytes


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, before it is known who hears of it."""

    kind: str
    """Name of the field in the event envelope, for example `message_posted`."""
    actor_id: str
    payload: dict[str, Proto] = field(default_factory=dict)
    """Fields of the event; what is left out is absent on the wire."""
    id: str = ""
    """Empty: the event gets an ID of its own."""
    created_ns: int = 0
    """0: now."""


def of_event(event: Event) -> Frame:
    """Frame an event whose ID and time are set."""
    envelope = wire.RealtimeEventEnvelope(
        id=event.id,
        created_at=at(event.created_ns),
        actor_id=event.actor_id,
        **{event.kind: event.payload},
    )
    return _frame(event.kind, event=envelope)


def hello(heartbeat_s: float) -> Frame:
    """Answer the client's hello."""
    return _frame(
        "hello",
        hello=wire.RealtimeServerHello(
            protocol_version=PROTOCOL_VERSION,
            server_version=SERVER_VERSION,
            heartbeat_interval_seconds=max(1, round(heartbeat_s)),
            capabilities=CAPABILITIES,
        ),
    )


def subscribed() -> Frame:
    """Say that everything from now on is delivered."""
    return _frame("subscribed", subscribed=wire.RealtimeSubscribed())


def heartbeat(beat_id: str, now_ns: int) -> Frame:
    """Say that the stream lives."""
    return _frame("heartbeat", heartbeat=wire.RealtimeHeartbeat(id=beat_id, created_at=at(now_ns)))


def pong(nonce: str) -> Frame:
    """Answer a ping."""
    return _frame("pong", pong=wire.RealtimePong(nonce=nonce))


def fatal_error(code: str, message: str) -> Frame:
    """Say why the connection ends now."""
    error = wire.RealtimeError(code=code, message=message, fatal=True)
    return _frame("error", error=error)


def stream_closed() -> Frame:
    """Ask the client to come back: the server stops, or the client was too slow."""
    return _frame(
        "close",
        close=wire.RealtimeClose(
            code="stream_closed",
            message="event stream closed",
            reconnect=True,
            retry_after_ms=RETRY_AFTER_MS,
        ),
    )


def _frame(kind: str, **content: Proto) -> Frame:
    return Frame(kind, wire.RealtimeServerFrame(**content).SerializeToString())
