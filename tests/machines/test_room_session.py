"""A session is told about the room once, or never."""

import pytest

from hermes_chatto.machines.driver import Driver
from hermes_chatto.machines.room_session import RoomSessionChart, RoomSessionRecord, Skip


@pytest.mark.parametrize("later", ["brief", "skip"])
@pytest.mark.parametrize(
    ("event", "after"),
    [("brief", RoomSessionRecord("briefed")), ("skip", RoomSessionRecord("skipped", "exists"))],
)
def test_first_word_about_the_room_is_the_last(
    event: str, after: RoomSessionRecord, later: str
) -> None:
    """A second attempt of the same message neither undoes nor repeats the decision."""
    driver = Driver(RoomSessionChart, RoomSessionRecord())
    record, _ = driver.fire(RoomSessionRecord(), event, Skip("exists"))

    repeated, _ = driver.fire(record, later, Skip("too_late"))

    assert record == after
    assert repeated == after
