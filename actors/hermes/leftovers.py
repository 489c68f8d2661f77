"""What the gateway's files still hold of a run that an earlier process was in.

Three places are asked: the delivery ledger (answers that are owed), the session's marks (runs to
be resumed) and the transcript. At `connect` the gateway has read its own marks already, and has
neither sent what it owes nor resumed anything yet.
Source: Hermes 0.22, gateway/run_startup.py:_start_recover_previous_run and _start_finish_wiring,
gateway/session_lifecycle.py, gateway/delivery_ledger.py. 0.19 has no ledger and resumes nothing.
"""

import logging
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio.to_thread
from gateway.platforms.base import BasePlatformAdapter

from ..sessions.remains import Remains
from .transcript import Transcript, TranscriptBusyError

__all__ = ["Leftovers"]

logger = logging.getLogger(__name__)

WAIT_FOR_LOCK_S = 5.0  # the gateway's other openers write to the same file
ATTEMPTS = 3  # Source: Hermes 0.22, gateway/delivery_ledger.py:MAX_ATTEMPTS

OWED = """
    select obligation_id, content from delivery_obligations
    where session_key = ? and created_at >= ? and state in ('pending', 'attempting', 'failed')
      and (attempts < ? or state = 'attempting')
"""


class Leftovers:
    """Asks on behalf of one adapter object; everything is read in a worker thread."""

    def __init__(
        self, adapter: BasePlatformAdapter, *, lock_wait_s: float = WAIT_FOR_LOCK_S
    ) -> None:
        """Ask on behalf of an adapter; its session store is there from `connect` on.

        Args:
            adapter: of this process.
            lock_wait_s: how long somebody else's lock on the ledger is waited for.
        """
        self._adapter = adapter
        self._lock_wait_s = lock_wait_s

    async def of(self, session_key: str, message_id: str, since: datetime) -> Remains:
        """Return what is left of the run of a message.

        Args:
            session_key: of the conversation.
            message_id: of the message.
            since: nothing older is this run's.
        """
        try:
            return await anyio.to_thread.run_sync(self._look, session_key, message_id, since)
        except (TranscriptBusyError, sqlite3.OperationalError) as error:
            logger.warning("What is left of message %s was not read: %s", message_id, error)
            return Remains.UNKNOWN

    async def owed_answers(self, session_key: str) -> list[str]:
        """Return the answers of a key that may be handed over again; a locked ledger has none."""
        try:
            owed = await anyio.to_thread.run_sync(_owed, session_key, 0.0, self._lock_wait_s)
        except sqlite3.OperationalError as error:
            logger.warning("The answers owed to %s were not read: %s", session_key, error)
            return []
        return [content for _, content in owed]

    async def call_off_answers(self, session_key: str, since_s: float) -> None:
        """Have the gateway not hand over what a stopped run would have said.

        It writes an answer down before it has it posted, and keeps it open where the run's task
        is cancelled between the two: its next start would hand over the answer to old words.

        Args:
            session_key: of the run.
            since_s: when it began, seconds of the epoch; what is older is owed to others.
        """
        try:
            await anyio.to_thread.run_sync(_call_off, session_key, since_s, self._lock_wait_s)
        except sqlite3.OperationalError as error:
            logger.warning("An answer owed to %s was not called off: %s", session_key, error)

    async def call_off_resumption(self, session_key: str) -> None:
        """Have the gateway not resume a key at its start."""
        await anyio.to_thread.run_sync(self._store.clear_resume_pending, session_key)

    def _look(self, session_key: str, message_id: str, since: datetime) -> Remains:
        if _owed(session_key, since.timestamp(), self._lock_wait_s):
            return Remains.OWES
        is_held = self._is_held(session_key, message_id)
        if self._is_resumed(session_key):
            return Remains.RESUMES if is_held else Remains.WORDLESS
        return Remains.HOLDS if is_held else Remains.NOTHING

    def _is_held(self, session_key: str, message_id: str) -> bool:
        """Tell whether a transcript of the key has the message.

        A compression may have put another session in the place of the one that got it.
        """
        transcript = Transcript(self._store)
        entry = self._entry(session_key)
        sessions = {
            transcript.current_session(session_key),
            getattr(entry, "session_id", None),
            getattr(entry, "prev_session_id", None),
        }
        known = [session_id for session_id in sessions if session_id]
        return any(message_id in transcript.messages_of(session_id) for session_id in known)

    def _is_resumed(self, session_key: str) -> bool:
        entry = self._entry(session_key)
        if entry is None or not hasattr(entry, "active_turn_token") or entry.suspended:
            return False
        return bool(entry.resume_pending or entry.active_turn_token)

    def _entry(self, session_key: str) -> Any:  # noqa: ANN401 - Hermes ships no types
        look_up = getattr(self._store, "lookup_by_session_key", None)
        return look_up(session_key) if look_up is not None else None  # 0.19 has none

    @property
    def _store(self) -> Any:  # noqa: ANN401 - Hermes ships no types
        return self._adapter._session_store  # noqa: SLF001 - offered to adapters


def _call_off(session_key: str, since_s: float, lock_wait_s: float) -> None:
    """Close the rows of the answers that are owed; the ledger has one word for that.

    Raises:
        sqlite3.OperationalError: the file is locked.
    """
    owed = _owed(session_key, since_s, lock_wait_s)
    if owed:
        from gateway.delivery_ledger import mark_delivered  # noqa: PLC0415 - 0.19 has none

        for obligation_id, _ in owed:
            mark_delivered(obligation_id)


def _owed(session_key: str, since_s: float, lock_wait_s: float) -> list[tuple[str, str]]:
    """Return the answers of a key that wait in the ledger, and will be handed over again.

    Each comes with the ID of its row.

    Args:
        session_key: of the conversation.
        since_s: nothing older counts; seconds of the epoch.
        lock_wait_s: how long somebody else's lock is waited for.

    Raises:
        sqlite3.OperationalError: the file is locked.
    """
    path = _ledger_path()
    if path is None or not path.exists():
        return []
    address = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=lock_wait_s)) as db:
        made = "select 1 from sqlite_master where name = 'delivery_obligations'"
        if db.execute(made).fetchone() is None:
            return []
        found = db.execute(OWED, (session_key, since_s, ATTEMPTS))
        return [(str(obligation_id), str(content)) for obligation_id, content in found]


def _ledger_path() -> Path | None:
    """Return the file of the ledger; None: this gateway has none, or it is switched off."""
    try:
        from gateway.delivery_ledger import ledger_enabled  # noqa: PLC0415 - 0.19 has none
        from hermes_constants import get_process_hermes_home  # noqa: PLC0415
    except ImportError:
        return None
    return Path(get_process_hermes_home()) / "state.db" if ledger_enabled() else None
