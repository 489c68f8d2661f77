"""How long a question takes from the frame to the agent, beside an adapter that stores nothing."""

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing
from functools import partial
from pathlib import Path
from statistics import median

import anyio.to_thread

from ..stage import Colleague
from .figures import Figure, at_most, percentile
from .filling import copy_file, fill, state_file_in
from .rig import Rig, bare, ours, stage

__all__ = ["commits_and_added_time", "cost_among_many_threads"]

THREADS = 4
MOST_COMMITS = 2
MOST_ADDED_MS = 5
MOST_RATIO = 1.2
FEW, MANY = 1_000, 100_000

SIDES: Mapping[str, Callable[[Colleague], AbstractAsyncContextManager[Rig]]] = {
    "bare": bare,
    "ours": ours,
    "no disk": partial(ours, is_durable=False),
}
"""Run in turns."""


async def commits_and_added_time(folder: Path, rounds: int, questions: int) -> list[Figure]:
    """Measure follow-ups in threads whose session holds everything: one read on both sides."""
    p50: dict[str, list[float]] = {name: [] for name in SIDES}
    added_p50, added_p99, apart = [], [], []
    reads = dict[str, list[float]]()
    async with stage(folder) as opened:
        threads = await _threads(opened)
        for _ in range(rounds):
            took = dict[str, list[float]]()
            for name, side in SIDES.items():
                async with side(opened) as rig:
                    await rig.ask_in_turns(threads, THREADS)  # the first is dearer
                    before = sum(opened.sandbox.calls.values())
                    asked = await rig.ask_in_turns(threads, questions)
                    took[name] = rig.watch.took_ms(asked)
                    calls = sum(opened.sandbox.calls.values()) - before
                    reads.setdefault(name, []).append(calls / questions)
            for name, values in took.items():
                p50[name].append(median(values))
            added_p50.append(p50["ours"][-1] - p50["bare"][-1])
            apart.append(p50["no disk"][-1] - p50["bare"][-1])
            added_p99.append(percentile(took["ours"], 99) - percentile(took["bare"], 99))
        async with ours(opened, counts=True) as rig:
            asked = await rig.ask_in_turns(threads, questions)
            commits = [float(rig.watch.commits_within[id_]) for id_ in asked]
    disk = await anyio.to_thread.run_sync(commit_times_ms, folder, 10 * questions)
    return [
        Figure(
            "commits between frame and agent, most",
            "",
            [max(commits)],
            at_most(MOST_COMMITS),
            f"median {median(commits):g}",
        ),
        Figure(
            "time added to a bare adapter, p50",
            "ms",
            added_p50,
            at_most(MOST_ADDED_MS),
            f"two commits of this disk alone: {2 * median(disk):.3g} ms",
        ),
        Figure(
            "time added to a bare adapter, p99",
            "ms",
            added_p99,
            note=f"a commit of the disk alone: p99 {percentile(disk, 99):.3g} ms",
        ),
        Figure("of it, without waiting for the disk, p50", "ms", apart),
        Figure("the whole way, ours, p50", "ms", p50["ours"], note=_reads(reads["ours"])),
        Figure("the whole way, bare, p50", "ms", p50["bare"], note=_reads(reads["bare"])),
        Figure("a commit of the disk alone, p50", "ms", [median(disk)]),
    ]


async def cost_among_many_threads(folder: Path, rounds: int, questions: int) -> list[Figure]:
    """Measure the same way with few and with many known threads in the file."""
    times: dict[int, list[float]] = {FEW: [], MANY: []}
    for size in (FEW, MANY):
        await anyio.to_thread.run_sync(fill, state_file_in(folder / str(size)), size)
    for number in range(rounds):
        for size in (FEW, MANY):
            played = folder / f"{size} in round {number}"
            await anyio.to_thread.run_sync(copy_file, folder / str(size), played)
            async with stage(played) as opened:
                threads = await _threads(opened)
                async with ours(opened) as rig:
                    await rig.ask_in_turns(threads, THREADS)
                    asked = await rig.ask_in_turns(threads, questions)
                    times[size].append(median(rig.watch.took_ms(asked)))
    ratios = [many / few for few, many in zip(times[FEW], times[MANY], strict=True)]
    return [
        Figure(
            f"a question among {MANY:,} known threads against {FEW:,}",
            "x",
            ratios,
            at_most(MOST_RATIO),
            f"{median(times[MANY]):.3g} ms against {median(times[FEW]):.3g} ms",
        )
    ]


async def _threads(opened: Colleague) -> list[str]:
    """Open some threads in which the agent has a session."""
    async with ours(opened) as rig:
        return [await rig.ask(f"@hermes thread {number}") for number in range(THREADS)]


def _reads(per_question: Sequence[float]) -> str:
    return f"{median(per_question):.3g} calls a question"


def commit_times_ms(folder: Path, count: int) -> list[float]:
    """Return how long so many commits of one small row take, one after the other."""
    path = folder / "disk.db"
    times = list[float]()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma synchronous = full")
        connection.execute("create table row (id integer primary key, words text)")
        for _ in range(count):
            began = time.perf_counter()
            connection.execute("insert into row (words) values (?)", ("x" * 200,))
            times.append(1_000 * (time.perf_counter() - began))
    path.unlink()
    return times
