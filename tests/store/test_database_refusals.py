"""What stands in the way of the state file is told, with a remedy."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_chatto.store import turns
from hermes_chatto.store.database import (
    FolderNotWritableError,
    open_database,
)
from hermes_chatto.tests.store.files import (
    fill,
    garble_header,
    mode_of,
    no_file_longer_than,
    opening,
    receive_together,
)
from hermes_chatto.tests.store.samples import NOW, receive, turn

NOBODY = 65534


def test_file_in_place_of_the_folder_is_told(path: Path) -> None:
    """With the path and the remedy."""
    path.parent.write_text("a file")

    with pytest.raises(FolderNotWritableError) as refused:
        open_database(path, now=NOW)

    assert str(path.parent) in str(refused.value)
    assert "Move that away" in str(refused.value)
    assert path.parent.read_text() == "a file"


def test_file_in_place_of_a_folder_further_up_is_told(path: Path) -> None:
    """The folder cannot even be looked for."""
    path.parent.write_text("a file")

    with pytest.raises(FolderNotWritableError, match="Move that away"):
        open_database(path / "deeper" / "state.db", now=NOW)


def test_folder_in_place_of_the_file_is_told_and_left_alone(path: Path) -> None:
    """Its permissions, too."""
    path.mkdir(parents=True, mode=0o755)
    before = mode_of(path)

    with pytest.raises(FolderNotWritableError) as refused:
        open_database(path, now=NOW)

    assert f"{path} cannot be made" in str(refused.value)
    assert mode_of(path) == before


def test_link_into_nowhere_is_told(path: Path) -> None:
    """The disk it pointed at is not mounted."""
    path.parent.mkdir()
    path.symlink_to(path.parent / "gone" / "state.db")

    with pytest.raises(FolderNotWritableError, match="HERMES_HOME"):
        open_database(path, now=NOW)


def test_name_that_no_disk_takes_is_told(tmp_path: Path) -> None:
    """As any other refusal to make the folder."""
    with pytest.raises(FolderNotWritableError, match="HERMES_HOME"):
        open_database(tmp_path / ("x" * 300) / "state.db", now=NOW)
    with pytest.raises(FolderNotWritableError, match="HERMES_HOME"):
        open_database(tmp_path / "chatto" / ("x" * 300), now=NOW)


def test_full_disk_is_told_and_the_next_start_begins_anew(path: Path) -> None:
    """Half a schema is no schema."""
    with no_file_longer_than(8_192), pytest.raises(FolderNotWritableError) as refused:
        open_database(path, now=NOW)

    assert str(path) in str(refused.value)
    assert "free space" in str(refused.value)
    with opening(path) as opened:
        assert receive(opened.db).lane_order == 1


def test_disk_without_room_for_a_row_loses_none_that_was_written(path: Path) -> None:
    """The transaction is undone as a whole, and the same connection works again later."""
    with opening(path) as opened:
        receive(opened.db, "m1")

        with no_file_longer_than(path.stat().st_size), pytest.raises(sqlite3.OperationalError):
            receive_together(opened.db, turn("m2"), turn("m3", body="x" * 200_000))

        receive(opened.db, "m4")
        found = turns.find_all(opened.db, "default", ["m1", "m2", "m3", "m4"])
        assert sorted(found) == ["m1", "m4"]


@contextmanager
def folder_of_somebody_else() -> Iterator[Path]:
    """Lose the rights of root, whom no permission stops, and return a folder that stays."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        # Not in the default folder: the gateway sets one of its own, which is root's.
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            yield Path(folder)
    finally:
        if is_root:
            os.seteuid(0)


def test_folder_that_may_not_be_made_is_told() -> None:
    """The user of the gateway is not the owner of HERMES_HOME."""
    with folder_of_somebody_else(), pytest.raises(FolderNotWritableError) as refused:
        open_database(Path("/chatto-of-root/state.db"), now=NOW)

    assert "/chatto-of-root cannot be written (Permission denied)" in str(refused.value)


def test_file_that_may_not_be_written_is_told() -> None:
    """It belongs to somebody else, who started the gateway once."""
    with folder_of_somebody_else() as folder:
        path = folder / "state.db"
        path.symlink_to("/etc/passwd")

        with pytest.raises(FolderNotWritableError) as refused:
            open_database(path, now=NOW)

        assert f"{path} cannot be written (Operation not permitted)" in str(refused.value)


def test_damaged_file_that_cannot_be_moved_is_told(path: Path) -> None:
    """And is still there: nothing is begun over it."""
    fill(path)
    garble_header(path)
    before = path.read_bytes()
    # The longest name a file can have leaves no room for the one it would get.
    longest = path.with_name("x" * 233)
    path.rename(longest)

    with pytest.raises(FolderNotWritableError, match="File name too long"):
        open_database(longest, now=NOW)

    assert longest.read_bytes() == before
