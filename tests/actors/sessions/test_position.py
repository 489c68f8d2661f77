"""The position never passes what was not decided, and costs a write a second at most."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.position import TICK, Position
from hermes_chatto.tests.actors.sessions.gaps import (
    QUICK,
    READ,
    SCRIPT,
    asked,
    cut,
    ends,
    live_again,
    reasons,
)

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Return a moment of the server's."""
    return START + timedelta(seconds=seconds)


def caught_up(seconds: float = 0) -> Position:
    """Return a position without a gap."""
    position = Position()
    position.end_gap(at(seconds))
    return position


# --- in memory ------------------------------------------------------------------------------


def test_nothing_is_known_before_the_first_catch_up() -> None:
    """However much comes by."""
    position = Position()
    position.pass_by(at(5))

    assert position.at is None


def test_what_needs_no_reading_moves_it() -> None:
    """Posts come in the order of their times; one that is late moves nothing back."""
    position = caught_up()
    position.pass_by(at(5))
    position.pass_by(at(3))

    assert position.at == at(5)


def test_it_never_passes_what_is_being_read() -> None:
    """Later ones may be decided first."""
    position = caught_up()
    position.announce("M1", at(1))
    position.announce("M2", at(2))
    position.pass_by(at(3))
    position.settle(["M2"])
    assert position.at == at(1) - TICK
    position.settle(["M1"])

    assert position.at == at(3)


def test_a_gap_holds_it_until_it_was_caught_up() -> None:
    """Another gap before that begins where the first one did."""
    position = caught_up()
    position.announce("M1", at(1))
    position.begin_gap()
    position.settle(["M1"])
    position.pass_by(at(100))
    position.begin_gap()
    assert position.at == at(1) - TICK
    position.end_gap(at(90))

    assert position.at == at(100)


def test_what_could_not_be_read_holds_it_until_the_next_catch_up() -> None:
    """The catch-up finds it again."""
    position = caught_up()
    position.announce("M1", at(1))
    position.leave(["M1"])
    position.pass_by(at(5))
    assert position.at == at(1) - TICK
    position.begin_gap()
    position.end_gap(at(6))

    assert position.at == at(6)


def test_what_was_decided_is_not_waited_for_again() -> None:
    """A repetition is no question."""
    position = caught_up()
    position.announce("M1", at(1))
    position.settle(["M1"])
    position.announce("M1", at(1))

    assert position.at == at(1)
    assert position.has_decided("M1")


# --- in the file ----------------------------------------------------------------------------


def kept(colleague: Colleague) -> str:
    """Return the position in the file; empty: there is none."""
    found = colleague.rows("select at from position")
    return str(found[0][0]) if found else ""


async def test_it_is_kept_with_whose_it_is(open_colleague: Open) -> None:
    """A question moves it, also without a stop."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        posted = colleague.rows("select posted_at from turns")[0][0]
        await colleague.until(lambda: kept(colleague) >= str(posted))

        account = colleague.rows("select scope, account_id from position")
        assert account == [("default", colleague.ids["hermes"])]


async def test_strangers_move_it_presence_and_typing_do_not(open_colleague: Open) -> None:
    """No write for what nobody said, one for what was said in a second."""
    async with open_colleague(script=SCRIPT) as colleague:
        await colleague.until(lambda: kept(colleague) != "")
        first = kept(colleague)
        for _ in range(50):
            colleague.tells_room("alice", "user_typing")
        last = ""
        for number in range(50):
            last = colleague.posts("carol", f"line {number}")
        row = colleague.sandbox.world.log.any(last)
        assert row is not None
        await colleague.until(lambda: kept(colleague) > first)
        await colleague.stops()

        moment = datetime.fromtimestamp(row.created_ns // 10**6 / 1000, UTC)
        assert datetime.fromisoformat(kept(colleague)) == moment


async def test_a_stop_writes_what_was_decided_last(open_colleague: Open) -> None:
    """Not a second later."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await colleague.stops()

        assert kept(colleague) >= str(colleague.rows("select posted_at from turns")[0][0])


async def test_a_message_that_is_being_read_is_found_after_a_crash(open_colleague: Open) -> None:
    """It was announced, and nobody had written that down."""
    async with open_colleague(script=SCRIPT) as colleague:
        m0 = await colleague.says("alice", "@hermes zero")
        await colleague.until_state(m0, "answered")
        colleague.faults.delays[READ] = 5.0
        reads = colleague.sandbox.calls[READ]
        m1 = colleague.posts("alice", "@hermes one")
        await colleague.until(lambda: colleague.sandbox.calls[READ] > reads)
        await colleague.dies()
        colleague.faults.delays.clear()
        await colleague.starts()
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 2


async def test_a_message_nobody_could_read_is_found_by_the_next_catch_up(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """The server refused to answer for too long."""
    limits = replace(QUICK, first_wait_s=0.02, outage_wait_s=0.1)
    async with open_colleague(script=Script(limits=limits)) as colleague:
        colleague.faults.refused[READ] = Code.UNAVAILABLE
        m1 = colleague.posts("alice", "@hermes one")
        await colleague.until(lambda: "could not be read" in caplog.text)
        colleague.faults.refused.clear()
        before = await cut(colleague)
        await live_again(colleague, before)
        await colleague.until_state(m1, "answered")


async def test_the_position_of_another_profile_is_refused(open_colleague: Open) -> None:
    """Handed S46: it is neither used nor repaired, and a warning says so."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await colleague.stops()
        colleague.write("update position set scope = 'other'")
        foreign = colleague.rows("select * from position")
        colleague.write("delete from turns")
        m2 = colleague.posts("alice", "@hermes two")
        await colleague.starts()
        await colleague.until_state(m2, "answered")

        assert asked(colleague) == ["@hermes two"]
        assert ends(colleague, m1) is None
        assert colleague.rows("select * from position where scope = 'other'") == foreign
        assert reasons(colleague) == ["foreign_profile"]


async def test_the_position_of_another_account_is_refused(open_colleague: Open) -> None:
    """The credential was changed: what was missed before is not this account's."""
    async with open_colleague(script=SCRIPT) as colleague:
        await colleague.stops()
        colleague.write("update position set account_id = 'U00000000000000'")
        await colleague.starts()

        assert reasons(colleague) == ["foreign_account"]
        await colleague.until(
            lambda: (
                colleague.rows("select account_id from position") == [(colleague.ids["hermes"],)]
            )
        )
