"""Fixtures for the whole suite."""

import signal
from pathlib import Path

import pytest
from hypothesis.configuration import set_hypothesis_home_dir

# beside the caches of the other tools: nothing is left in a checkout but .dev
set_hypothesis_home_dir(Path(__file__).resolve().parent.parent / ".dev" / "cache" / "hypothesis")

# A suite that a shell started in the background ignores Ctrl-C, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asyncio only: the gateway and chattolib run on nothing else."""
    return "asyncio"
