"""What the gateway learns when it loads the plugin, and how dear that is."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gateway.config import PlatformConfig

from hermes_chatto.actors.hermes import plugin
from hermes_chatto.actors.hermes.adapter import ChattoAdapter

ROOT = Path(__file__).parents[3]
CREDENTIALS = {
    "CHATTO_URL": "https://chat.example.org",
    "CHATTO_LOGIN": "bot",
    "CHATTO_PASSWORD": "hunter2",
}
REGISTER = """
import json, sys, time
import gateway.run
class Context:
    def register_platform(self, **entry): pass
    def register_hook(self, name, callback): pass
    def register_tool(self, **entry): pass
before = set(sys.modules)
began = time.process_time()
import hermes_chatto
hermes_chatto.register(Context())
cpu_s = time.process_time() - began
print(json.dumps({"cpu_s": cpu_s, "imported": sorted(set(sys.modules) - before)}))
"""
LOAD = """
import json, os
from gateway.config import Platform, load_gateway_config
from gateway.platform_registry import platform_registry
from hermes_cli.plugins import discover_plugins
discover_plugins()
entry = platform_registry.get("chatto")
config = load_gateway_config().platforms[Platform("chatto")]
print(json.dumps({
    "module": type(platform_registry.create_adapter("chatto", config)).__module__,
    "is_enabled": config.enabled,
    "home": [config.home_channel.chat_id, config.home_channel.thread_id],
    "allowed": os.environ["CHATTO_ALLOWED_USERS"],
}))
"""


class Context:
    """A plugin context that takes what is registered."""

    def __init__(self) -> None:
        self.entry: dict[str, object] = {}
        self.hooks: dict[str, Callable[..., object]] = {}
        self.tools: list[dict[str, object]] = []

    def register_platform(self, **entry: object) -> None:
        """Take it."""
        self.entry = entry

    def register_hook(self, name: str, callback: Callable[..., object]) -> None:
        """Take it."""
        self.hooks[name] = callback

    def register_tool(self, **entry: object) -> None:
        """Take it."""
        self.tools.append(entry)


def load_desk() -> plugin.OpenDesk:
    """Fail: nothing may be loaded before connect."""
    raise AssertionError


def test_the_platform_is_registered_with_its_settings() -> None:
    """Names the gateway reads itself are the plugin's."""
    context = Context()

    plugin.register(context, load_desk)

    assert context.entry["name"] == "chatto"
    assert context.entry["allowed_users_env"] == "CHATTO_ALLOWED_USERS"
    assert context.entry["allow_all_env"] == "CHATTO_ALLOW_ALL_USERS"
    assert context.entry["cron_deliver_env_var"] == "CHATTO_HOME_CHANNEL"
    factory = context.entry["adapter_factory"]
    assert callable(factory)
    assert isinstance(factory(PlatformConfig(enabled=True)), ChattoAdapter)


def test_its_dependencies_are_there() -> None:
    """Asked without importing them."""
    assert plugin.has_dependencies()


def test_it_is_set_up_with_an_address_and_a_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    """From either side; a malformed entry counts, so that connect can name it."""
    assert not plugin.is_set_up(PlatformConfig())
    assert plugin.is_set_up(PlatformConfig(extra={"url": "u", "token": "t"}))
    assert plugin.is_set_up(PlatformConfig(extra={"allowed_users": {"a": 1}}))
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    assert plugin.is_set_up(PlatformConfig())


def test_the_environment_alone_enables_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a credential in what the gateway keeps."""
    assert plugin.extras_from_environment() is None
    for name, value in {**CREDENTIALS, "CHATTO_HOME_CHANNEL": "R1/T1"}.items():
        monkeypatch.setenv(name, value)

    assert plugin.extras_from_environment() == {
        "url": "https://chat.example.org",
        "home_channel": {"chat_id": "R1", "name": "R1", "thread_id": "T1"},
    }


def test_the_gateway_sees_what_only_config_yaml_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads these three from the environment; a variable that is set stays."""
    monkeypatch.setenv("CHATTO_HOME_CHANNEL", "R1")
    for name in ("CHATTO_ALLOWED_USERS", "CHATTO_ALLOW_ALL_USERS"):
        monkeypatch.setenv(name, "")  # so that the test takes back what is set
    block: dict[str, object] = {
        "allow_all_users": "yes",
        "extra": {"allowed_users": ["alice", "bob"], "home_channel": "R2"},
    }

    plugin.show_gateway_its_settings({}, block)

    assert os.environ["CHATTO_ALLOWED_USERS"] == "alice,bob"
    assert os.environ["CHATTO_ALLOW_ALL_USERS"] == "true"
    assert os.environ["CHATTO_HOME_CHANNEL"] == "R1"


def test_a_malformed_block_is_left_to_connect() -> None:
    """Nobody is let in by it."""
    plugin.show_gateway_its_settings({}, {"extra": {"allowed_users": {"alice": True}}})

    assert "CHATTO_ALLOWED_USERS" not in os.environ


def run_alone(program: str, home: Path) -> dict[str, object]:
    """Run a program in a process of its own and return the JSON of its last line."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": str(home),
        "HERMES_HOME": str(home),
    }
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    facts: dict[str, object] = json.loads(ran.stdout.splitlines()[-1])
    return facts


def test_import_and_register_cost_little(home: Path) -> None:
    """At most 0.6 s of CPU, and none of the libraries that come with connect."""
    facts = run_alone(REGISTER, home)

    assert isinstance(facts["cpu_s"], float)
    assert facts["cpu_s"] <= 0.6
    assert isinstance(facts["imported"], list)
    heavy = {"chattolib", "google", "markdown_it", "sqlite_utils", "statemachine", "websockets"}
    assert heavy.isdisjoint(name.partition(".")[0] for name in facts["imported"])


@pytest.mark.parametrize("way", ["folder", "symlink"])
def test_hermes_loads_the_checkout_as_a_plugin(way: str, home: Path) -> None:
    """As a copy and as a link, with the settings of `config.yaml`."""
    place = home / "plugins" / "chatto"
    place.parent.mkdir()
    if way == "symlink":
        place.symlink_to(ROOT, target_is_directory=True)
    else:
        shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(".*", "__pycache__", "tests"))
    settings = {"url": "https://chat.example.org", "token": "t", "allowed_users": ["alice"]}
    config = {
        "plugins": {"enabled": ["chatto"]},
        "platforms": {"chatto": {"enabled": True, "extra": {**settings, "home_channel": "R1/T1"}}},
    }
    (home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")

    facts = run_alone(LOAD, home)

    assert facts == {
        "module": "hermes_plugins.chatto.actors.hermes.adapter",
        "is_enabled": True,
        "home": ["R1", "T1"],
        "allowed": "alice",
    }
