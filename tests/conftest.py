"""Fixtures for the whole suite."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis.configuration import set_hypothesis_home_dir

# beside the caches of the other tools: nothing is left in a checkout but .dev
set_hypothesis_home_dir(Path(__file__).resolve().parent.parent / ".dev" / "cache" / "hypothesis")

# A suite that a shell started in the background ignores Ctrl-C, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = frozenset({"end_to_end", "conformance", "test_quality.py", "scripts"})
"""What is below `tests` and starts programs."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let what takes longest begin first, where several processes share the suite."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        tests = config.rootpath / "tests"
        items.sort(key=lambda item: item.path.relative_to(tests).parts[0] not in LONGEST)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asyncio only: the gateway and chattolib run on nothing else."""
    return "asyncio"
