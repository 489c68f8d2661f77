"""The transcript of a session: what it holds, and how a message is taken out of it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, cast

__all__ = ["Removal", "Transcript", "TranscriptBusyError", "find_row"]

logger = logging.getLogger(__name__)

Row = Mapping[str, object]

COMPRESSED = "compression"
"""Why a session ended whose conversation goes on in another.
Source: Hermes 0.22, hermes_state_compression.py."""


class Removal(Enum):
    """What became of a message."""

    NOT_THERE = "not_there"
    """Taken out, or it never was in the transcript."""
    FOLLOWED = "followed"
    """Left: somebody said something after it."""


class TranscriptBusyError(Exception):
    """The transcript cannot be changed just now; the cause says why. Later it may."""


class SessionDatabase(Protocol):
    """The part of the gateway's `SessionDB` that is used; the same in 0.19 and 0.22."""

    def get_messages(self, session_id: str) -> Sequence[Row]:
        """Return the live rows, oldest first."""
        ...

    def get_session(self, session_id: str) -> Row | None:
        """Return the row of a session; None: it was deleted."""
        ...

    def rewind_to_message(self, session_id: str, target_message_id: int) -> object:
        """Hide a user's row and everything after it."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """Where a message stands in a transcript."""

    row_id: int
    is_followed: bool
    """Whether something was said after it."""


class Transcript:
    """The transcripts behind one session store. All methods block: call them in a thread."""

    def __init__(self, store: object) -> None:
        """Read and change through the gateway's session store."""
        self._store = store

    def current_session(self, session_key: str) -> str | None:
        """Return the session behind a key; None: there is none."""
        peek = getattr(self._store, "peek_session_id", None)
        return cast("str | None", peek(session_key)) if peek is not None else None

    def is_over(self, session_id: str) -> bool:
        """Tell whether a session was ended or deleted while the gateway still routes to it.

        One that a compression ended goes on under another ID. What cannot be read is not over.
        Source: Hermes 0.22, gateway/session_lifecycle.py: _is_session_ended_in_db.
        """
        try:
            row = self._database(session_id).get_session(session_id)
        except Exception as error:  # noqa: BLE001 - the gateway's own errors, it says the same
            logger.debug("Session %s was not looked up: %s", session_id, error)
            return False
        return row is None or row.get("end_reason") not in {None, COMPRESSED}

    def messages_of(self, session_id: str) -> Sequence[str]:
        """Return the platform's IDs of the messages a transcript holds, oldest first.

        The store's own question for one ID also says yes to what was taken out.

        Raises:
            TranscriptBusyError: somebody holds the transcript.
        """
        database = self._database(session_id)
        try:
            rows = database.get_messages(session_id)
        except Exception as error:  # a locked file: the gateway's own errors
            raise TranscriptBusyError(str(error)) from error
        held = (row.get("platform_message_id") for row in rows)
        return [str(message_id) for message_id in held if message_id]

    def take_out(self, session_id: str, message_id: str, *, with_notes: bool) -> Removal:
        """Take a message and the agent's work on it out of a transcript.

        The store's own `rewind_session` is no way to do it: in 0.22 it counts a question that
        got no answer (a stopped one) and the question after it as one, and would take out both.

        Args:
            session_id: of the transcript.
            message_id: the platform's ID, which the gateway keeps beside the text.
            with_notes: whether rows of the gateway's own that follow go too; they are user
                messages without an ID.

        Raises:
            TranscriptBusyError: somebody holds the transcript.
        """
        database = self._database(session_id)
        try:
            rows = database.get_messages(session_id)
            found = find_row(rows, message_id, with_notes=with_notes)
            if found is None:
                return Removal.NOT_THERE
            if found.is_followed:
                return Removal.FOLLOWED
            database.rewind_to_message(session_id, found.row_id)
        except Exception as error:  # a lease that is still held, a locked file: its own errors
            raise TranscriptBusyError(str(error)) from error
        return Removal.NOT_THERE

    def _database(self, session_id: str) -> SessionDatabase:
        """Return the database of the profile a session belongs to."""
        of_profile = getattr(self._store, "_db_for_session_id", None)
        if of_profile is not None:
            return cast("SessionDatabase", of_profile(session_id))
        return cast("SessionDatabase", self._store._db)  # type: ignore[attr-defined] # noqa: SLF001 - 0.19


def find_row(rows: Sequence[Row], message_id: str, *, with_notes: bool) -> Found | None:
    """Look for a message among the live rows of a transcript; None: it is not there.

    Args:
        rows: oldest first.
        message_id: the platform's ID.
        with_notes: whether user messages without an ID, which are the gateway's own, do not
            count as following it.
    """
    said = [row for row in rows if row["role"] == "user"]
    for place in range(len(said) - 1, -1, -1):
        if said[place].get("platform_message_id") == message_id:
            later = said[place + 1 :]
            follows = [each for each in later if each.get("platform_message_id") or not with_notes]
            return Found(cast("int", said[place]["id"]), is_followed=bool(follows))
    return None
