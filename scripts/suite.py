"""`./dev test`: pytest over the whole tree, with the coverage of every process it starts."""

import io
import shutil
import sys
from pathlib import Path

import coverage
import pytest

from .gates import root

__all__ = ["main"]

FLOOR_PERCENT = 90.0  # lines and branches together; raised when the measured number rises
EXIT_FAILED = 1
EXIT_STOPPED = 130
ON_ALL_CORES = ("--numprocesses=auto", "--dist=loadfile")
"""Arguments for the whole suite; the tests of a module share what it started."""


class Interruption:
    """A pytest plugin that remembers Ctrl-C: pytest's exit code for it also means other things."""

    def __init__(self) -> None:
        """Nothing happened yet."""
        self.happened = False

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note it, unless it is pytest's own way out after errors of collection."""
        self.happened = excinfo.type is KeyboardInterrupt


class CoverageReport:
    """A pytest plugin: the report comes before pytest's own closing line, not after it."""

    def __init__(self, measured: coverage.Coverage) -> None:
        """Report on a measurement that was started."""
        self._measured = measured
        self.is_low = False

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        """Gather what all processes wrote and print it, unless the run did not come to its end."""
        self._measured.stop()
        self._measured.save()
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            return
        self._measured.combine()
        lines = io.StringIO()
        percent = self._measured.report(file=lines)
        self.is_low = percent < FLOOR_PERCENT
        verdict = "below" if self.is_low else "at least"
        terminalreporter.section("coverage")
        terminalreporter.write_line(lines.getvalue())
        terminalreporter.write_line(f"covered: {percent:.1f} %, {verdict} {FLOOR_PERCENT:.1f} %")


def main(arguments: list[str]) -> int:
    """Run the suite.

    Args:
        arguments: pytest's; with any, nothing is measured, since a part covers only a part.

    Returns:
        pytest's exit code; 1 when all passed but too little was covered; 130 after Ctrl-C.
    """
    interruption = Interruption()
    if arguments:
        code = int(pytest.main(arguments, plugins=[interruption]))
        return EXIT_STOPPED if interruption.happened else code
    report = CoverageReport(_start_measuring(root()))
    code = int(pytest.main([*ON_ALL_CORES], plugins=[interruption, report]))
    if interruption.happened:
        return EXIT_STOPPED
    return EXIT_FAILED if code == 0 and report.is_low else code


def _start_measuring(checkout: Path) -> coverage.Coverage:
    """Measure this process and, by coverage's own start-up file, those it will start."""
    folder = checkout / ".dev" / "coverage"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    measured = coverage.Coverage(
        data_file=str(folder / "data"),
        config_file=str(checkout / "pyproject.toml"),
        source=[str(checkout)],
        omit=[str(checkout / part / "*") for part in ("tests", "scripts", ".dev")],
    )
    measured.start()
    return measured


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(EXIT_STOPPED)
