"""What a hundred thousand known threads cost that are not asked anything."""

import json
import subprocess
import sys
from pathlib import Path

import anyio.to_thread

from . import ready
from .figures import Figure, at_most
from .filling import fill

__all__ = ["known_threads"]

MOST_MB = 40
MOST_LATER_MS = 100
MOST_PAUSE_MS = 50


async def known_threads(folder: Path, rounds: int, threads: int) -> list[Figure]:
    """Start a process on an empty file and one on a full one, in turns."""
    empty, full = folder / "empty", folder / "full"
    empty.mkdir()
    await anyio.to_thread.run_sync(fill, full / "chatto" / "state.db", threads)
    size_mb = (full / "chatto" / "state.db").stat().st_size / 1_000_000
    more: dict[str, list[float]] = {"ready_ms": [], "resident_mb": [], "pause_ms": []}
    for _ in range(rounds):
        without = await anyio.to_thread.run_sync(_start, empty)
        among = await anyio.to_thread.run_sync(_start, full)
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


def _start(folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", ready.__name__, str(folder)]
    done = subprocess.run(  # noqa: S603  our own module
        command, check=True, capture_output=True, text=True, timeout=120
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found
