"""Let the account follow the threads it has sessions in: what is said there then finds it.

The server lets it follow most of them by itself, but not surely all.
Source: Chatto 0.4.20, cli/internal/core/messages.go: best effort, after the post.
"""

import logging
from functools import partial

import anyio
from anyio.abc import TaskGroup

from ...store import threads
from ...store.threads import ThreadRow
from ..runtime.store_errors import StoreBusyError, StoreClosedError, StoreUnavailableError
from .alongside import Alongside
from .errors import ChatError, RequestRefusedError
from .journal import Draft, Journal
from .ports import ChatServer

__all__ = ["Following"]

log = logging.getLogger(__name__)


class Following:
    """Follows threads beside everything else, one call at a time."""

    def __init__(
        self, server: ChatServer, journal: Journal, alongside: Alongside, tasks: TaskGroup
    ) -> None:
        """Follow for one profile; `tasks` run the calls, `alongside` writes what they did."""
        self._alongside = alongside
        self._server = server
        self._journal = journal
        self._tasks = tasks
        self._one_call = anyio.Lock()

    def plan(self, draft: Draft, thread: ThreadRow) -> None:
        """Plan that a thread is followed, from the commit on and until it is."""
        if thread.thread_root_id is None:
            return  # a direct conversation: everything said there is in the inbox anyway
        scope, key, at = thread.scope, thread.session_key, self._journal.now()
        draft.also(lambda db: threads.follow_later(db, scope, key, at))
        draft.then(lambda: self._tasks.start_soon(self._follow, thread))

    def take_up(self) -> None:
        """Follow what could not be followed before: by this process or an earlier one."""
        self._tasks.start_soon(self._take_up)

    async def _take_up(self) -> None:
        scope = self._journal.scope
        try:
            left = await self._journal.read(lambda db: threads.to_follow(db, scope))
        except (StoreBusyError, StoreUnavailableError, StoreClosedError) as error:
            log.warning("threads that are to be followed could not be read: %s", error)
            return
        for thread in left:
            await self._follow(thread)

    async def _follow(self, thread: ThreadRow) -> None:
        root_id = thread.thread_root_id or ""
        try:
            async with self._one_call:
                await self._server.follow_thread(thread.room_id, root_id)
        except RequestRefusedError as error:
            log.info("%s is not followed: %s", thread.session_key, error)
            if error.code != "not_found":
                return
        except ChatError as error:
            log.info("%s is followed with the next connection: %s", thread.session_key, error)
            return
        # Should this be lost, the thread is followed once more with the next connection.
        write = partial(threads.followed, scope=thread.scope, session_key=thread.session_key)
        self._alongside.put(("followed", thread.session_key), write)
