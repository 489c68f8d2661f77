"""What every test of the runtime stands on."""

from collections.abc import Iterator

import pytest
from blockbuster import BlockBuster, blockbuster_ctx


@pytest.fixture(autouse=True)
def blockbuster() -> Iterator[BlockBuster]:
    """Fail a test that blocks the event loop, were it for a single read of a file."""
    with blockbuster_ctx() as guard:
        yield guard
