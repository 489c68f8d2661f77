"""Seconds to wait before the next attempt."""

import random
from collections.abc import Callable, Iterator

__all__ = ["SHORTEST_S", "backoff", "equal_jitter"]

SHORTEST_S = 0.001  # whatever the jitter says: a wait of zero is a busy loop


def equal_jitter(bound: float) -> float:
    """Return between half of `bound` and all of it.

    Full jitter (between zero and `bound`) spreads a crowd a little better, but the
    first of it comes back at once. Half is kept here, so that every wait is a wait
    and a service that is down gets its pause even from a single client.
    """
    return random.uniform(bound / 2, bound)  # noqa: S311 - spreads clients, guards no secret


def backoff(
    first: float,
    factor: float,
    longest: float,
    jitter: Callable[[float], float] = equal_jitter,
) -> Iterator[float]:
    """Return an endless row of growing waits.

    Args:
        first: bound of the first wait, in seconds, more than zero.
        factor: by how much each bound exceeds the one before, at least 1.
        longest: no wait exceeds this, in seconds, at least `first`.
        jitter: makes a wait out of a bound.

    Raises:
        ValueError: the three numbers make no row.
    """
    if not 0 < first <= longest or factor < 1:
        message = f"no back-off: first={first} factor={factor} longest={longest}"
        raise ValueError(message)
    return _waits(first, factor, longest, jitter)


def _waits(
    first: float, factor: float, longest: float, jitter: Callable[[float], float]
) -> Iterator[float]:
    bound = first
    while True:
        yield min(max(jitter(bound), SHORTEST_S), longest)
        bound = min(bound * factor, longest)
