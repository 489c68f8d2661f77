"""The suite in two halves: tests that start programs run in a process of their own.

They mostly wait, and take the core that the other half leaves. Their reports come over a pipe
and appear in the one summary as if they had run here.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

__all__ = ["ELSEWHERE", "OtherHalf"]

PROGRAMS = ("end_to_end", "scripts", "test_packaging.py", "test_quality.py")
"""Below `tests`: what starts programs and waits for them."""

GRACE_S = 30.0  # for the tests to end what they have started
ELSEWHERE = pytest.StashKey[frozenset[str]]()
"""Node IDs of the tests that another process runs."""

WHENCE = "HERMES_CHATTO_REPORTS"  # the variable with the number of the pipe


class OtherHalf:
    """A pytest plugin that has some of the tests run by another process."""

    def __init__(self, tests: Path, log: Path) -> None:
        """Start nothing yet.

        Args:
            tests: the folder of the tests.
            log: where the other process writes what nobody reads while all is well.
        """
        self._paths = [path for path in (tests / name for name in PROGRAMS) if path.exists()]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._told: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._reports: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Let the tests of the other process come last: until then most of them have ended."""
        items.sort(key=self._is_theirs)
        config.stash[ELSEWHERE] = frozenset(item.nodeid for item in items if self._is_theirs(item))

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Start the other process, where it has something to do."""
        if any(self._is_theirs(item) for item in session.items):
            self._start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Tell how a test of the other process went; None: it is one of this process."""
        if not self._is_theirs(item):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for told in self._reports_of(item.nodeid):
            report = item.config.hook.pytest_report_from_serializable(
                config=item.config, data=told
            )
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Leave no process."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _is_theirs(self, item: pytest.Item) -> bool:
        return any(item.path == path or path in item.path.parents for path in self._paths)

    def _start(self) -> None:
        reading, writing = os.pipe()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __spec__.name, *map(str, self._paths)],
                env={**os.environ, WHENCE: str(writing)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[writing],
            )
        os.close(writing)
        threading.Thread(target=self._listen, args=[reading], daemon=True).start()

    def _listen(self, pipe: int) -> None:
        """Take reports as they come, so that the other process never waits."""
        with os.fdopen(pipe, encoding="utf-8") as lines:
            for line in lines:
                self._told.put(json.loads(line))
        self._told.put(None)

    def _reports_of(self, nodeid: str) -> Iterator[Mapping[str, Any]]:
        """Yield the reports of a test, once it has ended."""
        while not any(each["when"] == "teardown" for each in self._reports[nodeid]):
            told = self._told.get()
            if told is None:
                self._told.put(None)
                yield _lost(nodeid, self._log.read_text(encoding="utf-8", errors="replace"))
                return
            self._reports[told["nodeid"]].append(told)
        yield from self._reports.pop(nodeid)


class Telling:
    """A pytest plugin of the other process: hands on what is reported."""

    def __init__(self, pipe: int) -> None:
        """Write into a pipe."""
        self._lines = os.fdopen(pipe, "w", encoding="utf-8")
        self._config: pytest.Config | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        """Keep what makes reports writable."""
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hand one on."""
        assert self._config is not None  # noqa: S101 - pytest configures before it reports
        told = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._lines.write(json.dumps(told) + "\n")
        self._lines.flush()


def _lost(nodeid: str, log: str) -> Mapping[str, Any]:
    """Return the report of a test that was never told of."""
    return {
        "$report_type": "TestReport",
        "nodeid": nodeid,
        "location": (nodeid, None, nodeid),
        "keywords": {},
        "outcome": "failed",
        "longrepr": f"the process of these tests ended before it:\n{log}",
        "when": "call",
        "sections": [],
        "duration": 0.0,
        "start": 0.0,
        "stop": 0.0,
        "user_properties": [],
    }


def main(paths: list[str]) -> int:
    """Run the tests of the other half."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe = int(os.environ.pop(WHENCE))
    return int(
        pytest.main(["-o", "cache_dir=.dev/cache/other-half", *paths], plugins=[Telling(pipe)])
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
