"""A damaged state file is set aside, whole, and a fresh one begun."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_chatto.store.database import (
    LOOKED_THROUGH_BYTES,
    FileLockedError,
    open_database,
)
from hermes_chatto.tests.store.files import (
    SAFE_FOR_WAL,
    cut_off_half,
    cut_off_within_the_last_page,
    fill,
    garble_header,
    mode_of,
    opening,
    overwrite_one_page,
    overwrite_pages,
    replace_by_text,
    umask,
)
from hermes_chatto.tests.store.samples import NOW, receive


@pytest.mark.parametrize(
    "damage",
    [
        garble_header,
        overwrite_pages,
        overwrite_one_page,
        cut_off_half,
        cut_off_within_the_last_page,
        replace_by_text,
    ],
)
@pytest.mark.parametrize("mask", [0o000, 0o077], ids=oct)
def test_damaged_file_is_set_aside_and_a_fresh_one_begun(
    path: Path,
    damage: Callable[[Path], None],
    mask: int,
) -> None:
    """By a name that says when; whoever repairs it finds it whole, and nobody else may read it."""
    fill(path)
    damage(path)
    content = path.read_bytes()

    with umask(mask), opening(path) as opened:
        copy = path.with_name("state.db.damaged-20260504T120000Z")
        assert opened.set_aside == copy
        assert copy.read_bytes() == content
        assert mode_of(copy) == 0o600
        assert opened.db.table("turns").count == 0
        assert receive(opened.db).lane_order == 1


def test_side_files_go_along_with_a_damaged_file(path: Path) -> None:
    """A log of the old file must neither be lost nor be played into the new one."""
    fill(path)
    with opening(path, release=SAFE_FOR_WAL) as other:
        receive(other.db, "in-the-log")
        overwrite_pages(path)
        log = path.with_name("state.db-wal").read_bytes()
        assert b"in-the-log" in log

        with opening(path, release=SAFE_FOR_WAL) as opened:
            assert opened.set_aside is not None
            for suffix in ("-wal", "-shm"):
                moved = opened.set_aside.with_name(opened.set_aside.name + suffix)
                assert mode_of(moved) == 0o600
            assert opened.set_aside.with_name(f"{opened.set_aside.name}-wal").read_bytes() == log
            assert opened.db.table("turns").count == 0


def test_second_damage_at_the_same_second_keeps_the_first_copy(path: Path) -> None:
    """What was set aside is evidence; it is never written over."""
    names = []
    for text in ("first", "second", "third"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text * 200)
        with opening(path) as opened:
            assert opened.set_aside is not None
            names.append(opened.set_aside.name)
            assert opened.set_aside.read_text() == text * 200

    assert names == [f"state.db.damaged-20260504T120000Z{end}" for end in ("", "-2", "-3")]


def test_damaged_file_that_another_process_sets_aside_is_left_to_it(path: Path) -> None:
    """Two that move it would move the fresh one, too."""
    fill(path)
    garble_header(path)
    content = path.read_bytes()
    with closing(sqlite3.connect(f"{path}.repair-lock", isolation_level=None)) as other:
        other.execute("begin exclusive")

        with pytest.raises(FileLockedError, match="repair-lock"):
            open_database(path, now=NOW, busy_timeout_s=0.05)

    assert path.read_bytes() == content
    assert mode_of(path.with_name("state.db.repair-lock")) == 0o600


def test_file_that_is_set_aside_while_it_is_opened_is_opened_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process was the first to find the damage: between two calls the file is gone."""
    fill(path)
    garble_header(path)
    aside = path.with_name("state.db.damaged-by-another")
    really_connect = sqlite3.connect

    def connect(file: object, **how: Any) -> sqlite3.Connection:  # noqa: ANN401  its keywords
        connection: sqlite3.Connection = really_connect(file, **how)  # type: ignore[call-overload]
        if file == path and not aside.exists():
            path.rename(aside)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)
    with opening(path) as opened:
        assert opened.db.table("turns").count == 0
    assert aside.exists()


def test_large_file_is_not_looked_through_at_every_start(path: Path) -> None:
    """That would take a second; the damage shows when the page is read."""
    fill(path, LOOKED_THROUGH_BYTES // 1_000)
    assert path.stat().st_size > LOOKED_THROUGH_BYTES
    overwrite_one_page(path)

    with opening(path) as opened:
        assert opened.set_aside is None
        with pytest.raises(sqlite3.DatabaseError, match="malformed"):
            opened.db.execute("select * from turns").fetchall()
