"""The black-box suite of Chatto 0.4.20, run against the embedded server.

The same probes pass on a real server; `probes/README.md` says how to run them there.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

PROBES = Path(__file__).parent / "probes"
SERVER = [sys.executable, "-m", "hermes_chatto.actors.sandbox.server", "--port", "0"]
LISTENING = "listening on "

pytestmark = pytest.mark.timeout(300)  # the probes wait for time limits of the stream


class Outcome(NamedTuple):
    """One finished run of the probes."""

    exit_code: int
    output: str
    passed: int
    skipped: list[str]


@contextmanager
def serving() -> Iterator[str]:
    """Run an embedded server in a process of its own."""
    with subprocess.Popen(SERVER, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        first = server.stdout.readline()
        try:
            assert first.startswith(LISTENING), first
            yield first.removeprefix(LISTENING).strip()
        finally:
            server.terminate()


def run_probes() -> Outcome:
    """Run all probes, the slow ones too, as a suite of their own."""
    ours = {"PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST"}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    with serving() as url, TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-c", "pytest.ini", "-q", f"--junitxml={report}"],
            cwd=PROBES,
            env={**environment, "CHATTO_PROBE_URL": url, "CHATTO_PROBE_SLOW": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        cases = ET.parse(report).findall(".//testcase")  # noqa: S314  # our own report
    skipped = [f"{case.get('name')}" for case in cases if case.find("skipped") is not None]
    return Outcome(run.returncode, run.stdout + run.stderr, len(cases) - len(skipped), skipped)


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """Return how the probes ended."""
    return run_probes()


def test_every_probe_passes(outcome: Outcome) -> None:
    """What a real server answers and sends, the embedded one does, too."""
    assert outcome.exit_code == 0, outcome.output


def test_no_probe_is_skipped(outcome: Outcome) -> None:
    """The embedded server offers every call the probes know, the optional ones too."""
    assert outcome.passed > 0, outcome.output
    assert outcome.skipped == []
