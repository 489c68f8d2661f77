"""Addresses as people write them."""

import logging

import pytest

from hermes_chatto.actors.chatto.address import ServerAddress, parse_address
from hermes_chatto.actors.sessions.errors import NotChattoError


@pytest.mark.parametrize(
    ("text", "base_url", "stream_url"),
    [
        ("https://c.example.org", "https://c.example.org", "wss://c.example.org/api/realtime"),
        ("  http://c:4000/ ", "http://c:4000", "ws://c:4000/api/realtime"),
        ("https://e.org/team/chat/", "https://e.org/team/chat", "wss://e.org/team/chat/api/realtime"),
        ("HTTPS://c.example.org//", "https://c.example.org", "wss://c.example.org/api/realtime"),
        ("https://c.example.org/?a=b#c", "https://c.example.org", "wss://c.example.org/api/realtime"),
        ("http://[::1]:4000", "http://[::1]:4000", "ws://[::1]:4000/api/realtime"),
    ],
)  # fmt: skip
def test_address_is_cleaned(text: str, base_url: str, stream_url: str) -> None:
    """Blanks, slashes at the end, a query do not matter; a path prefix does."""
    assert parse_address(text) == ServerAddress(base_url, stream_url)


@pytest.mark.parametrize(
    ("text", "base_url"),
    [
        ("https://c.example.org/chat/-", "https://c.example.org"),
        ("https://c.example.org/chat/-/R1/E2/m/E3?x=y", "https://c.example.org"),
        ("https://e.org/team/chat/-/R1", "https://e.org/team"),
    ],
)
def test_address_of_a_room_is_cut_to_the_server(
    text: str, base_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Copied from the browser it works, and the log says what was made of it."""
    with caplog.at_level(logging.WARNING):
        address = parse_address(text)

    assert address.base_url == base_url
    assert base_url in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "chat.example.org", "ftp://c.example.org", "https://", "https:///x"),
        *("http://c:99999", "http://c:port", "http://c:0", "http://[::1", "https://c d.org"),
        *("https://c\x00.org", "ws://c.example.org"),
    ],
)
def test_address_of_no_server_names_the_setting_and_the_remedy(text: str) -> None:
    """Whoever reads the line knows what to change."""
    with pytest.raises(NotChattoError, match=r"^CHATTO_URL .*https://chat\.example\.org$"):
        parse_address(text)


def test_password_in_an_address_is_refused_and_not_quoted() -> None:
    """An address stands in log lines."""
    with pytest.raises(NotChattoError, match="must not hold") as caught:
        parse_address("https://hermes:canary@c.example.org")

    assert "canary" not in str(caught.value)
