"""What a hundred thousand known threads cost that are not asked anything."""

import json
import subprocess
import sys
from pathlib import Path

import anyio.to_thread

from . import ready
from .figures import Figure, at_most
from .filling import copy_file, fill, state_file_in

__all__ = ["known_threads"]

MOST_MB = 40
MOST_LATER_MS = 100
MOST_PAUSE_MS = 50


async def known_threads(folder: Path, rounds: int, threads: int) -> list[Figure]:
    """Start a process on an empty file and one on a full one, in turns."""
    empty, full = folder / "empty", folder / "full"
    await anyio.to_thread.run_sync(fill, state_file_in(empty), 0)
    await anyio.to_thread.run_sync(fill, state_file_in(full), threads)
    size_mb = state_file_in(full).stat().st_size / 1_000_000
    more: dict[str, list[float]] = {"ready_ms": [], "resident_mb": [], "pause_ms": []}
    for number in range(rounds):
        without = await anyio.to_thread.run_sync(_start, empty, folder / f"empty {number}")
        among = await anyio.to_thread.run_sync(_start, full, folder / f"full {number}")
        for name, values in more.items():
            values.append(among[name] - without[name])
    known = f"{threads:,} known threads"
    return [
        Figure(f"{known}: memory", "MB more", more["resident_mb"], at_most(MOST_MB)),
        Figure(
            f"{known}: ready later",
            "ms",
            more["ready_ms"],
            at_most(MOST_LATER_MS),
            f"the file has {size_mb:.0f} MB",
        ),
        Figure(f"{known}: longest GC pause", "ms more", more["pause_ms"], at_most(MOST_PAUSE_MS)),
    ]


def _start(filled: Path, played: Path) -> dict[str, float]:
    copy_file(filled, played)
    command = [sys.executable, "-m", ready.__name__, str(played)]
    done = subprocess.run(  # noqa: S603  our own module
        command, check=True, capture_output=True, text=True, timeout=120
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found
