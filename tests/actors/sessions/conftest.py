"""Scenarios are played on the embedded server, with a scripted agent."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from hermes_chatto.actors.sandbox.stage import Colleague, colleague


@pytest.fixture
def open_colleague(tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Colleague]]:
    """Return what starts a profile in this test's folder."""
    return partial(colleague, tmp_path)
