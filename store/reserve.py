"""A megabyte beside the state file, given up when the disk is full."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["RESERVE_BYTES", "give_up", "put_by"]

RESERVE_BYTES: Final = 1024 * 1024  # a step takes some 10 KB until it is committed
MODE: Final = 0o600
PLENTY: Final = 4  # times the reserve: less free room is as good as none


def put_by(path: Path) -> bool:
    """Put the reserve of a state file by, if it is not, and tell whether it is.

    Args:
        path: of the state file.
    """
    reserve = _of(path)
    with suppress(OSError):
        if reserve.stat().st_size == RESERVE_BYTES:
            return True
    try:
        room = os.statvfs(path.parent)
        if room.f_bavail * room.f_frsize < PLENTY * RESERVE_BYTES:
            return False
        descriptor = os.open(reserve, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE)
        try:
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
        finally:
            os.close(descriptor)
    except OSError:
        give_up(path)
        return False
    return True


def give_up(path: Path) -> bool:
    """Give the reserve up; False: there was none."""
    try:
        _of(path).unlink()
    except OSError:
        return False
    return True


def _of(path: Path) -> Path:
    return path.with_name(f"{path.name}.reserve")
