"""The edge when the server's answers are lost, late or odd."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime

import pytest
from websockets.asyncio.server import ServerConnection

from hermes_chatto.actors.chatto.client import ChattoServer
from hermes_chatto.actors.chatto.credential import Password, Token
from hermes_chatto.actors.chatto.pb import realtime as pb
from hermes_chatto.actors.sandbox.odd_servers import Asked, OddAnswer, OddServer, OddStream, Page
from hermes_chatto.actors.sandbox.server.faults import Call, Delivery, Faults, NoFaults
from hermes_chatto.actors.sandbox.server.pb import Proto
from hermes_chatto.actors.sandbox.server.refusals import Code, RefusedError
from hermes_chatto.actors.sandbox.server.sandbox import Sandbox
from hermes_chatto.actors.sessions.errors import (
    CredentialRefusedError,
    OutcomeUnknownError,
    RequestRefusedError,
    ServerBusyError,
    ServerUnreachableError,
    StreamLostError,
)
from hermes_chatto.actors.sessions.ports import Post
from hermes_chatto.actors.sessions.stream_events import StreamOpened

POSTING = "MessageService/CreateMessage"


class LostAnswers(NoFaults):
    """Posts are made, and the answer never comes."""

    async def answering(self, call: Call, send: Callable[[], Awaitable[None]]) -> None:
        """Send all answers but those to posts."""
        if call.name != POSTING:
            await send()


class Crowded(NoFaults):
    """Posts are not made, and the server does not say why."""

    async def applying(self, call: Call, apply: Callable[[], Awaitable[Proto]]) -> Proto:
        """Apply all calls but posts."""
        if call.name == POSTING:
            raise RefusedError(Code.INTERNAL, "internal server error")
        return await apply()


class StreamRefused(NoFaults):
    """Calls know the token, the stream does not."""

    async def delivering(
        self, delivery: Delivery, send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Refuse in place of the hello."""
        refusal = {"code": "authentication_required", "fatal": True}
        refused = pb.RealtimeServerFrame(error=refusal).SerializeToString()
        await send(refused if delivery.kind == "hello" else delivery.encoded)


@asynccontextmanager
async def hermes_on(sandbox: Sandbox) -> AsyncGenerator[tuple[ChattoServer, Post], None]:
    """Start a server with the agent in a room; yield it, and something to post."""
    hermes = sandbox.add_account("hermes", "secret")
    room = sandbox.add_room("room", hermes)
    async with sandbox as url:
        yield ChattoServer(url, Password("hermes", "secret")), Post(room.id, None, None, "hello")


@pytest.mark.parametrize(("faults", "is_there"), [(LostAnswers(), True), (Crowded(), False)])
async def test_unclear_outcome_is_cleared_up_by_reading_back(
    faults: Faults, *, is_there: bool
) -> None:
    """The same error, and the opposite outcome."""
    async with hermes_on(Sandbox(faults=faults)) as (server, post):
        now = datetime.now(UTC)
        with pytest.raises(OutcomeUnknownError):
            await server.post(post)
        found = await server.find_post(post, not_before=now, exclude=())

    assert (found is not None) is is_there


async def test_revoked_token_is_renewed_from_the_password() -> None:
    """For a post and for the stream, without anybody noticing."""
    sandbox = Sandbox()
    async with hermes_on(sandbox) as (server, post):
        account = await server.identify()
        revoke_all(sandbox, account.user_id)
        message_id = await server.post(post)
        revoke_all(sandbox, account.user_id)
        async with aclosing(server.stream()) as stream:
            opened = await anext(stream)

    assert message_id.startswith("E")
    assert isinstance(opened, StreamOpened)


def revoke_all(sandbox: Sandbox, user_id: str) -> None:
    """End all tokens of an account."""
    account = sandbox.world.accounts.require(user_id)
    sandbox.world.credentials.revoke_all(account)


async def test_stream_that_refuses_the_new_token_as_well_ends_it() -> None:
    """One repetition; a third would be a loop."""
    async with hermes_on(Sandbox(faults=StreamRefused())) as (server, _):
        account = await server.identify()
        with pytest.raises(CredentialRefusedError, match=r"^CHATTO_LOGIN and CHATTO_PASSWORD: "):
            await anext(server.stream())

    assert account.login == "hermes"


async def test_changed_password_is_told_at_the_next_call() -> None:
    """The stream says that the session is over; the call says why."""
    sandbox = Sandbox()
    async with hermes_on(sandbox) as (server, _):
        account = await server.identify()
        sandbox.world.accounts.require(account.user_id).password = "another"  # noqa: S105
        revoke_all(sandbox, account.user_id)
        with pytest.raises(CredentialRefusedError, match="CHATTO_PASSWORD"):
            await server.identify()


async def test_server_that_stops_asks_to_come_back_later() -> None:
    """A restart is announced; how long to stay away, too."""
    sandbox = Sandbox()
    sandbox.add_account("hermes", "secret")
    url = await sandbox.__aenter__()
    async with aclosing(ChattoServer(url, Password("hermes", "secret")).stream()) as stream:
        await anext(stream)
        await sandbox.__aexit__(None, None, None)
        with pytest.raises(StreamLostError) as lost:
            await anext(stream)

    assert (lost.value.reason, lost.value.retry_after_s) == ("stream_closed", 1.0)


def answering(code: str, status: int) -> Callable[[Asked], OddAnswer]:
    """Return a Chatto that answers every call with one refusal."""

    def answer(asked: Asked) -> OddAnswer:
        if asked.path.endswith("/GetServer"):
            return Page.of_json(200, {"profile": {"version": "0.4.20"}})
        return Page.of_json(status, {"code": code, "message": "said so"})

    return answer


@pytest.mark.parametrize(
    ("code", "status"), [("unavailable", 503), ("resource_exhausted", 429), ("not_found", 404)]
)
async def test_account_that_is_not_given_now_may_be_later(code: str, status: int) -> None:
    """It is Chatto, and the credential was not refused: a wait may help."""
    async with OddServer(answering(code, status)) as url:
        with pytest.raises(ServerUnreachableError, match=r"^CHATTO_URL: .*said so"):
            await ChattoServer(url, Token("cht_AT1")).identify()


async def test_look_ups_that_are_refused_otherwise_are_no_empty_answers() -> None:
    """None means that the server knows nothing of the kind."""
    async with OddServer(answering("invalid_argument", 400)) as url:
        server = ChattoServer(url, Token("cht_AT1"))
        with pytest.raises(RequestRefusedError):
            await server.get_room("R1")
        with pytest.raises(RequestRefusedError):
            await server.find_person("alice")


async def test_server_that_asks_to_come_later_did_not_post() -> None:
    """Slow mode, for one."""
    async with OddServer(answering("resource_exhausted", 429)) as url:
        with pytest.raises(ServerBusyError):
            await ChattoServer(url, Token("cht_AT1")).post(Post("R1", None, None, "hello"))


async def test_answer_without_a_message_leaves_a_post_open() -> None:
    """Something said "done", but not what."""
    async with OddServer(Page(200, b"", "application/proto")) as url:
        with pytest.raises(OutcomeUnknownError, match="without a message"):
            await ChattoServer(url, Token("cht_AT1")).post(Post("R1", None, None, "hello"))


async def test_credential_taken_back_on_an_open_stream_is_a_loss() -> None:
    """Whether another can be had is found out by identifying again."""
    before = [pb.RealtimeServerFrame(hello={}), pb.RealtimeServerFrame(subscribed={})]
    last = pb.RealtimeServerFrame(close={"code": "authentication_required"})

    async def talk(connection: ServerConnection) -> None:
        for frame in before:
            await connection.recv()
            await connection.send(frame.SerializeToString())
        await connection.send(last.SerializeToString())

    async with OddStream(talk) as stream_url:
        url = stream_url.replace("ws://", "http://").removesuffix("/api/realtime")
        async with aclosing(ChattoServer(url, Token("cht_AT1")).stream()) as stream:
            await anext(stream)
            with pytest.raises(StreamLostError, match="authentication_required"):
                await anext(stream)
