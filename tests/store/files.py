"""State files to open: filled, damaged, on a full disk."""

import os
import resource
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database

from hermes_chatto.store import turns
from hermes_chatto.store.database import (
    Opened,
    open_database,
    transaction,
)
from hermes_chatto.store.turns import TurnRow
from hermes_chatto.tests.store.samples import NOW, receive

FILLER = "filler"
OPENER = Path(__file__).with_name("opener.py")
SAFE_FOR_WAL = (3, 51, 3)
NOT_SAFE_FOR_WAL = (3, 40, 1)


def mode_of(path: Path) -> int:
    """Return the permissions of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)


def fill(path: Path, count: int = 40) -> None:
    """Make a state file with rows on many pages, the last one filled with words alone."""
    opened = open_database(path, now=NOW)
    with transaction(opened.db):
        rows = [receive(opened.db, f"m{number}", body="x" * 1_000) for number in range(count)]
        turns.save(opened.db, rows[-1]._replace(body="y" * 9_900))
    opened.db.close()


def receive_together(db: Database, *rows: TurnRow) -> None:
    """Write receipts in one transaction."""
    with transaction(db):
        for row in rows:
            turns.receive(db, row)


def rows_of(path: Path) -> int:
    """Return how many turns a file has."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("select count(*) from turns").fetchone()[0])


@contextmanager
def opening(path: Path, **how: Any) -> Iterator[Opened]:  # noqa: ANN401  keywords of the opener
    """Open a state file and close it again."""
    opened = open_database(path, now=NOW, **how)
    try:
        yield opened
    finally:
        opened.db.close()


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Take these permissions from whatever is made."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def garble_header(path: Path) -> None:
    """Write text over the beginning."""
    content = path.read_bytes()
    path.write_bytes(b"<html>captive portal</html>" + content[27:])


def overwrite_pages(path: Path) -> None:
    """Write noise over some pages in the middle."""
    content = bytearray(path.read_bytes())
    content[4 * 4096 : 9 * 4096] = b"\xa5" * (5 * 4096)
    path.write_bytes(content)


def overwrite_one_page(path: Path) -> None:
    """Write noise over the rows of one page; everything else can still be read."""
    content = bytearray(path.read_bytes())
    begin = content.rindex(b"x" * 1_000) // 4096 * 4096
    content[begin : begin + 4096] = b"\xa5" * 4096
    path.write_bytes(content)


def cut_off_half(path: Path) -> None:
    """Lose the second half."""
    os.truncate(path, path.stat().st_size // 2)


def cut_off_within_the_last_page(path: Path) -> None:
    """Lose less than a page, which SQLite takes for zeros."""
    os.truncate(path, path.stat().st_size - 3_000)


def replace_by_text(path: Path) -> None:
    """Put something else entirely in its place."""
    path.write_text("the state was here\n" * 50)


@contextmanager
def no_file_longer_than(limit: int) -> Iterator[None]:
    """Refuse to write beyond this, as a full disk or a quota does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """Make a disk of 8 MB; only whoever may mount one can see a disk that is really full."""
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None or os.geteuid():
        pytest.skip("nobody may mount a disk here")
    command = [mount, "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if subprocess.run(command, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        # Lazily: a failed test may have left a file open.
        subprocess.run([umount, "-l", str(place)], check=True)


def fill_up(disk: Path) -> None:
    """Write until there is no room left, to the last block."""
    with (disk / FILLER).open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4_096)
