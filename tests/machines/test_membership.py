"""How the account stands in a room: what is seen twice changes nothing."""

import pytest

from hermes_chatto.machines.driver import Driver
from hermes_chatto.machines.membership import Change, MembershipChart, MembershipRecord


@pytest.mark.parametrize(
    ("event", "state"), [("enter", "inside"), ("leave", "outside"), ("bar", "shut_out")]
)
@pytest.mark.parametrize("before", ["outside", "inside", "shut_out"])
def test_a_look_decides_whatever_was_before(before: str, event: str, state: str) -> None:
    """Being added, removed, banned and let in again may all come in any order."""
    driver = Driver(MembershipChart, MembershipRecord())

    after, _ = driver.fire(MembershipRecord(before, "first"), event, Change("then"))

    assert after == MembershipRecord(state, "first" if before == state else "then")
