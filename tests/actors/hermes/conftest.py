"""A gateway home of its own for every test, and the platform's name in the gateway's registry."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# While it is imported, the gateway looks for its home, writes into it, and moves the folder for
# temporary files there, unless one is named.
os.environ["HERMES_HOME"] = tempfile.mkdtemp(prefix="hermes-chatto-tests-")
os.environ.setdefault("TMPDIR", tempfile.gettempdir())

from gateway.platform_registry import PlatformEntry, platform_registry

from hermes_chatto.actors.hermes.adapter import PLATFORM_NAME

atexit.register(shutil.rmtree, os.environ["HERMES_HOME"], ignore_errors=True)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test an empty gateway home and no variable of the plugin."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith(("CHATTO_", "GATEWAY_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HERMES_HOME", str(folder))
    # Else what the gateway keeps for all homes of a user would be that of whoever runs the tests.
    monkeypatch.setenv("HERMES_GATEWAY_LOCK_DIR", str(tmp_path / "locks"))
    return folder


@pytest.fixture(autouse=True)
def registered_platform() -> Iterator[None]:
    """Let the gateway know the platform's name, as a loaded plugin would."""
    entry = PlatformEntry(
        name=PLATFORM_NAME,
        label="Chatto",
        adapter_factory=lambda config: config,
        check_fn=lambda: True,
        allowed_users_env="CHATTO_ALLOWED_USERS",
        allow_all_env="CHATTO_ALLOW_ALL_USERS",
        source="builtin",
    )
    platform_registry.register(entry)
    yield
    platform_registry.unregister(PLATFORM_NAME)
