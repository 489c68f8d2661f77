"""Clocks: the real one runs, the manual one stands still."""

from datetime import UTC, datetime, timedelta, timezone

import anyio
import pytest

from hermes_chatto.actors.runtime.clock import Clock, ManualClock, SystemClock, utc_text


async def test_system_clock_runs() -> None:
    """Its time of day is aware, and a wait takes at least as long as it says."""
    clock: Clock = SystemClock()
    before = clock.monotonic()

    await clock.sleep(0.01)
    await clock.sleep(-1)

    assert clock.monotonic() - before >= 0.01
    assert clock.now().utcoffset() == timedelta(0)


async def test_manual_clock_wakes_the_earliest_first() -> None:
    """Whoever is due first wakes first; whoever is not due sleeps on."""
    clock = ManualClock()
    woken: list[str] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    async with anyio.create_task_group() as tasks:
        for name, seconds in [("late", 3.0), ("early", 1.0), ("middle", 2.0)]:
            tasks.start_soon(sleep, name, seconds)
        await clock.until_sleeping(3)

        clock.advance(2)
        await anyio.wait_all_tasks_blocked()

        assert woken == ["early", "middle"]
        assert clock.sleepers == 1
        clock.advance(1)

    assert woken == ["early", "middle", "late"]


async def test_manual_clock_moves_both_of_its_times() -> None:
    """Time of day and monotonic time move together, and only by hand."""
    clock = ManualClock(datetime(2026, 5, 1, 12, 0, tzinfo=UTC))

    clock.advance(1.5)
    await clock.sleep(0)

    assert clock.now() == datetime(2026, 5, 1, 12, 0, 1, 500_000, tzinfo=UTC)
    assert clock.monotonic() == 1.5


async def test_manual_clock_forgets_a_sleeper_that_was_cancelled() -> None:
    """A wait that was given up wakes nobody and counts no more."""
    clock = ManualClock()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.sleep, 10)
        await clock.until_sleeping()
        tasks.cancel_scope.cancel()

    assert clock.sleepers == 0


async def test_manual_clock_does_not_go_back() -> None:
    """Monotonic time is monotonic here too."""
    with pytest.raises(ValueError, match="does not go back"):
        ManualClock().advance(-1)


def test_utc_text_sorts_as_its_moments_do() -> None:
    """All texts have one length and one zone."""
    east = timezone(timedelta(hours=2))
    moments = [
        datetime(2026, 1, 1, 1, 59, 59, 999_999, tzinfo=east),
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 2, 0, 0, 1_000, tzinfo=east),
    ]

    texts = [utc_text(moment) for moment in moments]

    assert texts == [
        "2025-12-31T23:59:59.999Z",
        "2026-01-01T00:00:00.000Z",
        "2026-01-01T00:00:00.001Z",
    ]


def test_utc_text_refuses_a_moment_without_zone() -> None:
    """Nothing guesses which zone somebody meant."""
    with pytest.raises(ValueError, match="no time zone"):
        utc_text(datetime(2026, 1, 1))  # noqa: DTZ001 - the point of the test
