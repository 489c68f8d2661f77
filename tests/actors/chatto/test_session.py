"""Calls over the wire: deadlines, cancellation, tokens, and answers that are not Chatto's."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import anyio
import pytest

from hermes_chatto.actors.chatto.credential import Credential, Password, Token
from hermes_chatto.actors.chatto.limits import Limits
from hermes_chatto.actors.chatto.resources import Proto
from hermes_chatto.actors.chatto.session import Session
from hermes_chatto.actors.sandbox.odd_servers import (
    Asked,
    Hangup,
    OddAnswer,
    OddServer,
    Page,
    Silence,
)
from hermes_chatto.actors.sessions.errors import (
    ChatError,
    CredentialRefusedError,
    NotChattoError,
    OutcomeUnknownError,
    RequestRefusedError,
    ServerBusyError,
    ServerUnreachableError,
    StreamLostError,
)

TOKEN = Token("cht_AT1")
PASSWORD = Password("hermes", "secret")
EMPTY_ANSWER = Page(body=b"", content_type="application/proto")


def connect_error(code: str, message: str, status: int = 400) -> Page:
    """Return a refusal in the form of the Connect protocol."""
    return Page.of_json(status, {"code": code, "message": message})


UNAUTHENTICATED = connect_error("unauthenticated", "authentication required", 401)


async def read(url: str, credential: Credential = TOKEN, limits: Limits | None = None) -> Proto:
    """Read something, with a session of its own."""
    return await read_by(Session(url, credential, limits or Limits()))


async def send(url: str, credential: Credential = TOKEN, limits: Limits | None = None) -> Proto:
    """Post something, with a session of its own."""
    return await send_by(Session(url, credential, limits or Limits()))


async def read_by(session: Session) -> Proto:
    """Read something."""
    wire = await session.wire()
    return await session.read(wire.services.viewer.get_viewer, wire.pb.viewer.GetViewerRequest())


async def send_by(session: Session) -> Proto:
    """Post something."""
    wire = await session.wire()
    request = wire.pb.messages.CreateMessageRequest(room_id="R1", body="hello")
    return await session.send(wire.services.messages.create_message, request)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (connect_error("not_found", "not found", 404), RequestRefusedError),
        (connect_error("permission_denied", "permission denied", 403), RequestRefusedError),
        (connect_error("resource_exhausted", "slow mode is active", 429), ServerBusyError),
    ],
)
async def test_plain_answer_is_the_same_for_read_and_post(
    answer: Page, error: type[ChatError]
) -> None:
    """Nothing was done."""
    async with OddServer(answer) as url:
        session = Session(url, TOKEN, Limits())
        with pytest.raises(error):
            await read_by(session)
        with pytest.raises(error):
            await send_by(session)


UNCLEAR: list[OddAnswer] = [
    *(Page(status) for status in (200, 204, 400, 403, 404, 413, 429, 500, 502, 503, 504)),
    Page(401),
    Page.of_json(403, {"error": "forbidden"}),
    Page.of_json(403, ["forbidden"]),
    Page.of_json(200, {}),
    Page(200, b"\xff\xff\xff", "application/proto"),
    connect_error("internal", "internal server error", 500),
    connect_error("unavailable", "authentication service temporarily unavailable", 503),
    connect_error("canceled", "context canceled", 499),
    connect_error("made_up", "what is that", 400),
    Hangup(),
    Hangup(b"SSH-2.0-odd\r\n"),
]


@pytest.mark.parametrize("answer", UNCLEAR, ids=range(len(UNCLEAR)))
async def test_anything_else_may_be_read_again_and_must_be_read_back(answer: OddAnswer) -> None:
    """A page in the way, above all a 403, is no refusal by the room."""
    async with OddServer(answer) as url:
        session = Session(url, TOKEN, Limits())
        with pytest.raises(ServerUnreachableError, match=r"^GetViewer: "):
            await read_by(session)
        with pytest.raises(OutcomeUnknownError, match=r"^CreateMessage: "):
            await send_by(session)


async def test_refused_connection_counts_as_unclear_for_a_post() -> None:
    """That nothing left us is known from the wording of a library only."""
    with pytest.raises(OutcomeUnknownError, match="CreateMessage"):
        await send("http://127.0.0.1:1")


async def test_deadlines_are_their_own() -> None:
    """A post may take longer; a call that was given up is ended."""
    limits = Limits(read_timeout_s=0.05, send_timeout_s=0.06)
    async with OddServer(Silence()) as url:
        with pytest.raises(ServerUnreachableError, match=r"GetViewer: .*within 0\.05 s"):
            await read(url, limits=limits)
        with pytest.raises(OutcomeUnknownError, match=r"CreateMessage: .*within 0\.06 s"):
            await send(url, limits=limits)

    assert calls_under_way() == set()


def calls_under_way() -> set[str]:
    """Return the names of the tasks that are calls."""
    return {name for task in asyncio.all_tasks() if (name := task.get_name()).startswith("chatto")}


@pytest.mark.parametrize("act", [read, send])
async def test_cancellation_by_the_caller_stays_one(
    act: Callable[[str], Awaitable[Proto]],
) -> None:
    """The Connect client would make an error of it, and a shutdown would be taken for one."""
    server = OddServer(Silence())
    async with server as url:
        task = asyncio.ensure_future(act(url))
        await server.somebody_asked.wait()
        task.cancel()
        await asyncio.wait({task})

    assert task.cancelled()
    assert calls_under_way() == set()


async def test_cancelled_scope_catches_its_cancellation() -> None:
    """Likewise for anyio: who set the limit learns that it was reached."""
    server = OddServer(Silence())
    async with server as url:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read, url)
                await server.somebody_asked.wait()
                scope.cancel()

    assert scope.cancelled_caught
    assert calls_under_way() == set()


class Renewing:
    """A server that knows only the newest of its tokens, and that one after some logins."""

    def __init__(self, good: str) -> None:
        self.good = good
        self.logins = 0

    def __call__(self, asked: Asked) -> OddAnswer:
        """Answer a login or a call."""
        if asked.path == "/auth/login":
            self.logins += 1
            return Page.of_json(200, {"token": f"cht_AT{self.logins}"})
        is_good = asked.headers["authorization"] == f"Bearer {self.good}"
        return EMPTY_ANSWER if is_good else UNAUTHENTICATED


async def test_password_logs_in_once_for_all_calls() -> None:
    """And no cookie goes along."""
    knowing = Renewing("cht_AT1")
    server = OddServer(knowing)
    async with server as url:
        session = Session(url, PASSWORD, Limits())
        wire = await session.wire()
        for _ in range(2):
            await session.read(wire.services.viewer.get_viewer, wire.pb.viewer.GetViewerRequest())

    assert knowing.logins == 1
    assert not any("cookie" in asked.headers for asked in server.asked)


@pytest.mark.parametrize("act", [read, send])
async def test_forgotten_token_is_renewed_and_the_call_repeated(
    act: Callable[[str, Credential], Awaitable[Proto]],
) -> None:
    """Nobody notices, except the server's list of tokens."""
    knowing = Renewing("cht_AT2")
    async with OddServer(knowing) as url:
        await act(url, PASSWORD)

    assert knowing.logins == 2


@pytest.mark.parametrize("act", [read, send])
async def test_new_token_that_is_refused_as_well_ends_it(
    act: Callable[[str, Credential], Awaitable[Proto]],
) -> None:
    """One repetition; a third would be a loop."""
    knowing = Renewing("none")
    async with OddServer(knowing) as url:
        with pytest.raises(CredentialRefusedError, match=r"^CHATTO_LOGIN and CHATTO_PASSWORD: "):
            await act(url, PASSWORD)

    assert knowing.logins == 2


async def test_refused_token_that_was_configured_names_its_setting() -> None:
    """There is nothing to renew it from."""
    async with OddServer(UNAUTHENTICATED) as url:
        with pytest.raises(CredentialRefusedError, match=r"^CHATTO_TOKEN: "):
            await read(url)


async def test_renewal_that_fails_leaves_a_post_open() -> None:
    """One way to say "later" is enough: read back first."""

    def answer(asked: Asked) -> OddAnswer:
        """Answer the first login only."""
        if asked.path != "/auth/login":
            return UNAUTHENTICATED
        return Page.of_json(200, {"token": "cht_AT1"}) if len(server.asked) == 1 else Page(503)

    server = OddServer(answer)
    async with server as url:
        with pytest.raises(OutcomeUnknownError, match="CHATTO_URL"):
            await send(url, PASSWORD)


async def test_stream_without_a_login_is_lost() -> None:
    """Not refused: the login may work later."""
    async with OddServer(Page(503)) as url:
        with pytest.raises(StreamLostError, match="no_login"):
            await Session(url, PASSWORD, Limits()).open_stream()


async def test_bad_address_is_told_at_the_first_call() -> None:
    """Building a session does nothing and fails at nothing."""
    session = Session("chat.example.org", TOKEN, Limits())

    with pytest.raises(NotChattoError):
        await session.wire()


SECRETS = ("cht_ATcanary", "canary-password")
SHOWY = json.dumps({"error": "cht_ATcanary canary-password"})


@pytest.mark.parametrize(
    "answer",
    [
        *UNCLEAR,
        UNAUTHENTICATED,
        connect_error("not_found", "not found", 404),
        Page(200, SHOWY, "application/json"),
        Page(403, SHOWY, "application/json"),
        Page(403, SHOWY),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "credential", [Token(SECRETS[0]), Password("hermes", SECRETS[1])], ids=["token", "password"]
)
async def test_secret_is_in_no_error_and_no_log(
    answer: OddAnswer, credential: Credential, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever happens, and at the finest level of all loggers."""

    def reply(asked: Asked) -> OddAnswer:
        """Let a login through, half of the time."""
        is_first = asked.path == "/auth/login" and len(server.asked) == 1
        return Page.of_json(200, {"token": SECRETS[0]}) if is_first else answer

    server = OddServer(reply)
    caplog.set_level(0)
    async with server as url:
        session = Session(url, credential, Limits())
        for act in (read_by, send_by, Session.open_stream):
            with pytest.raises((ChatError, StreamLostError)) as caught:
                await act(session)
            assert not leaks(caught.getrepr(style="native"))

    assert not leaks(caplog.text, repr(vars(session)))


def leaks(*texts: object) -> list[str]:
    """Return the secrets that stand in a text."""
    return [secret for secret in SECRETS for text in texts if secret in str(text)]
