"""A language model that follows a script, behind the chat-completions interface of OpenAI.

Serves from threads of this process, on a free loopback port, streamed and plain. What it was
asked can be read afterwards. A test steers it from within the message it posts: the last marker
of each kind in what was asked counts. What the message is told with, such as earlier messages and
their markers, does not.

    {{wait 1.5}}        takes so many seconds, spread over a streamed answer
    {{say some words}}  answers with exactly these
    {{length 12000}}    answers with so many characters, no two lines alike
    {{call name {...}}} calls this tool first, and tells its result afterwards
    {{fail 500}}        refuses with this HTTP status
"""

import json
import re
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, cast

__all__ = [
    "NEW_MESSAGE",
    "Reply",
    "Request",
    "Script",
    "ScriptedModel",
    "ToolCall",
    "echo",
    "reply_to",
]

MODEL: Final = "scripted"
CONTEXT_TOKENS: Final = 200_000
PIECES: Final = 20  # of a streamed answer
TITLE: Final = "A conversation"
LOOK_FOR_END_S: Final = 0.05
NEW_MESSAGE: Final = "[New message]\n"

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What the model was asked."""

    number: int
    """From 1, in order of arrival."""
    messages: Sequence[Json]
    """The whole conversation as the agent sent it."""
    tools: tuple[str, ...]
    is_streamed: bool
    beside: tuple[int, ...] = ()
    """Requests that were still being answered when it came; one whose asker hung up was not."""

    @property
    def prompt(self) -> str:
        """The newest user message; empty when there is none."""
        spoken = [each for each in self.messages if each.get("role") == "user"]
        return _text_of(spoken[-1].get("content")) if spoken else ""

    @property
    def question(self) -> str:
        """The prompt without what was told before the message.

        Source: Hermes 0.22, gateway/run_inbound.py, which puts this line between the two.
        """
        return self.prompt.rpartition(NEW_MESSAGE)[2]

    @property
    def tool_result(self) -> str | None:
        """What the tool said that was called just now; None: none was."""
        newest = self.messages[-1] if self.messages else {}
        return _text_of(newest.get("content")) if newest.get("role") == "tool" else None


Script: TypeAlias = Callable[[Request], str]
"""Says the answer to a request whose message has no marker for it."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model wants called."""

    name: str
    arguments: str
    """A JSON object."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model does with a request."""

    text: str
    wait_s: float = 0.0
    call: ToolCall | None = None
    """Instead of the text."""
    status: int = HTTPStatus.OK


def echo(request: Request) -> str:
    """Answer with the last line of what was said."""
    lines = request.prompt.strip().splitlines()
    return f"echo: {lines[-1]}" if lines else "echo"


def reply_to(request: Request, script: Script) -> Reply:
    """Decide about a request by its markers, else by the script."""
    if not request.is_streamed and not request.tools:
        return Reply(TITLE)  # the agent always streams; this is the gateway naming a session
    if request.tool_result is not None:
        return Reply(f"The tool says: {request.tool_result[:200]}")
    asked = request.question
    said = _newest(r"\{\{say (.*?)\}\}", asked)
    length = _newest(r"\{\{length (\d+)\}\}", asked)
    text = said if said is not None else _filling(int(length)) if length else script(request)
    reply = Reply(text, wait_s=float(_newest(r"\{\{wait ([\d.]+)\}\}", asked) or 0))
    status = _newest(r"\{\{fail (\d{3})\}\}", asked)
    if status:
        return replace(reply, status=int(status))
    called = _newest(r"\{\{call (.+?)\}\}(?!\})", asked)
    if called and request.tools:
        name, _, arguments = called.partition(" ")
        return replace(reply, call=ToolCall(name, arguments or "{}"))
    return reply


def _newest(pattern: str, text: str) -> str | None:
    found = re.findall(pattern, text, re.DOTALL)
    return found[-1] if found else None


def _filling(length: int) -> str:
    """Return a text of so many characters; the gateway suppresses what repeats itself."""
    lines = (f"line {number}: {number * 7919 % 100_003:x}\n" for number in range(length))
    text = ""
    while len(text) < length:
        text += next(lines)
    return text[:length]


def _text_of(content: object) -> str:
    """Return the words of a message, whose content is a text or a list of parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return "" if content is None else str(content)


class ScriptedModel:
    """The model's server, as a context manager."""

    def __init__(self, script: Script = echo) -> None:
        """Listen on a free port; nothing is answered before it is entered.

        Args:
            script: called in a thread of its own for every request.
        """
        self._script = script
        self._received: list[Request] = []
        self._under_way: list[int] = []
        self._taken_back: set[int] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(LOOK_FOR_END_S,), daemon=True
        )

    @property
    def base_url(self) -> str:
        """What a client is configured with; ends in `/v1`."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def requests(self) -> Sequence[Request]:
        """Everything it was asked so far, in order."""
        with self._lock:
            return tuple(self._received)

    def __enter__(self) -> Self:
        """Start answering."""
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop; an answer that is under way is cut short."""
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, body: Json) -> tuple[Request, Reply]:
        """Take a request down and decide about it."""
        named = [str(tool.get("function", {}).get("name")) for tool in body.get("tools") or []]
        with self._lock:
            request = Request(
                number=len(self._received) + 1,
                messages=tuple(body.get("messages") or ()),
                tools=tuple(named),
                is_streamed=body.get("stream") is True,
                beside=tuple(self._under_way),
            )
            self._received.append(request)
            self._under_way.append(request.number)
        return request, reply_to(request, self._script)

    @property
    def taken_back(self) -> frozenset[int]:
        """Numbers of the requests whose asker hung up before they were answered."""
        with self._lock:
            return frozenset(self._taken_back)

    def take_back(self, request: Request) -> None:
        """Take down that the asker of a request hung up."""
        with self._lock:
            self._taken_back.add(request.number)

    def settle(self, request: Request) -> None:
        """Take down that a request is answered, or that nobody waits for its answer.

        Before the last byte, with which the asker goes on; said twice, it is once.
        """
        with self._lock:
            self._under_way = [each for each in self._under_way if each != request.number]

    def pause(self, seconds: float, asker: socket.socket) -> None:
        """Wait so long, or until the server is stopped.

        Raises:
            ConnectionResetError: the asker hung up.
        """
        until = time.monotonic() + seconds
        while (left_s := until - time.monotonic()) > 0 and not self._closing.is_set():
            heard, _, _ = select.select([asker], [], [], min(left_s, LOOK_FOR_END_S))
            if not heard:
                continue
            if not asker.recv(1, socket.MSG_PEEK):
                message = "the asker wants no more"
                raise ConnectionResetError(message)
            self._closing.wait(min(left_s, LOOK_FOR_END_S))  # the next request, ahead of time


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of an asker who hung up between two requests."""
        if not isinstance(sys.exception(), ConnectionResetError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    """HTTP in, HTTP out."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # pieces would wait 40 ms for an acknowledgement each

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited name
        """Say nothing: whoever wants to know reads `requests`."""

    def do_GET(self) -> None:  # the base class looks for this name
        """Describe the one model there is."""
        entry = {"id": MODEL, "object": "model", "context_length": CONTEXT_TOKENS}
        if self.path.rstrip("/").endswith("/models"):
            self._send_json(HTTPStatus.OK, {"object": "list", "data": [entry]})
        elif self.path.endswith(f"/models/{MODEL}"):
            self._send_json(HTTPStatus.OK, entry)
        else:
            self._send_json(HTTPStatus.NOT_FOUND, _error("no such path"))

    def do_POST(self) -> None:  # the base class looks for this name
        """Answer a request for a completion."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if not self.path.endswith("/chat/completions"):
            self._send_json(HTTPStatus.NOT_FOUND, _error("no such path"))
            return
        model = cast("_Server", self.server).model
        request, reply = model.answer(json.loads(raw))
        try:
            self._reply(model, request, reply)
        except (BrokenPipeError, ConnectionResetError):
            model.take_back(request)
            self.close_connection = True  # the agent was stopped and wants no more
        finally:
            model.settle(request)

    def _reply(self, model: ScriptedModel, request: Request, reply: Reply) -> None:
        if reply.status != HTTPStatus.OK:
            self._send_json(reply.status, _error("the script says so"))
        elif request.is_streamed:
            self._stream(model, request, reply)
        else:
            model.pause(reply.wait_s, self.connection)
            model.settle(request)
            self._send_json(HTTPStatus.OK, _completion(request, reply))

    def _stream(self, model: ScriptedModel, request: Request, reply: Reply) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        deltas = list(_deltas(reply))
        for number, delta in enumerate(deltas, start=1):
            model.pause(reply.wait_s / len(deltas), self.connection)
            if number == len(deltas):
                model.settle(request)
            self._send_piece(json.dumps(_chunk(request, delta)))
        self._send_piece("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _send_piece(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))

    def _send_json(self, status: int, body: Json) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _deltas(reply: Reply) -> Iterator[Json]:
    """Yield what a stream says one after the other; the last is why it ends."""
    yield {"role": "assistant"}
    if reply.call is not None:
        yield {"tool_calls": [{"index": 0, **_tool_call(reply.call)}]}
        yield {"finish_reason": "tool_calls"}
        return
    words = re.findall(r"\S+\s*|\s+", reply.text)
    step = max(1, len(words) // PIECES)
    for start in range(0, len(words), step):
        yield {"content": "".join(words[start : start + step])}
    yield {"finish_reason": "stop"}


def _chunk(request: Request, delta: Json) -> Json:
    reason = delta.get("finish_reason")
    said = {} if reason else dict(delta)
    choice = {"index": 0, "delta": said, "finish_reason": reason}
    ending = {"usage": _usage()} if reason else {}
    return _envelope(request, "chat.completion.chunk", choice) | ending


def _completion(request: Request, reply: Reply) -> Json:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.call is not None:
        message |= {"content": None, "tool_calls": [_tool_call(reply.call)]}
    reason = "tool_calls" if reply.call else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return _envelope(request, "chat.completion", choice) | {"usage": _usage()}


def _envelope(request: Request, kind: str, choice: Json) -> dict[str, Any]:
    return {
        "id": f"completion-{request.number}",
        "object": kind,
        "created": 0,
        "model": MODEL,
        "choices": [choice],
    }


def _tool_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": f"call-{call.name}", "type": "function", "function": function}


def _usage() -> Json:
    return {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def _error(text: str) -> Json:
    return {"error": {"message": text, "type": "scripted"}}
