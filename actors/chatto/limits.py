"""How long the edge waits, and how much it holds."""

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the edge; all in seconds where the name says so."""

    read_timeout_s: float = 10.0
    """Longest wait for an answer to anything but a post."""
    send_timeout_s: float = 30.0
    """Longest wait for the answer to a post; then nobody knows whether it was posted."""
    handshake_timeout_s: float = 10.0
    """Longest wait for each step of opening the stream; the server's own patience is the same."""
    heartbeat_s: float = 15.0
    """Assumed where the server's hello names no interval."""
    missed_heartbeats: int = 3
    """After as many intervals without any frame the stream counts as lost."""
    queued_events: int = 10_000
    """Events read but not yet taken; one more ends the stream. About 5 MB."""
