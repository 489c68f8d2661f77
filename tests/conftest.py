"""Fixtures for the whole suite."""

import signal
from pathlib import Path

import pytest
from hypothesis.configuration import set_hypothesis_home_dir

from hermes_chatto.scripts.halves import ELSEWHERE
from hermes_chatto.tests.beside import RUNS, Runs

# beside the caches of the other tools: nothing is left in a checkout but .dev
set_hypothesis_home_dir(Path(__file__).resolve().parent.parent / ".dev" / "cache" / "hypothesis")

# A suite that a shell started in the background ignores Ctrl-C, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start what runs beside the chosen tests."""
    elsewhere = session.config.stash.get(ELSEWHERE, frozenset[str]())
    items = [
        item
        for item in session.items
        if isinstance(item, pytest.Function) and item.nodeid not in elsewhere
    ]
    modules = dict.fromkeys(item.module for item in items)  # in the order of their tests
    listed = [getattr(module, "BESIDE", {}) for module in modules]
    if not session.config.option.collectonly:
        session.config.stash[RUNS] = Runs({name: each[name] for each in listed for name in each})


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Start nothing more of it."""
    if RUNS in session.config.stash:
        session.config.stash[RUNS].close()


@pytest.fixture(scope="session")
def runs_beside(request: pytest.FixtureRequest) -> Runs:
    """Return what runs beside the tests."""
    return request.config.stash[RUNS]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asyncio only: the gateway and chattolib run on nothing else."""
    return "asyncio"
