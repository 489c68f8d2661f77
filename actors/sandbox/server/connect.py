"""Connect unary calls over HTTP, driven by the protobuf descriptors.

`POST /api/connect/{package.Service}/{Method}` with a binary or JSON message in, the same kind
out; refusals are JSON with code and text for both. What is no service or method of the server
is a plain 404.
Source: Connect protocol, "Unary-Request"; Chatto 0.4.20, cli/internal/connectapi.
"""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from .accounts import Account
from .credentials import Credentials
from .faults import Call, Faults
from .fieldrules import FieldRules
from .pb import SERVICES, Proto, message_class, parse_binary, parse_json, write_json
from .refusals import HTTP_STATUS, Code, Reason, RefusedError, invalid, refused
from .services import PUBLIC

PREFIX = "/api/connect"
MAX_REQUEST = 1 << 20  # bytes, unpacked
MAX_CHUNK_REQUEST = (512 + 64) << 10  # bytes, for UploadChunk
BINARY, JSON = "application/proto", "application/json"

Handler = Callable[[Proto, Account | None], Proto]
"""Answers one call: request and caller in, answer out; raises RefusedError."""


@dataclass(frozen=True, slots=True)
class _Method:
    name: str
    """`Service/Method` without the package."""
    request_class: Proto
    handler: Handler | None
    """None: the method exists, but nothing here answers it."""
    is_public: bool
    max_request: int


class ConnectApp:
    """The ASGI application below `/api/connect`."""

    def __init__(
        self,
        services: Mapping[str, tuple[object, ...]],
        credentials: Credentials,
        faults: Faults,
        calls: Counter[str],
    ) -> None:
        """Answer calls.

        Args:
            services: the objects that answer them, by full name of the service.
            credentials: who may call.
            faults: what stands between a call and its answer.
            calls: counts every call that reaches a method, by `Service/Method`.
        """
        self._credentials = credentials
        self._faults = faults
        self._calls = calls
        self._rules = FieldRules()
        self._methods: dict[str, _Method] = {}
        for full_name, descriptor in SERVICES.items():
            for method in descriptor.methods:
                path = f"{PREFIX}/{full_name}/{method.name}"
                self._methods[path] = _method(full_name, method, services.get(full_name, ()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        method = self._methods.get(scope["path"])
        if method is None:
            await PlainTextResponse("404 page not found\n", 404)(scope, receive, send)
            return
        request = Request(scope, receive)
        content_type = request.headers.get("content-type", "").partition(";")[0].strip()
        trouble = _http_trouble(request.method, content_type)
        if trouble is not None:
            await trouble(scope, receive, send)
            return
        self._calls[method.name] += 1
        is_json = content_type == JSON
        try:
            caller = self._caller(request, method)
            message = _parse(await request.body(), request, method, is_json=is_json)
            self._rules.check(message)
        except RefusedError as error:
            await _refusal(error)(scope, receive, send)
            return
        call = Call(method.name, message, caller.id if caller else "")
        try:
            answer = await self._faults.applying(call, _applied(method, message, caller))
            response = _answer(answer, is_json=is_json)
        except RefusedError as error:
            response = _refusal(error)
        await self._send(call, response, (scope, receive, send))

    async def _send(
        self, call: Call, response: Response, connection: tuple[Scope, Receive, Send]
    ) -> None:
        """Send an answer, or break the connection if it is to be lost."""
        is_sent = False

        async def deliver() -> None:
            nonlocal is_sent
            is_sent = True
            await response(*connection)

        await self._faults.answering(call, deliver)
        if not is_sent:  # an answer that begins and never comes makes the server hang up
            headers = [(b"content-length", b"1")]
            start = {"type": "http.response.start", "status": 200, "headers": headers}
            await connection[2](start)

    def _caller(self, request: Request, method: _Method) -> Account | None:
        authorization = request.headers.get("authorization", "")
        caller = self._credentials.caller(authorization, request.cookies)
        if caller is None and not method.is_public:
            raise refused(Reason.UNAUTHENTICATED)
        return caller


def _method(full_name: str, descriptor: Proto, answering: tuple[object, ...]) -> _Method:
    handler_name = snake_case(descriptor.name)
    found = (getattr(one, handler_name, None) for one in answering)
    is_chunk = descriptor.name == "UploadChunk"
    return _Method(
        name=f"{full_name.rpartition('.')[2]}/{descriptor.name}",
        request_class=message_class(descriptor.input_type),
        handler=next((one for one in found if one is not None), None),
        is_public=full_name in PUBLIC,
        max_request=MAX_CHUNK_REQUEST if is_chunk else MAX_REQUEST,
    )


def snake_case(name: str) -> str:
    """Return a method's name in Python's spelling: `StartDM` is `start_dm`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _applied(
    method: _Method, message: Proto, caller: Account | None
) -> Callable[[], Awaitable[Proto]]:
    async def apply() -> Proto:
        if method.handler is None:
            raise RefusedError(Code.UNIMPLEMENTED, f"{method.name} is not implemented")
        return method.handler(message, caller)

    return apply


def _parse(body: bytes, request: Request, method: _Method, *, is_json: bool) -> Proto:
    """Unpack and read a request.

    Raises:
        RefusedError: it is too large (counted unpacked) or cannot be read.
    """
    if request.headers.get("content-encoding") == "gzip":
        try:
            body = gzip.decompress(body)
        except (OSError, EOFError, zlib.error) as error:
            text = f"decompress: {error}"
            raise invalid(text) from error
    if len(body) > method.max_request:
        raise RefusedError(
            Code.RESOURCE_EXHAUSTED,
            f"message size {len(body)} is larger than configured max {method.max_request}",
        )
    try:
        if is_json:
            return parse_json(body.decode() or "{}", method.request_class())
        return parse_binary(body, method.request_class)
    except ValueError as error:
        text = f"unmarshal message: {error}"
        raise invalid(text) from error


def _http_trouble(http_method: str, content_type: str) -> Response | None:
    """Return what answers a request that is no unary call at all; None for one that is."""
    if http_method != "POST":
        return Response(status_code=405)
    if content_type not in {BINARY, JSON}:
        return Response(status_code=415)
    return None


def _answer(message: Proto, *, is_json: bool) -> Response:
    if is_json:
        return Response(write_json(message), media_type=JSON)
    return Response(message.SerializeToString(), media_type=BINARY)


def _refusal(error: RefusedError) -> Response:
    content = {"code": error.code, "message": error.message}
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return Response(body, HTTP_STATUS[error.code], media_type=JSON)
