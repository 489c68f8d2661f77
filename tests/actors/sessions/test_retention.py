"""The plugin forgets what is over by itself: at the start, every hour, never too much."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hermes_chatto.actors.runtime.clock import SystemClock, utc_text
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import Revisions
from hermes_chatto.actors.sessions.services import Limits

DAY_S = 86_400.0
LIMITS = Limits(retention_s=30 * DAY_S, retention_pause_s=0.0)


class Shifted(SystemClock):
    """A clock of another day."""

    def __init__(self, days: float) -> None:
        self._shift = timedelta(days=days)

    def now(self) -> datetime:
        """Return the time of that day."""
        return datetime.now(UTC) + self._shift


def grow_old(colleague: Colleague, days: float) -> None:
    """Let everything in the file have happened so many days ago."""
    then = utc_text(datetime.now(UTC) - timedelta(days=days))
    colleague.write(
        "update turns set posted_at = ?, received_at = ?, closed_at = ? where closed_at not null",
        *(then, then, then),
    )
    colleague.write("update outbox set updated_at = ?", then)
    colleague.write("update transitions set at = ?", then)
    colleague.write("update threads set frontier_at = ?, updated_at = ?", then, then)


def key_of(colleague: Colleague, message_id: str) -> str:
    """Return the session a message was asked in."""
    found = colleague.rows("select session_key from turns where message_id = ?", message_id)
    return str(found[0][0])


async def ask(colleague: Colleague, thread: str | None = None) -> str:
    """Ask something and wait for the answer."""
    message_id = await colleague.says("alice", "@hermes hi", thread=thread)
    await colleague.until_state(message_id, "answered")
    return message_id


@pytest.mark.parametrize("days", [1e6, 1e9])
async def test_everything_is_kept_where_the_setting_reaches_before_all_time(
    open_colleague: Open, caplog: pytest.LogCaptureFixture, days: float
) -> None:
    """So many days are a way to say for ever."""
    limits = replace(LIMITS, retention_s=days * DAY_S)
    async with open_colleague(script=Script(limits=limits)) as colleague:
        old = await ask(colleague)
        await ask(colleague)
        await colleague.stops()
        grow_old(colleague, 40)
        await colleague.starts()
        await ask(colleague)
        await colleague.stops()

        assert colleague.state_of(old) == "answered"
    assert "OverflowError" not in caplog.text


async def test_what_is_over_is_gone_after_a_start(open_colleague: Open) -> None:
    """The first question of a thread, not the one whose answer its session holds last."""
    async with open_colleague(script=Script(limits=LIMITS)) as colleague:
        old = await ask(colleague)
        newest = await ask(colleague, thread=old)
        await colleague.stops()
        grow_old(colleague, 40)
        colleague.write("update threads set frontier_at = ?", utc_text(datetime.now(UTC)))
        await colleague.starts()
        young = await ask(colleague)
        await colleague.stops()
        await colleague.starts()
        await colleague.until(lambda: colleague.state_of(old) is None)
        await colleague.until(lambda: colleague.story(newest) == [])

        assert colleague.state_of(newest) == "answered"
        assert colleague.state_of(young) == "answered"
        assert colleague.story(young)
        again = await ask(colleague, thread=old)
        assert colleague.gateway.orders[-1].message_id == again


async def test_last_day_of_activity_stays_however_long_ago_it_was(open_colleague: Open) -> None:
    """A gateway that was off for a month still knows what it answered before."""
    async with open_colleague(script=Script(limits=LIMITS)) as colleague:
        old = await ask(colleague)
        newest = await ask(colleague, thread=old)
        await colleague.stops()
        await colleague.starts(Script(limits=LIMITS, clock=Shifted(40)))
        marker = pruned_to_the_end(colleague)
        await colleague.until(lambda: marker() > 0)

        assert colleague.state_of(old) == "answered"
        assert colleague.state_of(newest) == "answered"


def pruned_to_the_end(colleague: Colleague) -> "Marker":
    """Return what tells that a pass has come to the last table: an old step is gone."""
    colleague.write(
        "insert into transitions (scope, at, machine, key, event, to_state) "
        "values ('default', '2020-01-01T00:00:00.000Z', 'turn', 'marker', 'a', 'b')"
    )
    return Marker(colleague)


class Marker:
    """Tells whether the marked step is gone."""

    def __init__(self, colleague: Colleague) -> None:
        self._colleague = colleague

    def __call__(self) -> int:
        """Return 1 as soon as it is."""
        sql = "select count(*) from transitions where key = 'marker'"
        return 1 - int(str(self._colleague.rows(sql)[0][0]))


@pytest.mark.parametrize(
    ("days", "window_days", "goes"),
    [(0, 0, True), (0, 50, False), (60, 0, False)],
    ids=["shortest", "edit window", "retention"],
)
async def test_setting_is_never_taken_shorter_than_edits_reach_back(
    open_colleague: Open, days: float, window_days: float, *, goes: bool
) -> None:
    """And than the day in which the gateway may hand an answer over again."""
    revisions = replace(POLICY.revisions, window_s=int(window_days * DAY_S))
    assert isinstance(revisions, Revisions)
    limits = replace(LIMITS, retention_s=days * DAY_S, retention_every_s=0.05)
    policy = replace(POLICY, revisions=revisions)
    async with open_colleague(script=Script(limits=LIMITS)) as colleague:
        old = await ask(colleague)
        await ask(colleague, thread=old)
        await colleague.stops()
        grow_old(colleague, 40)
        colleague.write("update threads set frontier_at = ?", utc_text(datetime.now(UTC)))
        await colleague.starts(Script(limits=limits, policy=policy))
        young = await ask(colleague)
        marker = pruned_to_the_end(colleague)
        await colleague.until(lambda: marker() > 0)

        assert (colleague.state_of(old) is None) is goes
        assert colleague.state_of(young) == "answered"


async def test_what_cannot_be_removed_now_is_removed_an_hour_later(
    open_colleague: Open,
) -> None:
    """A full disk is no reason to stop anything."""
    limits = replace(LIMITS, retention_every_s=0.05)
    async with open_colleague(script=Script(limits=limits)) as colleague:
        marker = pruned_to_the_end(colleague)
        await ask(colleague)
        await colleague.until(lambda: marker() > 0)
        again = pruned_to_the_end(colleague)
        await colleague.until(lambda: again() > 0)

        assert colleague.gateway.crashes == []


async def test_many_rows_go_in_many_transactions(open_colleague: Open) -> None:
    """Each looks at some hundred; the next begins where it ended."""
    async with open_colleague(script=Script(limits=LIMITS)) as colleague:
        await ask(colleague)
        await colleague.stops()
        colleague.write(
            "with recursive c (n) as (select 1 union all select n + 1 from c where n < 1200) "
            "insert into transitions (scope, at, machine, key, event, to_state) "
            "select 'default', '2020-01-01T00:00:00.000Z', 'turn', 'old', 'a', 'b' from c"
        )
        await colleague.starts()
        sql = "select count(*) from transitions where key = 'old'"
        await colleague.until(lambda: colleague.rows(sql) == [(0,)])


async def test_session_goes_when_the_gateway_has_none_any_more(open_colleague: Open) -> None:
    """It forgets its own after 90 days. What the gateway still has stays, with its frontier."""
    async with open_colleague(script=Script(limits=LIMITS)) as colleague:
        over, kept = await ask(colleague), await ask(colleague)
        key = key_of(colleague, over)
        kept_key = key_of(colleague, kept)
        await colleague.stops()
        grow_old(colleague, 120)
        del colleague.sessions[key]
        await colleague.starts()
        await ask(colleague)
        await colleague.stops()
        await colleague.starts()
        await colleague.until(lambda: colleague.state_of(over) is None)

        rows = {row[0] for row in colleague.rows("select session_key from threads")}
        assert key not in rows
        assert kept_key in rows
        again = await ask(colleague, thread=over)
        assert colleague.gateway.orders[-1].message_id == again
        assert "@hermes hi" in (colleague.gateway.orders[-1].context or "")


async def test_counters_go_when_nothing_is_counted_any_more(open_colleague: Open) -> None:
    """Of rooms and threads that rest; not those of programs, which would write on."""
    async with open_colleague(script=Script(limits=LIMITS)) as colleague:
        await ask(colleague)
        colleague.posts("carol", "hello")
        await colleague.stops()
        grow_old(colleague, 40)
        old = utc_text(datetime.now(UTC) - timedelta(days=40))
        colleague.write("update ignored set last_at = ?", old)
        for kind in ("thread", "pair"):
            colleague.write("insert into loops values ('default', ?, 'k', 'r', 5, ?)", kind, old)
        await colleague.starts()
        await ask(colleague)
        await colleague.stops()
        await colleague.starts()
        await colleague.until(lambda: colleague.rows("select kind from loops") == [("pair",)])

        assert colleague.rows("select count(*) from ignored where last_at = ?", old) == [(0,)]
