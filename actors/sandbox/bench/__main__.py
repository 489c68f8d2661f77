"""`./dev bench`: measure everything, print it, and keep it in `.dev/bench.json`."""

import argparse
import json
import logging
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import anyio

from ...runtime.clock import utc_text
from .answering_time import commits_and_added_time, cost_among_many_threads
from .catching_up import catching_up
from .discarding import discarding
from .figures import Figure, table_of
from .known_threads import known_threads
from .row_pairs import row_pairs

__all__ = ["main", "measure"]

FILE = Path(".dev") / "bench.json"
MISSED = 1
LIMIT_S = 1_200.0


class Measure(NamedTuple):
    """One thing to measure, and how much of it: rounds, and what is done in each."""

    title: str
    run: Callable[[Path, int, int], Awaitable[list[Figure]]]
    whole: tuple[int, int]
    reduced: tuple[int, int]


MEASURES = (
    Measure("From the frame to the agent", commits_and_added_time, (7, 100), (1, 3)),
    Measure("Among many threads", cost_among_many_threads, (5, 60), (2, 3)),
    Measure("Rows", row_pairs, (7, 10_000), (1, 200)),
    Measure("Presence and typing", discarding, (7, 50_000), (1, 500)),
    Measure("Catch-up", catching_up, (5, 10_000), (2, 100)),
    Measure("Known threads", known_threads, (5, 100_000), (2, 1_000)),
)


def main(arguments: Sequence[str]) -> int:
    """Measure; 0: every target is met, 1: one is missed, or it took too long.

    Args:
        arguments: `--reduced` to see that it runs, in seconds; `--output FILE`.
    """
    parser = argparse.ArgumentParser(prog="dev bench")
    parser.add_argument("--reduced", action="store_true", help="little of everything, in seconds")
    parser.add_argument("--output", type=Path, default=FILE, help=f"default: {FILE}")
    chosen = parser.parse_args(arguments)
    found = anyio.run(lambda: measure(is_reduced=chosen.reduced))
    _write(chosen.output, found, is_reduced=chosen.reduced)
    figures = [figure for _, several in found for figure in several]
    missed = [figure.name for figure in figures if figure.is_met is False]
    sys.stdout.write(f"kept in {chosen.output}; missed: {'; '.join(missed) or 'none'}\n")
    return MISSED if missed and not chosen.reduced else 0


async def measure(*, is_reduced: bool) -> list[tuple[str, list[Figure]]]:
    """Run every measure in a folder that is gone afterwards.

    Raises:
        TimeoutError: it took longer than 20 minutes.
    """
    found = list[tuple[str, list[Figure]]]()
    sys.stdout.write(f"{_machine()}\n\n")
    with anyio.fail_after(LIMIT_S), tempfile.TemporaryDirectory() as folder:
        for number, each in enumerate(MEASURES):
            place = Path(folder) / str(number)
            place.mkdir()
            rounds, amount = each.reduced if is_reduced else each.whole
            figures = await each.run(place, rounds, amount)
            found.append((each.title, figures))
            sys.stdout.write(f"{each.title}: {rounds} rounds of {amount:,}\n{table_of(figures)}\n")
            sys.stdout.flush()
    return found


def _machine() -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{os.cpu_count()} cores, load {load}; median (least to most) of the rounds"
    )


def _write(path: Path, found: Sequence[tuple[str, list[Figure]]], *, is_reduced: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "at": utc_text(datetime.now(UTC)),
        "machine": _machine(),
        "is_reduced": is_reduced,
        "measures": [
            {"title": title, "figures": [figure.as_json() for figure in figures]}
            for title, figures in found
        ],
    }
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    logging.getLogger().setLevel(logging.ERROR)
    sys.exit(main(sys.argv[1:]))
