"""The real Hermes gateway as a program of its own, with this checkout as its plugin.

It gets a home folder of its own and an environment without anything of the reader's, so that it
meets nobody's settings, keys or files.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio

from .guarded import GuardedProgram, ProgramEndedError
from .state_file import Health, StateFile

__all__ = ["CHECKOUT", "GatewayFailedError", "GatewayProcess", "GatewaySetup", "clean_environment"]

CHECKOUT: Final = Path(__file__).resolve().parents[2]
"""The plugin's folder: it holds `plugin.yaml`."""

KEPT: Final = frozenset({"PATH", "LANG", "TZ", "TERM"})
"""Variables a program needs that tell nothing of the reader's accounts, keys or proxies."""

KEPT_BEGINNINGS: Final = ("LC_", "PYTHON", "COVERAGE_")

GRACE_S: Final = 6.0  # a clean stop takes two seconds
START_WITHIN_S: Final = 90.0
LOOK_EVERY_S: Final = 0.2


class GatewayFailedError(Exception):
    """The gateway, or the plugin in it, did not come up; the text says why."""


@dataclass(frozen=True, slots=True)
class GatewaySetup:
    """What the gateway is told."""

    model_url: str
    """Of a chat-completions server, ends in `/v1`."""
    variables: Mapping[str, str]
    """The plugin's settings, by the name of their variable."""
    config: Mapping[str, object] | None = None
    """Blocks of `config.yaml` in place of ours; None: none."""
    profiles: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """The plugin's settings of further profiles in the same process, by the profile's name."""


def clean_environment(**more: str) -> dict[str, str]:
    """Return the environment for a program that must not meet the reader's settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or name.startswith(KEPT_BEGINNINGS)
    }
    return kept | more


class GatewayProcess:
    """One gateway, from its start until `aclose`; after that nothing of it is left."""

    def __init__(self, folder: Path, program: GuardedProgram) -> None:
        """Use `start`."""
        self._folder = folder
        self._program = program
        self._earlier: list[GuardedProgram] = []
        """Have ended; their guardians hold the folder."""
        self.state = StateFile(_home(folder) / "chatto" / "state.db")

    def state_of(self, profile: str) -> StateFile:
        """Return the state file of a further profile."""
        return StateFile(_home(self._folder) / "profiles" / profile / "chatto" / "state.db")

    @property
    def logs(self) -> tuple[Path, ...]:
        """Where it writes; a file that is missing was never needed."""
        logs = _home(self._folder) / "logs"
        return (logs / "gateway.log", logs / "agent.log", self._folder / "console.log")

    @classmethod
    async def start(cls, setup: GatewaySetup) -> "GatewayProcess":
        """Start the gateway; returns before the plugin is connected.

        Raises:
            OSError: the temporary folder cannot be written, or nothing can be started.
        """
        folder = Path(tempfile.mkdtemp(prefix="hermes-chatto-"))
        try:
            _furnish(folder, setup)
            program = await _run(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(folder, program)

    async def until_live(self, progress: Callable[[], None]) -> Health:
        """Wait until the plugin is connected.

        Args:
            progress: called several times a second meanwhile.

        Raises:
            GatewayFailedError: the gateway ended, the plugin gave up, or it took too long.
        """
        health: Health | None = None
        ended = _Ending()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ended.watch, self._program)
            with anyio.move_on_after(START_WITHIN_S):
                while ended.text is None:
                    health = self.state.health()
                    if health is not None and health.connection in {"live", "refused"}:
                        break
                    progress()
                    await anyio.sleep(LOOK_EVERY_S)
            tasks.cancel_scope.cancel()
        if health is None or health.connection != "live":
            raise GatewayFailedError(self._why(ended.text, health))
        return health

    async def stop(self) -> None:
        """End the gateway as an operator would; its files stay until `aclose`."""
        await self._program.stop()

    async def kill(self) -> None:
        """End the gateway where it stands; its files stay until `aclose`."""
        await self._program.kill()

    async def start_again(self) -> None:
        """Start a gateway that has ended once more, on its files.

        Returns before the plugin is connected; until it is, the state file says how the
        connection was.

        Raises:
            OSError: nothing can be started.
        """
        self._earlier.append(self._program)
        self._program = await _run(self._folder)

    async def aclose(self) -> None:
        """Leave no process and no folder; may be called again."""
        for program in (self._program, *self._earlier):
            await program.aclose()

    def _why(self, ended: str | None, health: Health | None) -> str:
        """Say in a few lines why it is not live."""
        if ended is not None:
            what = f"the gateway did not start: {ended}"
        elif health is None:
            what = f"the gateway did not load the plugin within {START_WITHIN_S:.0f} s"
        else:
            what = f"the plugin is not connected: {health.connection} ({health.reason})"
        return "\n  ".join([what, *self._last_words()])

    def _last_words(self) -> list[str]:
        lines: list[str] = []
        for log in self.logs:
            if log.exists():
                lines += log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:]
        return lines


class _Ending:
    """Learns when a program has ended by itself."""

    def __init__(self) -> None:
        self.text: str | None = None

    async def watch(self, program: GuardedProgram) -> None:
        try:
            while True:
                await program.next_line()
        except ProgramEndedError as error:
            self.text = str(error)


async def _run(folder: Path) -> GuardedProgram:
    return await GuardedProgram.start(
        [sys.executable, "-m", "hermes_cli.main", "gateway", "run"],
        _environment(folder),
        folder=folder,
        log=folder / "console.log",
        grace_s=GRACE_S,
    )


def _home(folder: Path) -> Path:
    return folder / "hermes"


def _environment(folder: Path) -> dict[str, str]:
    return clean_environment(
        HERMES_HOME=str(_home(folder)),
        HERMES_STARTUP_WARMUP_TIMEOUT="0",  # half of the start, for tools nobody calls here
        HERMES_ACCEPT_HOOKS="1",
        HOME=str(folder / "user"),
        TMPDIR=str(folder / "tmp"),
    )


def _furnish(folder: Path, setup: GatewaySetup) -> None:
    """Write what the gateway reads at its start."""
    home, config = _home(folder), _config(setup)
    for each in (folder / "user", folder / "tmp"):
        each.mkdir(parents=True)
    _furnish_home(home, config, setup.variables)
    for name, variables in setup.profiles.items():
        _furnish_home(home / "profiles" / name, config, variables)


def _furnish_home(home: Path, config: object, variables: Mapping[str, str]) -> None:
    """Write what the gateway reads in the home of one profile."""
    (home / "plugins").mkdir(parents=True)
    (home / "plugins" / "chatto").symlink_to(CHECKOUT, target_is_directory=True)
    # JSON is YAML
    (home / "config.yaml").write_text(json.dumps(config, indent=2), encoding="utf-8")
    lines = [f"{name}={value}\n" for name, value in variables.items()]
    secrets = home / ".env"
    secrets.touch(mode=0o600)
    secrets.write_text("".join(lines), encoding="utf-8")


def _config(setup: GatewaySetup) -> dict[str, object]:
    return {
        "model": {
            "provider": "custom",
            "default": "scripted",
            "base_url": setup.model_url,
            "api_key": "none",
        },
        "plugins": {"enabled": ["chatto"], "load_timeout_seconds": 60},
        "platforms": {"chatto": {"enabled": True, "extra": {}}},
        "streaming": {"enabled": False},
        "approvals": {"mode": "manual", "destructive_slash_confirm": False},
        "onboarding": {"seen": {"busy_input_prompt": True}},
        **({"gateway": {"multiplex_profiles": True}} if setup.profiles else {}),
        **(setup.config or {}),
    }
