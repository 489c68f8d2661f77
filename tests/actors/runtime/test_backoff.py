"""Back-off: numbers, so it is tested without waiting."""

from itertools import islice

import pytest

from hermes_chatto.actors.runtime.backoff import SHORTEST_S, backoff, equal_jitter


def test_waits_grow_up_to_the_longest() -> None:
    """The bound grows by the factor and then stays."""
    waits = backoff(first=1, factor=10, longest=30, jitter=lambda bound: bound)

    assert list(islice(waits, 4)) == [1, 10, 30, 30]


def test_half_of_every_bound_is_kept() -> None:
    """Chance spreads the clients, but no wait collapses."""
    waits = list(islice(backoff(first=1, factor=2, longest=8), 50))

    assert 0.5 <= waits[0] <= 1
    assert all(4 <= wait <= 8 for wait in waits[3:])
    assert len(set(waits)) > 40


@pytest.mark.parametrize(
    ("jittered", "wait"), [(0.0, SHORTEST_S), (-1.0, SHORTEST_S), (99.0, 30.0)]
)
def test_no_jitter_makes_a_wait_of_zero_or_beyond_the_longest(
    jittered: float, wait: float
) -> None:
    """A busy loop and an endless wait are both out of reach."""
    assert next(backoff(first=1, factor=2, longest=30, jitter=lambda _: jittered)) == wait


def test_waits_do_not_overflow() -> None:
    """However long a server is down."""
    waits = backoff(first=1, factor=10, longest=30, jitter=lambda bound: bound)

    assert next(islice(waits, 2_000, None)) == 30


@pytest.mark.parametrize(
    ("first", "factor", "longest"), [(0.0, 2.0, 1.0), (2.0, 2.0, 1.0), (1.0, 0.5, 2.0)]
)
def test_numbers_that_make_no_row_are_refused(first: float, factor: float, longest: float) -> None:
    """At once, not at the first failure."""
    with pytest.raises(ValueError, match="no back-off"):
        backoff(first, factor, longest)


def test_equal_jitter_lies_between_half_and_all() -> None:
    """The documented range."""
    assert all(1 <= equal_jitter(2) <= 2 for _ in range(100))
