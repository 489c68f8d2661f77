"""Long programs that run beside the tests: each is asked for its outcome when its turn comes.

They take the second core, and mostly wait. A test module lists its programs in `BESIDE`; they
are started as soon as the tests are chosen, one after the other.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

__all__ = ["RUNS", "Beside", "Runs"]

Beside = Mapping[str, Callable[[], Any]]
"""Programs by name; each returns how it ended."""


class Runs:
    """The programs of the chosen tests, under way."""

    def __init__(self, programs: Beside) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1)
        self._futures: Mapping[str, Future[Any]] = {
            name: self._executor.submit(program) for name, program in programs.items()
        }

    def outcome(self, name: str) -> Any:  # noqa: ANN401 - as the program says
        """Wait for the end of a program, and return what it returns."""
        return self._futures[name].result()

    def close(self) -> None:
        """Start nothing more."""
        self._executor.shutdown(wait=False, cancel_futures=True)


RUNS = pytest.StashKey[Runs]()
