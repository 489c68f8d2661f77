"""A second plugin inside the gateway under test, and the strings it hangs on.

Nothing in the product calls the port's `stop_run` by name; so this plugin takes calls from a
socket in the gateway's home, notes the agent's hooks, and brings a tool that looks for no
interrupt. The gateway finds it as it finds any installed plugin: by its entry point.
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

CONFIG: Mapping[str, object] = {
    "plugins": {"enabled": ["chatto", "puppet"], "load_timeout_seconds": 60}
}
SOCKET = "puppet.sock"
STUBBORN = {
    "name": "stubborn",
    "description": "takes its time",
    "parameters": {
        "type": "object",
        "properties": {"seconds": {"type": "number"}, "word": {"type": "string"}},
    },
}


def install(folder: Path) -> str:
    """Write down what makes this file an installed plugin; return the `PYTHONPATH` for it."""
    about = folder / "puppet-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: puppet\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[hermes_agent.plugins]\npuppet = puppet\n")
    there = [folder, Path(__file__).parent, os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(str(each) for each in there if each)


@dataclass(frozen=True)
class Strings:
    """The player's end."""

    home: Path
    """The gateway's."""

    async def stop_run(self, key: str, message_id: str, within_s: float) -> tuple[str, float]:
        """Call the port; return what it says, and the seconds it took."""
        told = await self._call(do="stop", key=key, message_id=message_id, within_s=within_s)
        return told["what"], told["took_s"]

    async def steps(self) -> Sequence[tuple[str, str]]:
        """Return what agents did so far: `began` or `ended` and the session.

        Or `tool` and the word it was called with; without one, its name.
        """
        return [(name, session) for name, session in await self._call(do="steps")]

    async def busy_mode(self) -> str:
        """Return what the gateway does with a message that comes while a run is under way."""
        return str(await self._call(do="mode"))

    async def prune(self, key: str) -> None:
        """Let a conversation be as old as none that the gateway keeps, and have it keep house."""
        await self._call(do="prune", key=key)

    async def _call(self, **what: object) -> Any:  # noqa: ANN401 - JSON
        path = self.home / SOCKET
        with anyio.fail_after(60):
            async with await self._connected(path) as stream:
                await stream.send(json.dumps(what).encode() + b"\n")
                answer = b""
                while not answer.endswith(b"\n"):
                    answer += await stream.receive()
        return json.loads(answer)

    async def _connected(self, path: Path) -> anyio.abc.SocketStream:
        """Connect as soon as somebody listens: with the first message, and after the file."""
        while True:
            try:
                return await anyio.connect_unix(path)
            except OSError:
                await anyio.sleep(0.05)


class Puppet:
    """The gateway's end."""

    def __init__(self) -> None:
        """Know no gateway before it has seen its first message."""
        self._steps: list[tuple[str, object]] = []
        self._gateway: Any = None
        self._lock = threading.Lock()
        self._server: asyncio.Task[None] | None = None

    def agent_began(self, session_id: str, **rest: object) -> None:
        """Note it; called in the agent's thread."""
        del rest
        with self._lock:
            self._steps.append(("began", session_id))

    def agent_ended(self, session_id: str, **rest: object) -> None:
        """Note it; called in the agent's thread."""
        del rest
        with self._lock:
            self._steps.append(("ended", session_id))

    def stubborn(self, arguments: Mapping[str, Any], **rest: object) -> str:
        """Take so many seconds, whatever happens meanwhile; the tool of that name.

        A word among the arguments comes back in what it tells.
        """
        del rest
        with self._lock:
            self._steps.append(("tool", arguments.get("word", "stubborn")))
        time.sleep(arguments["seconds"])
        return json.dumps({"waited": arguments["seconds"], "word": arguments.get("word", "")})

    def attach(self, gateway: object, **rest: object) -> None:
        """Learn the gateway from its first message, and open the socket."""
        del rest
        if self._server is None:
            self._gateway = gateway
            self._server = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        path = Path(os.environ["HERMES_HOME"]) / SOCKET
        async with await asyncio.start_unix_server(self._answer, path) as server:
            await server.serve_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = await self._do(json.loads(await reader.readline()))
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
        writer.close()

    async def _do(self, call: Mapping[str, Any]) -> object:
        if call["do"] == "steps":
            with self._lock:
                return list(self._steps)
        if call["do"] == "mode":
            return self._gateway._busy_input_mode  # noqa: SLF001
        if call["do"] == "prune":
            entry = self._gateway.session_store.lookup_by_session_key(call["key"])
            entry.updated_at -= timedelta(days=self._gateway.config.session_store_max_age_days + 1)
            self._gateway._last_session_store_prune_ts = 0.0  # noqa: SLF001
            return await self._gateway._session_housekeeping()  # noqa: SLF001
        adapters = self._gateway.adapters.items()
        port = next(each for name, each in adapters if name.value == "chatto")._port  # noqa: SLF001
        began = time.monotonic()
        stop = await port.stop_run(call["key"], call["message_id"], within_s=call["within_s"])
        return {"what": stop.value, "took_s": time.monotonic() - began}


def register(ctx: Any) -> None:  # noqa: ANN401 - the gateway ships no types
    """Hang the puppet into the gateway that loads this."""
    puppet = Puppet()
    ctx.register_hook("pre_gateway_dispatch", puppet.attach)
    ctx.register_hook("pre_llm_call", puppet.agent_began)
    ctx.register_hook("on_session_end", puppet.agent_ended)
    ctx.register_tool(name="stubborn", toolset="chatto", handler=puppet.stubborn, schema=STUBBORN)
    stray = {**STUBBORN, "name": "stray"}
    ctx.register_tool(name="stray", toolset="puppet", handler=puppet.stubborn, schema=stray)
