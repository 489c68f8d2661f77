"""The black-box suite of Chatto 0.4.20, run against the embedded server.

The same probes pass on a real server; `probes/README.md` says how to run them there.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
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


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    """An embedded server in a process of its own."""
    with subprocess.Popen(SERVER, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        first = server.stdout.readline()
        assert first.startswith(LISTENING), first
        yield first.removeprefix(LISTENING).strip()
        server.terminate()


@pytest.fixture(scope="module")
def outcome(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """All probes, the slow ones too, run as a suite of their own."""
    report = tmp_path_factory.mktemp("probes") / "report.xml"
    command = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "-q", f"--junitxml={report}"]
    ours = {"PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST"}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    environment |= {"CHATTO_PROBE_URL": server_url, "CHATTO_PROBE_SLOW": "1"}
    run = subprocess.run(
        command, cwd=PROBES, env=environment, capture_output=True, text=True, check=False
    )
    cases = ET.parse(report).findall(".//testcase")  # noqa: S314  # our own report
    skipped = [f"{case.get('name')}" for case in cases if case.find("skipped") is not None]
    return Outcome(run.returncode, run.stdout + run.stderr, len(cases) - len(skipped), skipped)


def test_every_probe_passes(outcome: Outcome) -> None:
    """What a real server answers and sends, the embedded one does, too."""
    assert outcome.exit_code == 0, outcome.output


def test_no_probe_is_skipped(outcome: Outcome) -> None:
    """The embedded server offers every call the probes know, the optional ones too."""
    assert outcome.passed > 0, outcome.output
    assert outcome.skipped == []
