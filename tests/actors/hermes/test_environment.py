"""Variables come from the profile's scope, never from another profile."""

import pytest
from agent.secret_scope import (
    reset_multiplex_context,
    reset_secret_scope,
    set_multiplex_context,
    set_secret_scope,
)

from hermes_chatto.actors.hermes.environment import profile_variable


def test_a_single_profile_reads_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual case."""
    monkeypatch.setenv("CHATTO_LOGIN", "bot")

    assert profile_variable("CHATTO_LOGIN") == "bot"
    assert profile_variable("CHATTO_PASSWORD") is None


def test_a_profiles_scope_hides_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """There the process holds the values of whichever profile the gateway was started with."""
    monkeypatch.setenv("CHATTO_LOGIN", "first")
    monkeypatch.setenv("CHATTO_PASSWORD", "of the first")
    several = set_multiplex_context(active=True)
    scope = set_secret_scope({"CHATTO_LOGIN": "second"})
    try:
        assert profile_variable("CHATTO_LOGIN") == "second"
        assert profile_variable("CHATTO_PASSWORD") is None
    finally:
        reset_secret_scope(scope)
        reset_multiplex_context(several)


def test_the_first_of_several_profiles_reads_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It runs without a scope, and the gateway's own reader refuses to guess."""
    monkeypatch.setenv("CHATTO_LOGIN", "first")
    several = set_multiplex_context(active=True)
    try:
        assert profile_variable("CHATTO_LOGIN") == "first"
    finally:
        reset_multiplex_context(several)
