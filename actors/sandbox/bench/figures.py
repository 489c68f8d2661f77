"""What was measured: the values of all rounds, what they should be, and how they read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

__all__ = ["Figure", "at_least", "at_most", "percentile", "table_of"]


@dataclass(frozen=True, slots=True)
class Target:
    """A bound, and its words."""

    words: str
    is_met_by: Callable[[float], bool]


def at_most(bound: float) -> Target:
    """Return the target not to be above a bound."""
    return Target(f"<= {bound:g}", lambda value: value <= bound)


def at_least(bound: float) -> Target:
    """Return the target not to be below a bound."""
    return Target(f">= {bound:g}", lambda value: value >= bound)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, measured in several rounds."""

    name: str
    unit: str
    rounds: Sequence[float]
    target: Target | None = None
    """None: stated, not judged."""
    note: str = ""

    @property
    def middle(self) -> float:
        """The median of the rounds."""
        return median(self.rounds)

    @property
    def is_met(self) -> bool | None:
        """Whether the median meets the target; None: there is none."""
        return None if self.target is None else self.target.is_met_by(self.middle)

    def as_json(self) -> dict[str, object]:
        """Return it as the file keeps it."""
        return {
            "name": self.name,
            "unit": self.unit,
            "median": self.middle,
            "least": min(self.rounds),
            "most": max(self.rounds),
            "rounds": list(self.rounds),
            "target": self.target.words if self.target else None,
            "is_met": self.is_met,
            "note": self.note,
        }


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that so many percent are not above."""
    if len(values) == 1:
        return values[0]
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def table_of(figures: Sequence[Figure]) -> str:
    """Return all figures as lines to read."""
    width = max(len(figure.name) for figure in figures)
    return "\n".join(_line(figure, width) for figure in figures) + "\n"


def _line(figure: Figure, width: int) -> str:
    spread = f"({_short(min(figure.rounds))} to {_short(max(figure.rounds))})"
    value = f"{_short(figure.middle):>9} {figure.unit:<9} {spread:<22}"
    verdict = {None: "", True: "met", False: "MISSED"}[figure.is_met]
    target = f"{figure.target.words:>8} {verdict:<6}" if figure.target else " " * 15
    return f"{figure.name:<{width}} {value} {target} {figure.note}".rstrip()


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004
