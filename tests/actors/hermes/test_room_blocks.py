"""What is said of single rooms, and what is wrong with it."""

import pytest

from hermes_chatto.actors.hermes.room_blocks import contradiction, read_room_blocks
from hermes_chatto.actors.hermes.values import MalformedError
from hermes_chatto.actors.sessions.policy import Bots, FollowUps, RoomRules
from hermes_chatto.actors.sessions.room_rules import FREE_ROOMS


def test_each_setting_of_a_room_is_read_by_its_kind() -> None:
    """What is not said is as everywhere; a bare `off` is the word it was before YAML."""
    raw_off = False
    raw = {
        "general": {"require_mention": "no", "follow_ups": raw_off, "allow_bots": " Mentions "},
        7: {},
    }
    warnings: list[str] = []

    blocks = read_room_blocks("rooms", raw, warnings)

    rules = RoomRules(require_mention=False, follow_ups=FollowUps.OFF, allow_bots=Bots.MENTIONS)
    assert blocks == (("general", rules), ("7", RoomRules()))
    assert warnings == []


def test_junk_and_unknown_keys_are_named_with_their_room() -> None:
    """The rest of the block applies."""
    raw = {"ops": {"follow_ups": "often", "require_mentions": True, "allow_bots": "all"}}
    warnings: list[str] = []

    blocks = read_room_blocks("rooms", raw, warnings)

    assert blocks == (("ops", RoomRules(allow_bots=Bots.ALL)),)
    assert warnings == [
        "rooms.ops.follow_ups: 'often' is not one of off, asker, anyone; the default applies",
        "rooms.ops.require_mentions is no setting of a room; the nearest is require_mention",
    ]


@pytest.mark.parametrize(
    "raw",
    [
        ["ops"],
        "ops",
        {"ops": True},
        {"ops": None},
        {"ops": ["x"]},
        {"": {}},
        {None: {}},
        {" ": {}},
    ],
    ids=repr,
)
def test_another_structure_is_malformed(raw: object) -> None:
    """Nobody can tell what was meant."""
    with pytest.raises(MalformedError):
        read_room_blocks("rooms", raw, [])


def test_one_room_may_be_named_twice_only_alike() -> None:
    """By names that differ in case."""
    alike = {"Ops": {"allow_bots": "all"}, "ops": {"allow_bots": "all"}}
    assert len(read_room_blocks("rooms", alike, [])) == 1
    with pytest.raises(MalformedError, match="twice"):
        read_room_blocks("rooms", {**alike, "OPS": {"allow_bots": "none"}}, [])


def test_nothing_behind_the_key_is_no_room() -> None:
    """As if the key were not there."""
    assert read_room_blocks("rooms", None, []) == ()


def test_only_a_room_that_is_freed_and_bound_contradicts_itself() -> None:
    """A block that frees it, too, says the same thing."""
    bound = (("ops", RoomRules(require_mention=True)), ("dev", RoomRules(require_mention=False)))

    assert contradiction(("dev", "R7"), bound) is None
    assert contradiction(("OPS",), bound) == ("rooms.ops", FREE_ROOMS)
