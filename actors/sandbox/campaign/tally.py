"""What a campaign has done and found."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .judge import Verdict
from .points import Point

__all__ = ["StuckError", "Tally"]

NAMED_POINTS = 40  # more say nothing to a reader; the campaign was too short


class StuckError(Exception):
    """Something did not come to rest; the text says what."""


@dataclass
class Tally:
    """Counts; filled in as it goes on."""

    kills: Counter[str] = field(default_factory=Counter)
    """By kind."""
    questions: int = 0
    runs: int = 0
    """Turns that the gateway had when it was killed."""
    not_reached: int = 0
    """Points that were not passed this time; the questions were answered instead."""
    points: int = 0
    """Distinct await points that are known."""
    points_left: Sequence[Point] = ()
    """Those of them where nobody was killed."""
    verdict: Verdict = field(default_factory=Verdict)
    stuck: list[str] = field(default_factory=list)

    @property
    def killed(self) -> int:
        """Return the number of kills."""
        return self.kills.total()

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost, twice, odd or stuck."""
        return not self.stuck and not self.verdict.flaws

    def lines(self) -> Iterator[str]:
        """Say it in lines."""
        by_kind = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kills.items()))
        yield f"{self.killed} kills ({by_kind or 'none'})"
        if self.points:
            yield (
                f"{self.points - len(self.points_left)} of {self.points} known await points "
                f"killed at; {self.not_reached} times the point did not come"
            )
            if len(self.points_left) <= NAMED_POINTS:
                yield from (f"  not at: {' '.join(point.words)}" for point in self.points_left)
        if self.runs:
            yield f"{self.runs} turns were at the gateway when it was killed"
        verdict = self.verdict
        ended = ", ".join(f"{count} {reason}" for reason, count in sorted(verdict.ended.items()))
        yield (
            f"{self.questions} questions: {verdict.answered} answered, "
            f"{verdict.ended.total()} failed by name ({ended or 'none'})"
        )
        yield (
            f"{len(verdict.lost)} lost, {len(verdict.twice)} answered twice, "
            f"{len(self.stuck)} stuck, {len(verdict.odd)} otherwise wrong"
        )
        for flaw in (*verdict.flaws, *self.stuck):
            yield f"  {flaw}"
