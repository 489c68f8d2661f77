"""Where nobody may talk to the agent a line at the start says so."""

import pytest

from hermes_chatto.actors.hermes.listed_people import OF_GATEWAY, nobody_listed
from hermes_chatto.actors.hermes.settings import resolve


def line(**extra: object) -> str | None:
    """Return what is said of these settings."""
    return nobody_listed(resolve(lambda _: None, extra).settings)


@pytest.fixture(autouse=True)
def nothing_of_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set none of its variables."""
    for name in OF_GATEWAY:
        monkeypatch.delenv(name, raising=False)


def test_nobody_is_named_and_the_setting_is() -> None:
    """A misspelt variable would show nowhere else."""
    assert (line() or "").startswith("CHATTO_ALLOWED_USERS names nobody")
    assert line(allowed_users="alice") is None
    assert line(allow_all_users=True) is None
    assert line(unauthorized_dm_behavior="pair") is None
    assert line(unauthorized_dm_behavior="decline") is not None


@pytest.mark.parametrize("name", OF_GATEWAY)
def test_people_of_the_gateway_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever they are, on whatever platform."""
    monkeypatch.setenv(name, "U0000000000001")

    assert line() is None
