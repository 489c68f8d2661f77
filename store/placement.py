"""Where the state file stands: its folder, its permissions, its side files, its place.

Nothing here opens the file: to close a descriptor of it is to give up every lock this process
has on it.
"""

import os
import stat
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from .state_errors import FolderNotWritableError, not_writable

__all__ = ["SIDE_FILES", "forget_side_files", "make_folder", "make_private", "set_aside"]

FOLDER_MODE = 0o700
FILE_MODE = 0o600
SIDE_FILES = ("-wal", "-shm", "-journal")  # a crash leaves them, and they are part of the file


def set_aside(path: Path, now: datetime, why: str = "damaged") -> Path:
    """Move a file and its side files away, together and under a free name.

    The file goes last: as soon as its name is free another process makes a new one, and the
    side files of that name are the new one's.

    Args:
        path: the file.
        now: stands in the new name.
        why: stands there, too.

    Raises:
        FolderNotWritableError: it cannot be moved.
    """
    try:
        target = _free_name(path, f"{path.name}.{why}-{now:%Y%m%dT%H%M%SZ}")
        for suffix in SIDE_FILES:
            with suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
        path.rename(target)
    except OSError as error:
        raise not_writable(path, error) from error
    return target


def forget_side_files(path: Path) -> None:
    """Delete what stands beside a place where no file is; it would be played into a new one."""
    for suffix in SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _free_name(path: Path, name: str) -> Path:
    number, target = 1, path.with_name(name)
    while target.exists():
        number += 1
        target = path.with_name(f"{name}-{number}")
    return target


def make_folder(folder: Path) -> None:
    """Make the folder where it is missing, and close it to others.

    Raises:
        FolderNotWritableError: it cannot be made, or something else is in its place.
    """
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) != FOLDER_MODE:
            folder.chmod(FOLDER_MODE)
    except (FileExistsError, NotADirectoryError) as error:
        raise _in_the_way(folder, "a folder") from error
    except OSError as error:
        raise not_writable(folder, error) from error


def make_private(path: Path) -> None:
    """Create the file for its owner only, whatever the umask; new side files follow it.

    Raises:
        FolderNotWritableError: it cannot be made, or something else is in its place.
    """
    try:
        try:
            _close_to_others(path)
        except FileNotFoundError:
            # Another process set it aside just now.
            _close_to_others(path)
    except OSError as error:
        raise not_writable(path, error) from error


def _close_to_others(path: Path) -> None:
    # Only a new file is opened here: to close one is to give up every lock this process
    # has on it (POSIX), also those of a connection that is in the middle of a write.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
    if path.is_dir():
        raise _in_the_way(path, "a file")
    path.chmod(FILE_MODE)
    for suffix in SIDE_FILES:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).chmod(FILE_MODE)


def _in_the_way(path: Path, needed: str) -> FolderNotWritableError:
    return FolderNotWritableError(
        f"{path} cannot be made: something else stands where {needed} is needed. Move that away, "
        "or point HERMES_HOME elsewhere."
    )
