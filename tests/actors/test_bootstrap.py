"""The composition root: what a start says of its state file."""

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_chatto.actors.bootstrap import open_state
from hermes_chatto.tests.store.files import fill, garble_header, no_file_longer_than

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_damaged_file_costs_no_row_that_can_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What was answered is known in the new file, so nothing is answered twice."""
    path = tmp_path / "chatto" / "state.db"
    fill(path, 40)
    garble_header(path)

    with caplog.at_level(logging.WARNING):
        db = open_state(path)

    assert db.table("turns").count == 40
    db.close()
    (line,) = caplog.messages
    assert "set aside as" in line
    assert "rows that could be read" in line


def test_rows_that_do_not_fit_stay_in_the_damaged_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The start goes on with an empty file; what was set aside is still there."""
    path = tmp_path / "chatto" / "state.db"
    fill(path, 400)
    size = path.stat().st_size
    garble_header(path)

    with no_file_longer_than(200_000):
        db = open_state(path)

    assert db.table("turns").count == 0
    db.close()
    assert "nothing could be copied out of" in caplog.text
    (damaged,) = path.parent.glob("*.damaged-*")
    assert damaged.stat().st_size == size
