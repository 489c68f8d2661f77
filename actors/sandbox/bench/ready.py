"""A process that starts a profile once and says what that took: started by `known_threads`."""

import asyncio
import gc
import json
import resource
import sys
import time
from pathlib import Path

from .rig import ours, stage

__all__ = ["main"]

QUESTIONS = 5
MEGABYTE = 1_000_000


def main(folder: Path) -> None:
    """Start on the folder's state file, ask something, and print the figures as JSON."""
    sys.stdout.write(json.dumps(asyncio.run(_measure(folder))) + "\n")


async def _measure(folder: Path) -> dict[str, float]:
    pauses = [0.0]
    began = [0.0]

    def watch(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            began[0] = time.perf_counter()
        else:
            pauses.append(time.perf_counter() - began[0])

    async with stage(folder) as opened:
        gc.collect()
        gc.callbacks.append(watch)
        start = time.perf_counter()
        async with ours(opened) as rig:
            ready_ms = 1_000 * (time.perf_counter() - start)
            thread = await rig.ask("@hermes hi")
            await rig.ask_in_turns([thread], QUESTIONS)
            gc.collect()
            resident = _resident_bytes()
    return {
        "ready_ms": ready_ms,
        "resident_mb": resident / MEGABYTE,
        "pause_ms": 1_000 * max(pauses),
    }


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
