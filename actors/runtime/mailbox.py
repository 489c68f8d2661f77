"""What waits for one actor, and how far its head has got."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

__all__ = ["Address", "Mailbox", "MailboxFullError", "SupervisorClosedError"]


@dataclass(frozen=True, slots=True)
class Address:
    """Where mail goes: one actor of one kind."""

    kind: str
    key: str

    def __str__(self) -> str:
        """Return it as logs show it."""
        return f"{self.kind}={self.key}"


class MailboxFullError(Exception):
    """Mail was refused because too much waits already; the sender decides what follows."""

    def __init__(self, address: Address, reason: str) -> None:
        """Say whose mail was refused and which bound was reached."""
        super().__init__(f"mail for {address} refused: {reason}")
        self.address = address


class SupervisorClosedError(Exception):
    """Mail was refused because the supervisor is stopping or has stopped."""

    def __init__(self, address: Address) -> None:
        """Say whose mail was refused."""
        super().__init__(f"mail for {address} refused: stopping")
        self.address = address


class Mailbox:
    """The mails of one actor, oldest first.

    Mails stay at the head until they are handled or given up. Once taken, a head
    keeps its size however often it is tried, unless it is split.
    """

    def __init__(self, waits: Callable[[], Iterator[float]]) -> None:
        """Start empty.

        Args:
            waits: makes the endless row of back-offs, anew for each head.
        """
        self.failures = 0
        """How often the present head has failed."""
        self._mails: deque[Any] = deque()
        self._make_waits = waits
        self._waits = waits()
        self._head_size = 0
        self._singles = 0

    def __len__(self) -> int:
        """Return how many mails wait, those being handled included."""
        return len(self._mails)

    def put(self, mail: object) -> None:
        """Add a mail behind all others."""
        self._mails.append(mail)

    def head(self, batch: int) -> Sequence[Any]:
        """Return the mails to be handled next, and leave them where they are.

        Args:
            batch: how many at most; only one while a split head is worked off.
        """
        if not self._head_size:
            self._head_size = min(1 if self._singles else batch, len(self._mails))
        return tuple(islice(self._mails, self._head_size))

    def split(self) -> None:
        """Take the present head one mail at a time: nobody knows which one was at fault."""
        self._singles = self._head_size
        self._head_size = 0

    def next_wait(self) -> float:
        """Return the seconds to wait before the head is tried again."""
        return next(self._waits)

    def remove_head(self) -> int:
        """Let the next mails move up and return how many have left."""
        removed = self._head_size
        for _ in range(removed):
            self._mails.popleft()
        self._singles = max(self._singles - removed, 0)
        self._head_size = 0
        self.failures = 0
        self._waits = self._make_waits()
        return removed
