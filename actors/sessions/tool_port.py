"""What the agent's tools may ask of the sessions: on whose behalf, what, and what comes back."""

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Caller", "Member", "Reading", "Said", "ToolRefusedError", "Tools", "Where"]


class ToolRefusedError(Exception):
    """The tool did nothing, or not all of it; the text is for the model and says what to do."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The run that calls a tool, as the gateway knows it; nothing of it comes from the model."""

    session_key: str
    message_id: str | None
    """The message of the run; None: one the gateway resumed after a restart."""


@dataclass(frozen=True, slots=True)
class Where:
    """A place as the model gives it."""

    room: str | None = None
    """ID, or name in any case; None: where the run takes place."""
    thread: str | None = None
    """ID of the message the thread hangs on; None: see each tool."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message, shown so that nothing in it can pass for anything else."""

    message_id: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a place, oldest first."""

    room_id: str
    room: str
    """Name; empty for a direct conversation."""
    thread: str | None
    said: tuple[Said, ...]
    note: str | None
    """What is not shown, in words; None: nothing is missing."""


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody in a room."""

    user_id: str
    login: str
    name: str
    may_ask: bool
    """Whether they may talk to the agent there."""


class Tools(Protocol):
    """The tools; each call is one of the model's. Those that wait raise `ToolRefusedError`."""

    def toolsets_of(self, room_id: str) -> tuple[str, ...] | None:
        """Return the toolsets of a room; None: those of the platform. Of any thread, at once."""
        ...

    async def read_room(self, caller: Caller, where: Where, limit: int) -> Reading:
        """Read the newest messages of a room, or of a direct conversation."""
        ...

    async def read_thread(self, caller: Caller, where: Where, limit: int) -> Reading:
        """Read the root and the newest messages of a thread; None: the one of the run."""
        ...

    async def search(self, caller: Caller, where: Where, words: str) -> Reading:
        """Find what holds all these words among the newest messages of a room, or a thread."""
        ...

    async def members(self, caller: Caller, where: Where, name: str) -> tuple[Member, ...]:
        """Find members of a room by a part of their login or name."""
        ...

    async def react(
        self, caller: Caller, where: Where, message_id: str, emoji: str, *, on: bool
    ) -> None:
        """Put a reaction on a message, or take it back."""
        ...

    async def post(self, caller: Caller, where: Where, text: str) -> tuple[str, ...]:
        """Post a text elsewhere and return the IDs of the messages it became."""
        ...
