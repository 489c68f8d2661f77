"""Which lines of a backlog are handed over now: pure arithmetic over lines in order."""

from collections.abc import Sequence
from dataclasses import dataclass

from .lines import Line, shorten

__all__ = ["AHEAD", "Budget", "Slice", "newest", "next_slice"]

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

    @property
    def is_drained(self) -> bool:
        """Whether nothing of the known backlog is left."""
        return self.left == 0


def next_slice(backlog: Sequence[Line], tail: Sequence[Line], budget: Budget) -> Slice:
    """Cut the next slice off a backlog.

    The slice takes lines from its beginning, as many as the budget allows; then the newest
    lines before the trigger follow, which have half of the characters at most.

    Args:
        backlog: what the session lacks, oldest first, as far as it was read.
        tail: those of the newest lines before the trigger that it lacks, oldest first.
        budget: how much fits.
    """
    ahead = _fitting(list(reversed(tail[-AHEAD:])), AHEAD, budget.characters // 2)[::-1]
    taken = {line.message_id for line in ahead}
    rest = budget.characters - sum(len(line.text) for line in ahead)
    waiting = [line for line in backlog if line.message_id not in taken]
    oldest = _fitting(waiting, budget.lines, rest)
    return Slice(oldest, ahead, len(waiting) - len(oldest))


def newest(lines: Sequence[Line], budget: Budget) -> Slice:
    """Take the newest lines that fit; what is older is left out for good.

    Args:
        lines: oldest first.
        budget: how much fits.
    """
    kept = _fitting(list(reversed(lines)), budget.lines, budget.characters)[::-1]
    return Slice((), kept, len(lines) - len(kept))


def _fitting(lines: Sequence[Line], count: int, characters: int) -> list[Line]:
    """Return the first lines that fit; a single one that does not is shortened."""
    fitting: list[Line] = []
    left = characters
    for line in lines[:count]:
        if len(line.text) > left:
            if not fitting and left > 0:
                fitting.append(shorten(line, left))
            break
        fitting.append(line)
        left -= len(line.text)
    return fitting
