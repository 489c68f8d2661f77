"""The gateway's conversations: whether there is one for a key, and what is stored with it."""

import logging
from collections.abc import Collection, Sequence
from typing import Any, cast

import anyio.to_thread
from gateway.platforms.base import BasePlatformAdapter

from .transcript import Transcript, TranscriptBusyError

__all__ = ["Conversations"]

logger = logging.getLogger(__name__)

TOKEN = "chatto.conversation"  # noqa: S105 - a name in the metadata, no secret
"""Our own name for the conversation, kept in its metadata. Survives a compression, which may
change the session's ID, and goes with everything that replaces the conversation.
Source: Hermes 0.22, gateway/session.py: SessionEntry.metadata."""


class Conversations:
    """Asks the gateway's session store; every question is answered in a worker thread.

    The store takes a lock, and writing rewrites its whole index. A conversation that the next
    message ends, before it is run, is none: the store keeps it, and all we stored, until then.
    Source: Hermes 0.22, gateway/session.py: get_or_create_session.
    """

    def __init__(self, adapter: BasePlatformAdapter) -> None:
        """Ask on behalf of an adapter; its session store is there from `connect` on."""
        self._adapter = adapter

    def exists(self, session_key: str) -> bool:
        """Tell whether there is a conversation for a key; in memory, so it is cheap."""
        return self._session_id(session_key) is not None

    async def token(self, session_key: str) -> str | None:
        """Return the token stored with a conversation; None: none, or no place for one (0.19)."""
        return await anyio.to_thread.run_sync(self._token, session_key)

    async def keep_token(self, session_key: str, token: str) -> bool:
        """Store a token with a conversation; False where there is none, or no place for it."""
        write = getattr(self._store, "set_session_metadata", None)
        if write is None:
            return False
        return bool(await anyio.to_thread.run_sync(write, session_key, TOKEN, token))

    async def holds(self, session_key: str, message_ids: Collection[str]) -> frozenset[str]:
        """Return which messages the transcript of a conversation has.

        A transcript that cannot be read holds none, as far as is known: a line that comes twice
        is better than one that never comes.
        """
        held = await self._messages(session_key) if message_ids else ()
        return frozenset(held) & frozenset(message_ids)

    async def oldest(self, session_key: str) -> str | None:
        """Return the first message in the transcript of a conversation; None: none is known."""
        return next(iter(await self._messages(session_key)), None)

    async def _messages(self, session_key: str) -> Sequence[str]:
        session_id = self._session_id(session_key)
        if session_id is None:
            return ()
        try:
            return await anyio.to_thread.run_sync(Transcript(self._store).messages_of, session_id)
        except TranscriptBusyError as error:
            logger.warning("The transcript of %s was not read: %s", session_key, error)
            return ()

    def _token(self, session_key: str) -> str | None:
        read = getattr(self._store, "get_session_metadata", None)
        session_id = self._session_id(session_key)
        if read is None or session_id is None or Transcript(self._store).is_over(session_id):
            return None
        found: object = read(session_key, TOKEN, None)
        return found if isinstance(found, str) else None

    def _session_id(self, session_key: str) -> str | None:
        """Return the session that the next message of a key goes to; None: a new one."""
        store = self._store
        if store is None:
            return None
        look_up = getattr(store, "lookup_by_session_key", None)
        if look_up is None:
            return cast("str | None", store.peek_session_id(session_key))  # 0.19
        entry = look_up(session_key)
        return None if entry is None or entry.suspended else str(entry.session_id)

    @property
    def _store(self) -> Any:  # noqa: ANN401 - Hermes ships no types
        return self._adapter._session_store  # noqa: SLF001 - offered to adapters
