"""Secrets and what is printed."""

from hermes_chatto.actors.chatto.credential import Password, Token, is_sendable, settings_of


def test_secret_is_in_no_repr() -> None:
    """Dataclasses print their fields; these do not print that one."""
    assert "canary" not in repr([Token("canary"), Password("hermes", "canary")])


def test_settings_are_named() -> None:
    """As the operator wrote them."""
    assert settings_of(Token("t")) == "CHATTO_TOKEN"
    assert settings_of(Password("a", "b")) == "CHATTO_LOGIN and CHATTO_PASSWORD"


def test_only_what_fits_a_header_is_sendable() -> None:
    """A library that cannot send a header quotes it in its error."""
    assert is_sendable("cht_ATabc123")
    assert not any(map(is_sendable, ["", "a b", "a\nb", "ä", "a\x00"]))
