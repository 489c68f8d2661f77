"""The checks that read the code without running it; the suite and `./dev check` both run these."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["GATES", "Gate", "root", "run"]


@dataclass(frozen=True, slots=True)
class Gate:
    """One tool, as it is called at the root of the checkout."""

    name: str
    arguments: tuple[str, ...]
    """What follows `python -m`."""
    remedy: str


GATES = (
    Gate("lint", ("ruff", "check", "."), "many heal by themselves: ruff check --fix"),
    Gate("format", ("ruff", "format", "--check", "."), "ruff format does it"),
    # By the package's name, tests and scripts included, and through .dev/path (MYPYPATH below):
    # as loose files, its relative imports would lead nowhere.
    Gate("mypy", ("mypy", "-p", "hermes_chatto"), "the types disagree, or one is missing"),
    Gate("pyright", ("pyright", "--pythonpath", sys.executable), "the second reader disagrees"),
)


def root() -> Path:
    """Return the folder of the checkout."""
    return Path(__file__).resolve().parent.parent


def run(gate: Gate) -> tuple[int, str]:
    """Run one tool over the checkout.

    Returns:
        Its exit code, and what it wrote to either stream.
    """
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")
    }
    environment["MYPYPATH"] = str(root() / ".dev" / "path")
    environment["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"  # it would look for newer versions
    done = subprocess.run(
        [sys.executable, "-m", *gate.arguments],
        cwd=root(),
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
