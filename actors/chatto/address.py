"""The address of the server, from what people write into `CHATTO_URL`."""

import logging
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from ..sessions.errors import NotChattoError

__all__ = ["ServerAddress", "parse_address"]

EXAMPLE: Final = "https://chat.example.org"

WEB_CLIENT: Final = "/chat/-"
"""Where the server's own web client keeps the pages of its own rooms.

Source: Chatto 0.4.20, apps/frontend/src/routes/chat/[serverId]; `-` is the server itself.
"""

_STREAM_SCHEMES: Final = (("https", "wss"), ("http", "ws"))

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server answers."""

    base_url: str
    """Scheme, host and path prefix; no slash at the end."""
    stream_url: str
    """The realtime stream's."""


def parse_address(text: str) -> ServerAddress:
    """Read the address of a server.

    A slash at the end, a query and a fragment do not matter. A path is kept: a proxy may
    serve Chatto below one. The address of a room as copied from the browser
    (`https://chat.example.org/chat/-/...`) loses that part, with a line in the log.

    Args:
        text: the setting's value.

    Raises:
        NotChattoError: this is the address of no server.
    """
    parts = _split(text.strip())
    path = parts.path.rstrip("/")
    page = f"{path}/".find(f"{WEB_CLIENT}/")
    if page >= 0:
        path = path[:page]
    base_url = f"{parts.scheme}://{parts.netloc}{path}"
    if page >= 0:
        _log.warning("CHATTO_URL is the address of a room; the server is taken as %s", base_url)
    stream = dict(_STREAM_SCHEMES)[parts.scheme]
    return ServerAddress(base_url, f"{stream}://{parts.netloc}{path}/api/realtime")


def _split(text: str) -> SplitResult:
    """Take an address apart and refuse what no server can have; never quote a password."""
    if not text:
        what = "is not set"
        raise _unusable(what)
    try:
        parts = urlsplit(text)
        has_port = parts.port is None or parts.port > 0
    except ValueError as error:
        what = "is no address"
        raise _unusable(what) from error
    if parts.username is not None or parts.password is not None:
        what = "must not hold a name or a password"
        raise _unusable(what)
    if parts.scheme not in dict(_STREAM_SCHEMES):
        what = "has to begin with https:// or http://"
        raise _unusable(what)
    if not parts.hostname or not has_port or not text.isprintable() or " " in text:
        what = "names no server"
        raise _unusable(what)
    return parts


def _unusable(what: str) -> NotChattoError:
    return NotChattoError(f"CHATTO_URL {what}. Write it as in the browser: {EXAMPLE}")
