"""A megabyte beside the state file, for the answers under way on a full disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_chatto.store.custody import Custodian
from hermes_chatto.store.database import open_database, transaction
from hermes_chatto.store.reserve import RESERVE_BYTES, give_up, put_by
from hermes_chatto.tests.store.files import (
    FILLER,
    fill_up,
    mode_of,
    no_file_longer_than,
    small_disk,
    umask,
)
from hermes_chatto.tests.store.samples import NOW, receive


def reserve_of(path: Path) -> Path:
    """Return where it is."""
    return path.with_name("state.db.reserve")


@pytest.mark.parametrize("mask", [0o000, 0o077], ids=oct)
def test_reserve_takes_real_room_and_is_private(path: Path, mask: int) -> None:
    """A file of nothing but holes would be of no use."""
    path.parent.mkdir()
    with umask(mask):
        assert put_by(path)

    facts = reserve_of(path).stat()
    assert facts.st_size == RESERVE_BYTES
    assert facts.st_blocks * 512 >= RESERVE_BYTES
    assert mode_of(reserve_of(path)) == 0o600
    assert put_by(path)


def test_reserve_is_given_up_once(path: Path) -> None:
    """Then there is nothing left to give up."""
    path.parent.mkdir()
    put_by(path)

    assert give_up(path)
    assert not give_up(path)
    assert not reserve_of(path).exists()


def test_reserve_that_cannot_be_made_leaves_nothing(path: Path) -> None:
    """Half of one would be taken for a whole."""
    assert not put_by(path)
    path.parent.mkdir()
    with no_file_longer_than(RESERVE_BYTES // 2):
        assert not put_by(path)

    assert list(path.parent.iterdir()) == []


def test_open_file_has_a_reserve_and_says_when_it_is_given_up(path: Path) -> None:
    """It is put by again as soon as there is room."""
    keeper = Custodian(lambda: open_database(path, now=NOW).db, lambda: NOW)
    keeper.open()
    assert reserve_of(path).exists()
    assert not keeper.is_short

    assert keeper.make_room()
    assert keeper.is_short
    assert not reserve_of(path).exists()
    keeper.look()
    assert not keeper.is_short
    assert reserve_of(path).exists()
    keeper.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a disk that a test can fill."""
    with small_disk(tmp_path / "disk") as place:
        yield place


def test_answers_are_written_on_a_disk_that_is_really_full(disk: Path) -> None:
    """Some dozens of them; then it says so, and goes on when there is room."""
    path = disk / "chatto" / "state.db"
    keeper = Custodian(lambda: open_database(path, now=NOW).db, lambda: NOW)
    keeper.open()
    fill_up(disk)
    assert keeper.make_room()

    for number in range(40):
        with transaction(keeper.look()):
            receive(keeper.look(), f"m{number}", body="x" * 9_000)

    assert keeper.is_short
    assert not keeper.make_room()
    (disk / FILLER).unlink()
    keeper.look()
    assert not keeper.is_short
    keeper.close()
