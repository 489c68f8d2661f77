"""Fixtures for the whole suite."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asyncio only: the gateway and chattolib run on nothing else."""
    return "asyncio"
