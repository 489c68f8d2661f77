"""Logging in, and who may answer at a wrong address."""

import json
import socket
import ssl
from collections.abc import Callable
from typing import TypeAlias

import pytest

from hermes_chatto.actors.chatto.address import parse_address
from hermes_chatto.actors.chatto.credential import Password
from hermes_chatto.actors.chatto.front_door import FrontDoor
from hermes_chatto.actors.sandbox.odd_servers import Hangup, OddAnswer, OddServer, Page, Silence
from hermes_chatto.actors.sessions.errors import (
    ChatError,
    CredentialRefusedError,
    NotChattoError,
    ServerUnreachableError,
)

PASSWORD = Password("hermes", "canary")
DoorTo: TypeAlias = Callable[[str], FrontDoor]


@pytest.fixture
def door_to() -> DoorTo:
    """Make front doors; the certificates are loaded outside of the event loop."""
    tls = ssl.create_default_context()
    return lambda url: FrontDoor(parse_address(url), tls, timeout_s=5.0)


def echo_login(status: int) -> Page:
    """Return the page of a server that is fond of showing what it was sent."""
    return Page(status, json.dumps({"error": "canary"}), "application/json")


async def test_login_gives_the_token(door_to: DoorTo) -> None:
    """The cookies that come along are left behind."""
    page = Page(
        body=json.dumps({"success": True, "token": "cht_AT1"}),
        content_type="application/json",
        headers={"set-cookie": "chatto_session=abc"},
    )
    server = OddServer(page)
    async with server as url:
        token = await door_to(url).log_in(PASSWORD)

    assert (token, len(server.asked)) == ("cht_AT1", 1)
    assert server.asked[0].path == "/auth/login"
    assert json.loads(server.asked[0].body) == {"login": "hermes", "password": "canary"}


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_refused_login_names_the_settings(door_to: DoorTo, status: int) -> None:
    """In JSON it is Chatto that refuses; its words are not repeated."""
    async with OddServer(echo_login(status)) as url:
        with pytest.raises(CredentialRefusedError, match="CHATTO_LOGIN and CHATTO_PASSWORD") as no:
            await door_to(url).log_in(PASSWORD)

    assert "canary" not in str(no.value)


PASSING: list[OddAnswer] = [
    *(Page(status) for status in (408, 425, 429, 500, 502, 503, 504)),
    echo_login(500),
    Hangup(),
    Hangup(b"SSH-2.0-odd\r\n"),
]
FOREIGN: list[OddAnswer] = [
    *(Page(status) for status in (200, 204, 400, 401, 403, 404, 405, 410)),
    Page.of_json(200, {"hello": "world"}),
    Page.of_json(200, {"token": 7}),
    Page.of_json(200, {"token": "not a token"}),
    Page.of_json(200, ["token"]),
    Page.of_json(404, {"error": "no such route"}),
    Page(200, b"\xff\xfe", "application/json"),
    Page(301, headers={"location": "https://elsewhere.example/auth/login"}),
    Page(302, headers={"location": "/sso"}),
]


@pytest.mark.parametrize("answer", PASSING, ids=str)
async def test_what_a_wait_may_heal_is_unreachable(door_to: DoorTo, answer: OddAnswer) -> None:
    """A restart of the server, a proxy whose server is down, a busy one."""
    async with OddServer(answer) as url:
        with pytest.raises(ServerUnreachableError, match=rf"^CHATTO_URL: no answer from {url} "):
            await door_to(url).log_in(PASSWORD)
        with pytest.raises(ServerUnreachableError, match=r"^CHATTO_URL: "):
            await door_to(url).look()


@pytest.mark.parametrize("answer", FOREIGN, ids=str)
async def test_something_else_is_not_chatto(door_to: DoorTo, answer: OddAnswer) -> None:
    """No wait makes a web site a chat server."""
    async with OddServer(answer) as url:
        with pytest.raises(NotChattoError, match=rf"^CHATTO_URL: no Chatto server at {url} "):
            await door_to(url).log_in(PASSWORD)
        with pytest.raises(NotChattoError, match=r"^CHATTO_URL: "):
            await door_to(url).look()


async def test_redirect_says_where_to(door_to: DoorTo) -> None:
    """Calls must not be redirected, so the setting has to be the target."""
    page = Page(308, headers={"location": "https://elsewhere.example/auth/login"})
    async with OddServer(page) as url:
        with pytest.raises(NotChattoError, match=r"on to https://elsewhere.example:"):
            await door_to(url).log_in(PASSWORD)


async def test_look_is_content_with_chatto(door_to: DoorTo) -> None:
    """It asks what may be asked without a credential."""
    server = OddServer(Page.of_json(200, {"profile": {"version": "0.4.20"}}))
    async with server as url:
        await door_to(url).look()

    assert "authorization" not in server.asked[0].headers


async def test_silence_ends_at_the_deadline(door_to: DoorTo) -> None:
    """Who accepts and says nothing must not hold up the start."""
    async with OddServer(Silence()) as url:
        patient = door_to(url)
        hasty = FrontDoor(patient.address, patient.tls, timeout_s=0.05)
        with pytest.raises(ServerUnreachableError, match=r"no answer within 0\.05 s"):
            await hasty.log_in(PASSWORD)


async def test_closed_port_is_unreachable(door_to: DoorTo) -> None:
    """The server may be about to start."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ServerUnreachableError, match=r"^CHATTO_URL: "):
            await door_to(url).log_in(PASSWORD)


async def test_name_nobody_knows_is_unreachable(door_to: DoorTo) -> None:
    """Name service may be down; the text shows the name, should it be misspelt."""
    with pytest.raises(ServerUnreachableError, match=r"http://chat\.invalid "):
        await door_to("http://chat.invalid").log_in(PASSWORD)


async def test_server_without_tls_is_not_chatto(door_to: DoorTo) -> None:
    """https:// where http:// was meant, or a certificate nobody trusts."""
    async with OddServer(Hangup(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as url:
        address = url.replace("http://", "https://")
        with pytest.raises(NotChattoError, match=f"{address} .TLS does not come about"):
            await door_to(address).log_in(PASSWORD)


async def test_name_that_can_be_none_is_not_chatto(door_to: DoorTo) -> None:
    """Found only when it is to be resolved."""
    with pytest.raises(NotChattoError, match="is no address"):
        await door_to("http://\u2488com").log_in(PASSWORD)


async def test_password_that_is_no_text_is_refused_and_not_quoted(door_to: DoorTo) -> None:
    """The error of the codec holds the whole text it could not encode."""
    with pytest.raises(ChatError, match="CHATTO_PASSWORD") as caught:
        await door_to("http://127.0.0.1:1").log_in(Password("hermes", "canary\ud800"))

    assert isinstance(caught.value, CredentialRefusedError)
    assert caught.value.__cause__ is None
