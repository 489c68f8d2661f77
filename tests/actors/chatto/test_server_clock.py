"""The server's time is read off its answers and counted on, whatever the host's clock says."""

from datetime import UTC, datetime, timedelta

import pytest

from hermes_chatto.actors.chatto.server_clock import ServerClock


class Seconds:
    """A clock that never jumps and moves when told to."""

    def __init__(self) -> None:
        """Start somewhere."""
        self.at = 1000.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.at


def test_nothing_is_known_before_an_answer() -> None:
    """Not even by the host's clock."""
    assert ServerClock().now() is None


def test_it_counts_on_from_the_newest_answer() -> None:
    """An answer that is set back sets it back."""
    seconds = Seconds()
    clock = ServerClock(seconds)
    clock.note("Thu, 01 Jan 2026 12:00:00 GMT")
    seconds.at += 30
    assert clock.now() == datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
    clock.note("Thu, 01 Jan 2026 11:00:00 GMT")

    assert clock.now() == datetime(2026, 1, 1, 11, tzinfo=UTC)


@pytest.mark.parametrize("date", [None, "", "yesterday", "Thu, 01 Jan 2026 12:00:00"])
def test_an_answer_without_a_time_says_nothing(date: str | None) -> None:
    """What was known before still holds."""
    seconds = Seconds()
    clock = ServerClock(seconds)
    clock.note("Thu, 01 Jan 2026 12:00:00 GMT")
    seconds.at += 1
    clock.note(date)

    assert clock.now() == datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(seconds=1)
