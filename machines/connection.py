"""The connection to the Chatto server: one realtime stream for one profile."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .chart import Chart, State
from .driver import Record, Slot

__all__ = ["Account", "ConnectionChart", "ConnectionRecord", "Loss", "Subscription"]


@dataclass(slots=True)
class ConnectionRecord(Record):
    """What the chart decides about the connection."""

    state: str = "offline"
    reason: str | None = None
    """Why it was lost or refused; None while all is well."""
    attempt: int = 0
    """Losses in a row, without a stable time between; chooses the back-off."""
    gap: int = 0
    """Number of the newest stretch in which events may have been missed."""
    account_id: str | None = None
    """User ID of the agent's account; None until the server told it once."""
    server_version: str | None = None
    """What the server calls itself; None until the first handshake."""


@dataclass(frozen=True, slots=True)
class Account:
    """Payload of `identify`: who the server says we are."""

    account_id: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """Payload of `subscribe`: the server of a stream that is now open."""

    server_version: str


@dataclass(frozen=True, slots=True)
class Loss:
    """Payload of `lose`, `refuse`, `stop` and `catch_up`: why, or what came of it."""

    reason: str


class ConnectionChart(Chart[Slot[ConnectionRecord]]):
    """Decide whether the stream is live, being opened, waited for or given up."""

    MACHINE = "connection"
    CLOSED = frozenset({"refused", "stopped"})
    MEANING: ClassVar[Mapping[str, str]] = {
        "offline": "never started",
        "connecting": "logging in and opening the stream",
        "catching_up": "the stream is open; what was missed is being read",
        "live": "the stream is open, heartbeats are on time, nothing is outstanding",
        "backing_off": "lost, `reason` says why; the next attempt comes by itself",
        "refused": "given up, `reason` says why; only a new start helps",
        "stopped": "stopped in order",
    }

    offline = State(initial=True)
    connecting = State()
    catching_up = State()
    live = State()
    backing_off = State()
    refused = State()
    stopped = State()

    # A start finds any state in the row: the process before it may have been killed.
    start = (
        offline.to(connecting, on="begin_afresh")
        | stopped.to(connecting, on="begin_afresh")
        | refused.to(connecting, on="begin_afresh")
        | connecting.to(connecting, on="begin_afresh")
        | catching_up.to(connecting, on="begin_afresh")
        | live.to(connecting, on="begin_afresh")
        | backing_off.to(connecting, on="begin_afresh")
    )
    identify = connecting.to(connecting, on="note_account")
    subscribe = connecting.to(catching_up, on="note_server")
    catch_up = catching_up.to(catching_up)
    go_live = catching_up.to(live)
    settle = live.to(live, on="forget_attempts")
    lose = (
        connecting.to(backing_off, on="note_loss")
        | catching_up.to(backing_off, on="note_loss")
        | live.to(backing_off, on="note_loss")
    )
    retry = backing_off.to(connecting)
    refuse = (
        connecting.to(refused, on="note_reason")
        | catching_up.to(refused, on="note_reason")
        | live.to(refused, on="note_reason")
    )
    stop = (
        offline.to(stopped, on="note_reason")
        | connecting.to(stopped, on="note_reason")
        | catching_up.to(stopped, on="note_reason")
        | live.to(stopped, on="note_reason")
        | backing_off.to(stopped, on="note_reason")
        | refused.to(refused)
        | stopped.to(stopped)
    )

    def begin_afresh(self) -> None:
        """Whatever happened since the last run was missed."""
        record = self.model.record
        record.reason, record.attempt, record.gap = None, 0, record.gap + 1

    def note_account(self, ev: Account) -> None:
        """Write down who we are."""
        self.model.record.account_id = ev.account_id

    def note_server(self, ev: Subscription) -> None:
        """Write down whom we are connected to."""
        self.model.record.server_version = ev.server_version
        self.model.record.reason = None

    def forget_attempts(self) -> None:
        """The stream was stable long enough: the next loss waits briefly again."""
        self.model.record.attempt = 0

    def note_loss(self, ev: Loss) -> None:
        """Count the loss; from here on events are missed."""
        record = self.model.record
        record.reason, record.attempt, record.gap = ev.reason, record.attempt + 1, record.gap + 1

    def note_reason(self, ev: Loss) -> None:
        """Write down why."""
        self.model.record.reason = ev.reason
