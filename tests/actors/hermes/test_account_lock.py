"""Two gateways with homes of their own and one account: the second one is told."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gateway.config import Platform, PlatformConfig
from gateway.platforms.base import BasePlatformAdapter, SendResult

from hermes_chatto.actors.hermes.account_lock import release_account, take_account
from hermes_chatto.actors.hermes.adapter import PLATFORM_NAME
from hermes_chatto.actors.hermes.settings import Settings
from hermes_chatto.actors.hermes.values import Secret

URL = "https://chat.example.org"
BY_LOGIN = Settings(url=URL, login="Hermes", password=Secret("p"))
BY_TOKEN = Settings(url=URL, login="Hermes", password=Secret("p"), token=Secret("s3cret"))
PROGRAM = """
import sys
from gateway.status import acquire_scoped_lock
print(acquire_scoped_lock("chatto-account", sys.stdin.readline().strip())[0], flush=True)
sys.stdin.read()
"""


class Plain(BasePlatformAdapter):  # type: ignore[misc] # Hermes ships no types
    """The base of all adapters, as it comes."""

    async def connect(self, *, is_reconnect: bool = False) -> bool:
        """Connect to nothing."""
        return not is_reconnect

    async def disconnect(self) -> None:
        """Leave nothing."""

    async def send(self, *text: object, **facts: object) -> SendResult:
        """Post nothing."""
        return SendResult(success=not text and not facts)

    async def get_chat_info(self, chat_id: str) -> dict[str, str]:
        """Know nothing."""
        return {"name": chat_id}


def adapter() -> Plain:
    """Return an adapter of this process."""
    return Plain(PlatformConfig(enabled=True), Platform(PLATFORM_NAME))


@contextmanager
def other_gateway(folder: Path, who: str) -> Iterator[subprocess.Popen[str]]:
    """Have another process hold an account; the gateway tells its kind by how it was started."""
    program = folder / "hermes"
    program.write_text(PROGRAM, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, program, "gateway", "run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{URL} {who}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("settings", "who", "called"),
    [
        (BY_LOGIN, "hermes", "the Chatto account Hermes already in use"),
        (BY_TOKEN, "s3cret", "the Chatto account of CHATTO_TOKEN already in use"),
    ],
    ids=["login", "token"],
)
def test_second_gateway_is_told_which_process_has_the_account(
    tmp_path: Path, settings: Settings, who: str, called: str
) -> None:
    """It tries again, and gets the account once the other one has ended, however that ended."""
    second = adapter()
    with other_gateway(tmp_path, who) as first:
        assert not take_account(second, settings)
        assert str(second.fatal_error_message).startswith(called)
        assert str(first.pid) in str(second.fatal_error_message)
        assert second.fatal_error_retryable

    assert take_account(second, settings)
    release_account(second)


def test_other_accounts_are_nobodys_affair(tmp_path: Path) -> None:
    """Of the same server."""
    with other_gateway(tmp_path, "somebody"):
        assert take_account(adapter(), BY_LOGIN)


def test_released_account_can_be_taken_by_another_process(tmp_path: Path) -> None:
    """And releasing what was not taken is nothing."""
    first = adapter()
    assert take_account(first, BY_LOGIN)
    release_account(first)
    release_account(first)

    with other_gateway(tmp_path, "hermes"):
        assert not take_account(first, BY_LOGIN)


def test_no_secret_stands_in_the_lock(tmp_path: Path) -> None:
    """Others may read it."""
    assert take_account(adapter(), BY_TOKEN)

    (lock,) = (tmp_path / "locks").glob("chatto-account-*.lock")
    assert "s3cret" not in lock.name + lock.read_text(encoding="utf-8")


def test_where_no_lock_can_be_made_it_goes_on_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With one line."""
    (tmp_path / "locks").write_text("no folder", encoding="utf-8")

    assert take_account(adapter(), BY_LOGIN)
    assert "a second gateway would not be told" in caplog.text
