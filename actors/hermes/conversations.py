"""The gateway's conversations: whether there is one for a key, and what is stored with it."""

import logging
from collections.abc import Collection
from typing import Any

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

    The store takes a lock, and writing rewrites its whole index.
    """

    def __init__(self, adapter: BasePlatformAdapter) -> None:
        """Ask on behalf of an adapter; its session store is there from `connect` on."""
        self._adapter = adapter

    def exists(self, session_key: str) -> bool:
        """Tell whether there is a conversation for a key; in memory, so it is cheap."""
        store = self._store
        return store is not None and store.peek_session_id(session_key) is not None

    async def token(self, session_key: str) -> str | None:
        """Return the token stored with a conversation; None: none, or no place for one (0.19)."""
        read = getattr(self._store, "get_session_metadata", None)
        if read is None:
            return None
        found: object = await anyio.to_thread.run_sync(read, session_key, TOKEN, None)
        return found if isinstance(found, str) else None

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
        store = self._store
        session_id = store.peek_session_id(session_key) if store is not None else None
        if session_id is None or not message_ids:
            return frozenset()
        try:
            held = await anyio.to_thread.run_sync(Transcript(store).messages_of, session_id)
        except TranscriptBusyError as error:
            logger.warning("The transcript of %s was not read: %s", session_key, error)
            return frozenset()
        return held & frozenset(message_ids)

    @property
    def _store(self) -> Any:  # noqa: ANN401 - Hermes ships no types
        return self._adapter._session_store  # noqa: SLF001 - offered to adapters
