"""Faults to switch on, one by one or together: each is small, and they are put around each other.

    board = Switchboard()
    sandbox = Sandbox(faults=board)
    board.put(LoseAnswer(POST), DelayFrame("message_posted", 0.2))

Each strikes a number of times and then lets everything pass. What the server does is always
right; the faults stand between it and its clients.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio

from .faults import Call, Delivery, NoFaults, StreamCutError
from .pb import Proto
from .refusals import Code, RefusedError

__all__ = [
    "ALWAYS",
    "POST",
    "AnswerFirst",
    "CutStream",
    "DelayFrame",
    "EchoFirst",
    "Fault",
    "LoseAnswer",
    "LoseFrame",
    "Refuse",
    "RepeatFrame",
    "Slow",
    "StallStream",
    "Switchboard",
]

ALWAYS: Final = math.inf
POST: Final = "MessageService/CreateMessage"
POSTED: Final = "message_posted"
ECHO_WITHIN_S: Final = 1.0  # without a stream there is no echo to wait for

Apply = Callable[[], Awaitable[Proto]]
Write = Callable[[bytes], Awaitable[None]]


@dataclass(kw_only=True, slots=True)
class Fault(NoFaults):
    """What all faults have: whom they strike, and how often."""

    user_id: str = ""
    """Whose calls and streams; empty: everybody's."""
    times: float = 1
    struck: int = field(default=0, init=False)
    """How often it struck."""

    def strikes(self, user_id: str) -> bool:
        """Tell whether it strikes now, and count that."""
        is_meant = self.user_id in {"", user_id} and self.struck < self.times
        self.struck += is_meant
        return is_meant


@dataclass(slots=True)
class Refuse(Fault):
    """Refuses calls, before they are applied or although they were."""

    call: str
    code: Code
    is_applied: bool = False

    async def applying(self, call: Call, apply: Apply) -> Proto:
        """Refuse."""
        if call.name != self.call or not self.strikes(call.user_id):
            return await apply()
        if self.is_applied:
            await apply()
        raise RefusedError(self.code, "planned")


@dataclass(slots=True)
class LoseAnswer(Fault):
    """Applies calls and breaks the connection instead of answering."""

    call: str

    async def answering(self, call: Call, send: Callable[[], Awaitable[None]]) -> None:
        """Send nothing."""
        if call.name != self.call or not self.strikes(call.user_id):
            await send()


@dataclass(slots=True)
class Slow(Fault):
    """Takes its time with calls."""

    call: str
    before_s: float = 0.0
    after_s: float = 0.0
    """Between what the call does and its answer."""

    async def applying(self, call: Call, apply: Apply) -> Proto:
        """Wait before and after."""
        if call.name != self.call or not self.strikes(call.user_id):
            return await apply()
        await anyio.sleep(self.before_s)
        answer = await apply()
        await anyio.sleep(self.after_s)
        return answer


@dataclass(slots=True)
class AnswerFirst(Fault):
    """Lets the answer of a post arrive before its author's stream tells of it."""

    lead_s: float = 0.0
    """How much earlier: the two come by different connections, and may overtake each other."""
    _answered: anyio.Event | None = field(default=None, init=False)

    async def applying(self, call: Call, apply: Apply) -> Proto:
        """Hold the author's frames back from now on."""
        if call.name == POST and self.strikes(call.user_id):
            self._answered = anyio.Event()
        return await apply()

    async def answering(self, call: Call, send: Callable[[], Awaitable[None]]) -> None:
        """Let the frames go once the answer is out."""
        await send()
        if call.name == POST and self._answered is not None:
            self._answered.set()
            self._answered = None

    async def delivering(self, delivery: Delivery, send: Write) -> None:
        """Wait for the answer."""
        is_meant = self.user_id in {"", delivery.user_id}
        if is_meant and delivery.kind == POSTED and self._answered is not None:
            with anyio.move_on_after(ECHO_WITHIN_S):
                await self._answered.wait()
                await anyio.sleep(self.lead_s)
        await send(delivery.encoded)


@dataclass(slots=True)
class EchoFirst(Fault):
    """Lets the author's stream tell of a post before the post is answered."""

    _told: anyio.Event | None = field(default=None, init=False)

    async def applying(self, call: Call, apply: Apply) -> Proto:
        """Watch for the frame from now on."""
        if call.name == POST and self.strikes(call.user_id):
            self._told = anyio.Event()
        return await apply()

    async def answering(self, call: Call, send: Callable[[], Awaitable[None]]) -> None:
        """Wait for the frame; where there is no stream, not for long."""
        if call.name == POST and self._told is not None:
            with anyio.move_on_after(ECHO_WITHIN_S):
                await self._told.wait()
            self._told = None
        await send()

    async def delivering(self, delivery: Delivery, send: Write) -> None:
        """Send, and say so."""
        await send(delivery.encoded)
        is_meant = self.user_id in {"", delivery.user_id}
        if is_meant and delivery.kind == POSTED and self._told is not None:
            self._told.set()


@dataclass(slots=True)
class DelayFrame(Fault):
    """Holds a frame back, and everything behind it."""

    kind: str
    seconds: float

    async def delivering(self, delivery: Delivery, send: Write) -> None:
        """Wait, then send."""
        if delivery.kind == self.kind and self.strikes(delivery.user_id):
            await anyio.sleep(self.seconds)
        await send(delivery.encoded)


@dataclass(slots=True)
class RepeatFrame(Fault):
    """Sends a frame twice."""

    kind: str

    async def delivering(self, delivery: Delivery, send: Write) -> None:
        """Send, and send again."""
        await send(delivery.encoded)
        if delivery.kind == self.kind and self.strikes(delivery.user_id):
            await send(delivery.encoded)


@dataclass(slots=True)
class LoseFrame(Fault):
    """Leaves a frame out; the stream goes on as if nothing had been."""

    kind: str

    async def delivering(self, delivery: Delivery, send: Write) -> None:
        """Send nothing."""
        if delivery.kind != self.kind or not self.strikes(delivery.user_id):
            await send(delivery.encoded)


@dataclass(slots=True)
class CutStream(Fault):
    """Ends a stream at a frame, which is lost with it."""

    kind: str
    close_code: int | None = None
    """None: the bare end of the connection, nothing before it."""
    reason: str = ""
    last_words: bytes = b""
    """A frame that is sent instead; empty: none."""

    async def delivering(self, delivery: Delivery, send: Write) -> None:
        """End the stream."""
        if delivery.kind != self.kind or not self.strikes(delivery.user_id):
            await send(delivery.encoded)
            return
        if self.last_words:
            await send(self.last_words)
        raise StreamCutError(self.close_code, self.reason)


@dataclass(slots=True)
class StallStream(Fault):
    """Sends nothing any more and leaves the socket open: heartbeats stop, too.

    `times` counts the frames that are swallowed; put it with `ALWAYS`.
    """

    async def delivering(self, delivery: Delivery, send: Write) -> None:
        """Swallow everything."""
        if not self.strikes(delivery.user_id):
            await send(delivery.encoded)


class Switchboard(NoFaults):
    """The faults that are on; the first put is the outermost."""

    def __init__(self, *faults: NoFaults) -> None:
        """Switch these on."""
        self._faults = [*faults]

    def put(self, *faults: NoFaults) -> None:
        """Switch more on."""
        self._faults += faults

    def clear(self) -> None:
        """Switch everything off."""
        self._faults.clear()

    async def applying(self, call: Call, apply: Apply) -> Proto:
        """Go through all of them."""
        for fault in reversed(self._faults):
            apply = partial(fault.applying, call, apply)
        return await apply()

    async def answering(self, call: Call, send: Callable[[], Awaitable[None]]) -> None:
        """Go through all of them."""
        for fault in reversed(self._faults):
            send = partial(fault.answering, call, send)
        await send()

    async def delivering(self, delivery: Delivery, send: Write) -> None:
        """Go through all of them; one may send something else than it got, or more."""
        for fault in reversed(self._faults):
            send = partial(_through, fault, delivery, send)
        await send(delivery.encoded)


async def _through(fault: NoFaults, delivery: Delivery, send: Write, encoded: bytes) -> None:
    await fault.delivering(Delivery(delivery.user_id, delivery.kind, encoded), send)
