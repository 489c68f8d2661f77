"""Where the token comes from."""

import anyio
import anyio.lowlevel
import pytest

from hermes_chatto.actors.chatto.credential import Password, Token
from hermes_chatto.actors.chatto.tokens import TokenKeeper
from hermes_chatto.actors.sessions.errors import CredentialRefusedError


class Logins:
    """Gives out tokens and counts them."""

    def __init__(self) -> None:
        self.count = 0

    async def log_in(self, password: Password) -> str:
        """Return the next token."""
        assert password == Password("hermes", "secret")
        await anyio.lowlevel.checkpoint()
        self.count += 1
        return f"t{self.count}"


async def test_configured_token_is_used_without_a_login() -> None:
    """Blanks around a setting never matter."""
    logins = Logins()

    assert await TokenKeeper(Token(" cht_AT1\n")).token(logins.log_in) == "cht_AT1"
    assert logins.count == 0


async def test_password_is_exchanged_once() -> None:
    """Every login makes one more token on the server."""
    logins, keeper = Logins(), TokenKeeper(Password("hermes", "secret"))

    assert [await keeper.token(logins.log_in) for _ in range(3)] == ["t1"] * 3


async def test_calls_that_fail_together_renew_once() -> None:
    """When a token dies, it dies for all of them."""
    logins, keeper = Logins(), TokenKeeper(Password("hermes", "secret"))
    refused = await keeper.token(logins.log_in)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(keeper.renew, refused, logins.log_in)

    assert await keeper.token(logins.log_in) == "t2"


async def test_configured_token_cannot_be_renewed() -> None:
    """Then only the operator can help, and is told with what."""
    with pytest.raises(CredentialRefusedError, match=r"^CHATTO_TOKEN: "):
        await TokenKeeper(Token("t1")).renew("t1", Logins().log_in)


@pytest.mark.parametrize("text", ["", "  ", "two words", "line\nbreak", "tökén"])
async def test_text_that_is_no_token_is_not_sent(text: str) -> None:
    """Nor is it quoted."""
    with pytest.raises(CredentialRefusedError, match=r"^CHATTO_TOKEN: ") as caught:
        await TokenKeeper(Token(text)).token(Logins().log_in)

    assert not text.strip() or text not in str(caught.value)
