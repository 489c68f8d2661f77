# ruff: noqa: SLF001 - this is for adapters to call, and named as if it were not
"""Errors that end the platform, as the gateway is told of them."""

import asyncio

from gateway.platforms.base import BasePlatformAdapter

__all__ = ["FatalErrors"]


class FatalErrors:
    """Says once what is wrong: as the result of `connect`, and from then on by a call."""

    def __init__(self, adapter: BasePlatformAdapter) -> None:
        """Let `connect` return what is said, until `open`."""
        self._adapter = adapter
        self._is_open = False
        self._background: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Take note that `connect` is over: who waits for its result has it."""
        self._is_open = True

    def tell(self, code: str, text: str, *, may_pass: bool) -> None:
        """Let the gateway act on an error, without waiting for it to stop the sessions.

        Called while it waits for `connect`, it would take the start for a run that ended and exit
        with 0, upon which its service is started over and over.
        Source: Hermes 0.22, gateway/run_adapters.py:_handle_adapter_fatal_error_impl.
        """
        self._adapter._set_fatal_error(code, text, retryable=may_pass)
        if not self._is_open:
            return
        task = asyncio.get_running_loop().create_task(self._adapter._notify_fatal_error())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
