"""What every test of the Chatto edge stands on."""

import os
from collections.abc import AsyncGenerator, Iterator

import pytest
from blockbuster import BlockBuster, blockbuster_ctx

from hermes_chatto.actors.sandbox.server.sandbox import Sandbox
from hermes_chatto.actors.sandbox.venue import ACCOUNTS, OWNER, Venue


@pytest.fixture(autouse=True)
def blockbuster() -> Iterator[BlockBuster]:
    """Fail a test that blocks the event loop, were it for a single read of a file."""
    with blockbuster_ctx() as guard:
        yield guard


@pytest.fixture
async def venue() -> AsyncGenerator[Venue, None]:
    """People on a server: the sandbox, or the one at CHATTO_PROBE_URL."""
    url = os.environ.get("CHATTO_PROBE_URL", "")
    if url:
        yield Venue(url)
        return
    sandbox = Sandbox()
    for login, password in ACCOUNTS.items():
        sandbox.add_account(login, password, roles=["owner"] if login == OWNER else [])
    async with sandbox as address:
        yield Venue(address)
