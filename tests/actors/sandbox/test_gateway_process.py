"""What a gateway of ours meets of the reader's own settings: nothing."""

import pytest

from hermes_chatto.actors.sandbox.gateway_process import CHECKOUT, clean_environment


def test_the_readers_own_settings_are_kept_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """An own agent's home, keys and proxies would change what the demo shows."""
    for name in ("HERMES_HOME", "CHATTO_URL", "OPENAI_API_KEY", "https_proxy", "HOME"):
        monkeypatch.setenv(name, "the reader's")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    environment = clean_environment(HERMES_HOME="/ours")

    assert "the reader's" not in environment.values()
    assert environment["HERMES_HOME"] == "/ours"
    assert environment["LC_ALL"] == "C.UTF-8"
    assert "PATH" in environment


def test_the_plugin_is_this_checkout() -> None:
    """The folder the gateway is given holds the manifest and the root module."""
    assert (CHECKOUT / "plugin.yaml").is_file()
    assert (CHECKOUT / "__init__.py").is_file()
