"""What `./dev` can do: each command, what it needs, and the module it becomes."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from . import child
from .environment import Environment, Packages
from .progress import Progress
from .trouble import SetupError

__all__ = ["COMMANDS", "main"]

NEWEST_KNOWN = (3, 13)
EXIT_TROUBLE = 2  # 1 is a job's own "it ran and something is not right"


@dataclass(frozen=True, slots=True)
class Command:
    """One word after `./dev`."""

    name: str
    usage: str
    summary: str
    packages: Packages
    module: str
    """Run with `python -m` in the environment."""
    at_root: bool
    """Whether it works on the checkout, wherever it was called from."""


COMMANDS = (
    Command(
        "demo",
        "demo [--talk]",
        "a short story between people and the agent, on the real gateway; --talk lets you join",
        Packages.RUNNING,
        "hermes_chatto.actors.sandbox.demo",
        at_root=False,
    ),
    Command(
        "sandbox",
        "sandbox [--port N]",
        "the embedded chat server alone, until it is stopped",
        Packages.RUNNING,
        "hermes_chatto.actors.sandbox.server",
        at_root=False,
    ),
    Command(
        "test",
        "test [pytest arguments]",
        "the whole suite with its coverage; with arguments, what they select and no coverage",
        Packages.DEVELOPING,
        "hermes_chatto.scripts.suite",
        at_root=True,
    ),
    Command(
        "bench",
        "bench [--reduced] [--output FILE]",
        "what the plugin costs beside the barest thing that does the same; .dev/bench.json",
        Packages.RUNNING,
        "hermes_chatto.actors.sandbox.bench",
        at_root=True,
    ),
    Command(
        "check",
        "check",
        "ruff, its formatter, mypy, pyright and the diagrams, without the tests",
        Packages.DEVELOPING,
        "hermes_chatto.scripts.check",
        at_root=True,
    ),
    Command(
        "diagrams",
        "diagrams [--check]",
        "write machines/diagrams/ anew from the charts",
        Packages.RUNNING,
        "hermes_chatto.scripts.diagrams",
        at_root=True,
    ),
    Command(
        "lock",
        "lock [--upgrade]",
        "write the two locks anew from requirements*.in; needs uv",
        Packages.RUNNING,
        "hermes_chatto.scripts.lock",
        at_root=True,
    ),
)


def main(arguments: list[str]) -> int:
    """Set up what the command needs and become it.

    Args:
        arguments: the words after `./dev`.

    Returns:
        An exit code, when there is nothing to become: 0 after the help, 2 when something is
        wrong (said on standard error), 128 plus the signal when one came.
    """
    child.end_on_signals()
    progress = Progress(sys.stderr)
    try:
        return _run(arguments, progress)
    except SetupError as trouble:
        progress.release()
        sys.stderr.write(f"{trouble}\n")
        return EXIT_TROUBLE
    except child.StoppedError as stopped:
        sys.stderr.write("\ndev: stopped.\n")
        return stopped.exit_code


def _run(arguments: list[str], progress: Progress) -> int:
    name, *rest = arguments or ["help"]
    if name in ("help", "-h", "--help"):
        sys.stdout.write(_help())
        return 0
    command = next((each for each in COMMANDS if each.name == name), None)
    if command is None:
        sys.stderr.write(f"dev: there is no command `{name}`.\n\n{_help()}")
        return EXIT_TROUBLE
    if sys.version_info[:2] > NEWEST_KNOWN:
        sys.stderr.write(f"dev: not tried on Python {sys.version.split()[0]}; going on.\n")
    _become(command, rest, progress)
    return 0


def _become(command: Command, rest: list[str], progress: Progress) -> None:
    """Replace this process by the job: one process to stop, its exit code is ours."""
    root = Path(__file__).resolve().parent.parent
    environment = Environment(root, progress)
    environment.prepare(command.packages)
    if command.at_root:
        os.chdir(root)
    python = str(environment.python)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(python, [python, "-m", command.module, *rest], environment.variables())  # noqa: S606


def _help() -> str:
    width = max(len(command.usage) for command in COMMANDS)
    lines = [f"  ./dev {command.usage:<{width}}  {command.summary}" for command in COMMANDS]
    return "\n".join(
        [
            *lines,
            "",
            "Needs Python 3.11, 3.12 or 3.13 (PYTHON=... names one) and, once, the package index",
            "that pip is configured for. Everything is kept in .dev inside this checkout.",
            "",
        ]
    )
