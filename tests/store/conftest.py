"""Every test has a state file of its own; SQLite is always real."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlite_utils import Database

from hermes_chatto.store.database import open_database
from hermes_chatto.tests.store.samples import NOW


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the state file will be; its folder is missing, too."""
    return tmp_path / "chatto" / "state.db"


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    """Return an open state file without rows."""
    opened = open_database(path, now=NOW)
    yield opened.db
    opened.db.close()
