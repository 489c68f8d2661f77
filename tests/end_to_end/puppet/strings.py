"""A second plugin of the gateway under test: lets a test call the port of the first one.

Nothing in the product calls the port by name; so this one, inside the gateway's process, takes
calls from a socket beside the gateway's log, and notes the hooks the gateway fires.
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOOKS = (
    "pre_llm_call",
    "on_session_end",
    "agent_loop_stopped",
    "on_session_reset",
    "on_session_finalize",
)


class Strings:
    """What the puppet player holds."""

    def __init__(self) -> None:
        """Hold nothing before the gateway has seen its first message."""
        self._events: list[dict[str, Any]] = []
        self._gateway: Any = None
        self._lock = threading.Lock()
        self._server: asyncio.Task[None] | None = None

    def note(self, name: str) -> Callable[..., None]:
        """Return a hook that notes when it was fired, for which session."""

        def fired(**told: object) -> None:
            kept = {each: told[each] for each in ("session_id", "interrupted") if each in told}
            with self._lock:
                self._events.append({"name": name, "at": time.monotonic(), **kept})

        return fired

    def attach(self, gateway: object, **rest: object) -> None:
        """Learn the gateway from its first message, and open the socket."""
        del rest
        if self._server is None:
            self._gateway = gateway
            self._server = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        path = Path(os.environ["HERMES_HOME"]) / "puppet.sock"
        server = await asyncio.start_unix_server(self._answer, path)
        async with server:
            await server.serve_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = json.loads(await reader.readline())
        answer = await self._do(**call)
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
        writer.close()

    async def _do(self, do: str, **given: Any) -> object:
        adapter = next(
            each for name, each in self._gateway.adapters.items() if name.value == "chatto"
        )
        match do:
            case "stop":
                began = time.monotonic()
                stopped = await adapter._port.stop_run(  # noqa: SLF001 - it is its own
                    given["key"], given["message_id"], within_s=given["within_s"]
                )
                return {"what": stopped.value, "took_s": time.monotonic() - began}
            case "events":
                with self._lock:
                    return list(self._events)
            case _:
                return adapter._port.is_ready(given["key"])  # noqa: SLF001


def register(ctx: Any) -> None:
    """Hold the strings of the gateway that loads this."""
    strings = Strings()
    ctx.register_hook("pre_gateway_dispatch", strings.attach)
    for name in HOOKS:
        ctx.register_hook(name, strings.note(name))
