"""Which lines of a backlog are handed over now: pure arithmetic over lines in order."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from .lines import Line, shorten

__all__ = ["AHEAD", "Budget", "Slice", "beginning", "newest", "next_slice"]

AHEAD = 5  # the newest lines before the trigger: the question is about them


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a backlog one turn may bring along."""

    lines: int
    """Lines of a slice; the newest five come on top."""
    characters: int
    """Of all of them together."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What is handed over now, and what is left."""

    oldest: Sequence[Line]
    """The slice: from the frontier on."""
    newest: Sequence[Line]
    """Handed ahead of the drain; not repeated when it reaches them."""
    left: int
    """Lines between the two, still to come; of those that are known."""


def next_slice(backlog: Sequence[Line], tail: Sequence[Line], budget: Budget) -> Slice:
    """Cut the next slice off a backlog.

    The newest lines before the trigger go ahead, within half of the characters; the slice takes
    lines from the beginning, as many as the rest allows. Only a line that is over the budget by
    itself is shortened: another one waits for a turn in which it fits.

    Args:
        backlog: what the session lacks, oldest first, as far as it was read.
        tail: those of the newest lines before the trigger that it lacks, oldest first.
        budget: how much fits.
    """
    ahead = list(tail[-AHEAD:])
    waiting = _without(backlog, ahead)
    if not _fits(waiting, ahead, budget):
        ahead = _newest_beside(backlog, ahead, budget)
        waiting = _without(backlog, ahead)
    rest = budget.characters - sum(len(line.text) for line in ahead)
    oldest = _fitting(waiting, budget.lines, rest, budget.characters)
    return Slice(oldest, ahead, len(waiting) - len(oldest))


def newest(lines: Sequence[Line], budget: Budget) -> Slice:
    """Take the newest lines that fit; what is older is left out for good.

    Args:
        lines: oldest first.
        budget: how much fits.
    """
    kept = _fitting(list(reversed(lines)), budget.lines, budget.characters, 0)[::-1]
    return Slice((), kept, len(lines) - len(kept))


def beginning(
    root: Line | None, lines: Sequence[Line], budget: Budget
) -> tuple[list[Line], Slice]:
    """Take a root and the newest lines behind it.

    The root is shortened only where it would leave less than half of the characters to others
    who need them.

    Args:
        root: None: it is gone, or there is none.
        lines: oldest first.
        budget: how much fits; the root comes on top of the lines.
    """
    if root is None:
        return [], newest(lines, budget)
    wanted = sum(len(line.text) for line in lines[-budget.lines :])
    limit = max(budget.characters // 2, budget.characters - wanted)
    shown = shorten(root, limit)
    rest = budget.characters - len(shown.text)
    return [shown], newest(lines, Budget(budget.lines, rest))


def _without(backlog: Sequence[Line], ahead: Sequence[Line]) -> list[Line]:
    taken = {line.message_id for line in ahead}
    return [line for line in backlog if line.message_id not in taken]


def _fits(waiting: Sequence[Line], ahead: Sequence[Line], budget: Budget) -> bool:
    characters = sum(len(line.text) for line in (*waiting, *ahead))
    return len(waiting) <= budget.lines and characters <= budget.characters


def _newest_beside(backlog: Sequence[Line], tail: Sequence[Line], budget: Budget) -> list[Line]:
    """Return the newest lines that fit, and leave the first of the backlog what it needs."""
    first = len(backlog[0].text) if backlog else 0
    half = budget.characters // 2
    rest = half if first > budget.characters else min(half, budget.characters - first)
    # One over the budget is shortened to half of it, never to less: then it comes by itself.
    most = budget.characters if rest == half else sys.maxsize
    return _fitting(list(reversed(tail)), AHEAD, rest, most)[::-1]


def _fitting(lines: Sequence[Line], count: int, characters: int, most: int) -> list[Line]:
    """Return the first lines that fit; the very first is shortened if it is over the most."""
    fitting: list[Line] = []
    left = characters
    for line in lines[:count]:
        if len(line.text) > left:
            if not fitting and left > 0 and len(line.text) > most:
                fitting.append(shorten(line, left))
            break
        fitting.append(line)
        left -= len(line.text)
    return fitting
