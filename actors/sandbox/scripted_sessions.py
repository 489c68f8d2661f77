"""The conversations of a scripted gateway, and what is left of their runs after a restart."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..sessions.facts import Place, RoomKind
from ..sessions.ports import RunStop
from ..sessions.remains import Remains

__all__ = ["ScriptedSessions", "Session"]


@dataclass
class Session:
    """A conversation of the gateway."""

    token: str | None = None
    message_ids: list[str] = field(default_factory=list)
    """The messages its transcript holds, in order."""
    owed: list[str] = field(default_factory=list)
    """Answers that may be handed over again."""
    remains: Remains | None = None
    """What is left of the turn an earlier process had; None: what the transcript says."""


class ScriptedSessions:
    """The part of the port `Gateway` that is about conversations."""

    def __init__(self, sessions: "dict[str, Session] | None") -> None:
        """Take over the conversations of an earlier process; None: there was none."""
        self.sessions = {} if sessions is None else sessions
        """Conversations by key; a test may take one away, or put another in its place."""
        self.called_off: list[str] = []
        """Keys that are not to be resumed."""

    def session_key(self, place: Place) -> str:
        """Return a key in the form of the real gateway's."""
        if place.kind is RoomKind.DIRECT:
            return f"agent:main:chatto:dm:{place.room_id}"
        return f"agent:main:chatto:thread:{place.room_id}:{place.thread_root_id}"

    def has_agent_run(self, command: str) -> bool:
        """Tell whether a command is a question: the real gateway runs its words, too."""
        return command.startswith("/queue ")

    def has_session(self, session_key: str) -> bool:
        """Tell whether there is a conversation for this key."""
        return session_key in self.sessions

    async def session_token(self, session_key: str) -> str | None:
        """Return what was stored with the conversation."""
        session = self.sessions.get(session_key)
        return session.token if session else None

    async def keep_session_token(self, session_key: str, token: str) -> bool:
        """Store a token with the conversation, if there is one."""
        session = self.sessions.get(session_key)
        if session is not None:
            session.token = token
        return session is not None

    async def held_by_transcript(
        self, session_key: str, message_ids: Collection[str]
    ) -> frozenset[str]:
        """Return which of these messages were turns of the conversation."""
        session = self.sessions.get(session_key, Session())
        return frozenset(message_ids) & frozenset(session.message_ids)

    async def oldest_in_transcript(self, session_key: str) -> str | None:
        """Return the first turn of the conversation; None: it had none."""
        return next(iter(self.sessions.get(session_key, Session()).message_ids), None)

    def take_out(self, session_key: str, message_id: str) -> RunStop:
        """Take a message out of a transcript, if it is the last one there."""
        held = self.sessions.get(session_key, Session()).message_ids
        if message_id in held[:-1]:
            return RunStop.LEFT_IN_TRANSCRIPT
        if held and held[-1] == message_id:
            held.pop()
        return RunStop.ENDED

    async def remains_of(self, session_key: str, message_id: str, *, since: datetime) -> Remains:
        """Return what a test planned, else what the transcript says."""
        del since
        session = self.sessions.get(session_key, Session())
        is_held = message_id in session.message_ids
        return session.remains or (Remains.HOLDS if is_held else Remains.NOTHING)

    async def owed_answers(self, session_key: str) -> Sequence[str]:
        """Return the answers of this key that may be handed over again."""
        return self.sessions.get(session_key, Session()).owed

    async def call_off_resumption(self, session_key: str) -> None:
        """Take down that the key is not to be resumed."""
        self.called_off.append(session_key)
