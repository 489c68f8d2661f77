"""Where the agent's tools meet the sessions: other threads call, the profile's loop works."""

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from gateway.session_context import get_session_env

from ..sessions.model_texts import NOBODY_ASKS, NOT_CONNECTED
from ..sessions.ports import Desk
from ..sessions.tool_port import Caller, ToolRefusedError, Tools
from .settings import Settings, admission_policy

__all__ = ["PLATFORM_NAME", "ToolBench"]

PLATFORM_NAME = "chatto"
LONGEST_CALL_S = 330.0
"""A post may wait five minutes for a server that is down; a reading ends by itself long before."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Open:
    """The desk of a connected adapter, and the loop its sessions run on."""

    desk: Desk
    loop: asyncio.AbstractEventLoop


class ToolBench:
    """One per profile, made when the plugin is registered; a connected adapter opens it."""

    def __init__(self) -> None:
        """Start closed."""
        self._open: _Open | None = None
        self._has_lists = False
        self._begun_in: ContextVar[str | None] = ContextVar("chatto_room", default=None)
        self.may_post = False
        """Whether the tool that posts elsewhere is offered, by the settings of the last start."""
        self.may_read_across = False
        """Whether tools may read other conversations everywhere, by the same settings."""

    def open(self, desk: Desk, settings: Settings) -> None:
        """Have calls answered by a desk; call it on the loop the desk runs on."""
        self._open = _Open(desk, asyncio.get_running_loop())
        self.may_post = settings.post_tool
        self.may_read_across = settings.cross_session_tools
        self._has_lists = any(own.toolsets for _, own in admission_policy(settings).rooms)

    def close(self, desk: Desk) -> None:
        """Answer no more by this desk; another adapter's is left alone."""
        if self._open is not None and self._open.desk is desk:
            self._open = None

    def begin_in(self, room_id: str) -> None:
        """Take note that a run is being set up in a room, by whoever sets it up."""
        self._begun_in.set(room_id)

    def place(self) -> str | None:
        """Return the room in which the calling run takes place; None: it is none of ours.

        The gateway binds it to the run's thread, but for runs in the background (`/bg`):
        those carry only what was noted when they were set up.
        Source: Hermes 0.22, gateway/run_turn.py:_run_background_task_inner.
        """
        platform = get_session_env("HERMES_SESSION_PLATFORM", "")
        if platform == PLATFORM_NAME:
            return str(get_session_env("HERMES_SESSION_CHAT_ID", ""))
        return None if platform else self._begun_in.get()

    def is_heard(self) -> bool:
        """Tell whether what the calling run finds out is posted by us.

        So is what a scheduled job finds out, where it is delivered here: it runs in no room.
        Source: Hermes 0.22, cron/scheduler.py:_reload_dotenv_and_publish_delivery_target.
        """
        if self.place() is not None:
            return True
        return bool(get_session_env("HERMES_CRON_AUTO_DELIVER_PLATFORM", "") == PLATFORM_NAME)

    def toolsets_of(self, room_id: str) -> tuple[str, ...] | None:
        """Return the toolsets of a room; None: those of the platform. Call it anywhere.

        When nothing is connected any more and some rooms have lists, no room has any tool: a run
        that is being ended must not get more than its room has.
        """
        tools = self._open.desk.tools if self._open is not None else None
        if tools is None:
            return () if self._has_lists else None
        return tools.toolsets_of(room_id)

    def call(self, work: Callable[[Tools, Caller], Awaitable[T]]) -> T:
        """Do something on behalf of whoever the calling run answers; blocks this thread.

        Args:
            work: gets the tools and the run, and is awaited on the profile's loop.

        Raises:
            ToolRefusedError: it was not done; the text is for the model.
        """
        caller, opened = _calling_run(), self._open
        if opened is None:
            raise ToolRefusedError(NOT_CONNECTED)
        future = asyncio.run_coroutine_threadsafe(_at(opened.desk, caller, work), opened.loop)
        try:
            return future.result(LONGEST_CALL_S)
        except concurrent.futures.TimeoutError as error:
            future.cancel()
            raise ToolRefusedError(NOT_CONNECTED) from error


async def _at(desk: Desk, caller: Caller, work: Callable[[Tools, Caller], Awaitable[T]]) -> T:
    tools = desk.tools
    if tools is None:
        raise ToolRefusedError(NOT_CONNECTED)
    return await work(tools, caller)


def _calling_run() -> Caller:
    """Return the run that calls, by what the gateway bound to this thread.

    Source: Hermes 0.22, gateway/run.py:_set_session_env; the variables come along into the
    threads of tools. Nothing of it can be set by the model.
    """
    key = get_session_env("HERMES_SESSION_KEY", "")
    if get_session_env("HERMES_SESSION_PLATFORM", "") != PLATFORM_NAME or not key:
        raise ToolRefusedError(NOBODY_ASKS)
    return Caller(key, get_session_env("HERMES_SESSION_MESSAGE_ID", "") or None)
