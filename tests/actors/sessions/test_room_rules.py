"""Names of rooms mean the rooms that had them, and nothing else ever."""

from dataclasses import replace

import pytest

from hermes_chatto.actors.sessions.facts import Room, RoomKind
from hermes_chatto.actors.sessions.policy import Bots, FollowUps, Policy, RoomRules
from hermes_chatto.actors.sessions.room_rules import (
    FREE_ROOMS,
    Rules,
    answers_room,
    resolve_rooms,
    rules_of,
)

OPS_ID, DEV_ID, GONE_ID = "R0000000000000A", "R0000000000000B", "R0000000000000C"
OPS = Room(OPS_ID, "Ops", RoomKind.CHANNEL, is_member=True, is_archived=False)
DEV = Room(DEV_ID, "dev", RoomKind.CHANNEL, is_member=True, is_archived=False)
DIRECT = Room("0123456789abcd", "", RoomKind.DIRECT, is_member=True, is_archived=False)
FREE = RoomRules(require_mention=False)
BOUND = RoomRules(require_mention=True)


def test_names_become_ids_in_every_setting() -> None:
    """In any case; an ID stays what it is."""
    written = Policy(
        allowed_rooms=("ops", DEV_ID), free_rooms=("OPS",), rooms=(("Dev", FREE), ("Ops", FREE))
    )

    resolved = resolve_rooms(written, [OPS, DEV, DIRECT])

    assert resolved.policy == Policy(
        allowed_rooms=(OPS_ID, DEV_ID),
        free_rooms=(OPS_ID,),
        rooms=((DEV_ID, FREE), (OPS_ID, FREE)),
    )
    assert resolved.unknown == ()
    assert resolved.conflict is None


def test_a_name_that_another_room_gets_later_opens_nothing() -> None:
    """The first one keeps what was said of it, whatever it is called."""
    policy = resolve_rooms(Policy(allowed_rooms=("ops",)), [OPS, DEV]).policy

    assert answers_room(replace(OPS, name="old-ops"), policy)
    assert not answers_room(replace(DEV, name="ops"), policy)


def test_a_room_called_like_the_id_of_another_is_not_that_one() -> None:
    """Whether or not the account sees the one that is meant."""
    impostor = replace(DEV, name=GONE_ID)

    resolved = resolve_rooms(Policy(allowed_rooms=(GONE_ID,)), [OPS, impostor])

    assert resolved.unknown == (("allowed_channels", GONE_ID),)
    assert not answers_room(impostor, resolved.policy)
    assert answers_room(replace(OPS, room_id=GONE_ID), resolved.policy)


def test_what_names_no_room_is_named_and_waits_for_one() -> None:
    """A room that is made, or joined, later is found by its name."""
    resolved = resolve_rooms(Policy(allowed_rooms=("ops", "help"), rooms=(("x", FREE),)), [OPS])

    assert resolved.unknown == (("allowed_channels", "help"), ("rooms.x", "x"))
    assert answers_room(replace(DEV, name="Help"), resolved.policy)
    again = resolve_rooms(resolved.policy, [OPS, replace(DEV, name="Help")])
    assert again.policy.allowed_rooms == (OPS_ID, DEV_ID)


@pytest.mark.parametrize("rooms", [None, ()])
def test_all_rooms_and_no_rooms_stay_what_they_are(rooms: tuple[str, ...] | None) -> None:
    """Nothing is not everything."""
    assert resolve_rooms(Policy(allowed_rooms=rooms), [OPS]).policy.allowed_rooms == rooms


@pytest.mark.parametrize(
    ("policy", "entries"),
    [
        (
            Policy(rooms=(("ops", BOUND), (OPS_ID, replace(FREE, written=("here",))))),
            ("rooms.ops", "here"),
        ),
        (Policy(free_rooms=(OPS_ID,), rooms=(("ops", BOUND),)), ("rooms.ops", FREE_ROOMS)),
        (Policy(free_rooms=(OPS_ID,), rooms=(("ops", FREE),)), None),
        (Policy(rooms=(("ops", BOUND), (OPS_ID, BOUND))), None),
    ],
)
def test_two_entries_of_one_room_must_agree(
    policy: Policy, entries: tuple[str, str] | None
) -> None:
    """Where only the ID shows that they mean the same one; both are named as they are written."""
    assert resolve_rooms(policy, [OPS]).conflict == entries


def test_a_rooms_own_rules_win_each_by_itself() -> None:
    """What they do not say is as everywhere."""
    policy = Policy(
        free_rooms=(OPS_ID,),
        allow_bots=Bots.MENTIONS,
        rooms=((OPS_ID, RoomRules(follow_ups=FollowUps.OFF)), (DEV_ID, RoomRules(False))),  # noqa: FBT003
    )

    assert rules_of(OPS, policy) == Rules(False, FollowUps.OFF, Bots.MENTIONS)  # noqa: FBT003
    assert rules_of(DEV, policy) == Rules(False, FollowUps.ASKER, Bots.MENTIONS)  # noqa: FBT003
    assert rules_of(DIRECT, policy) == Rules(True, FollowUps.ASKER, Bots.MENTIONS)  # noqa: FBT003
