"""Realtime events in our words."""

from datetime import UTC, datetime

import pytest

from hermes_chatto.actors.chatto.frames import event_of
from hermes_chatto.actors.chatto.pb import Proto
from hermes_chatto.actors.chatto.pb import realtime as pb
from hermes_chatto.actors.sessions.facts import Level, Person
from hermes_chatto.actors.sessions.stream_events import (
    LevelChanged,
    Membership,
    Mentioned,
    MessageEdited,
    MessagePosted,
    MessageRetracted,
    PersonChanged,
    PersonDeleted,
    RoomChanged,
    StreamEvent,
)

NOW = datetime(2026, 8, 9, 12, 30, 1, 250_000, tzinfo=UTC)


def envelope(kind: str, **fields: object) -> Proto:
    """Return an event of a kind, by U1."""
    made = pb.RealtimeEventEnvelope(id="E9", actor_id="U1")
    made.created_at.FromDatetime(NOW)
    body = getattr(made, kind)
    body.SetInParent()
    for name, value in fields.items():
        setattr(body, name, value)
    return made


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            envelope("message_posted", room_id="R1", message_event_id="E1"),
            MessagePosted("R1", "E1", None, "U1", NOW),
        ),
        (
            envelope(
                "message_posted", room_id="R1", message_event_id="E1", thread_root_event_id="E0"
            ),
            MessagePosted("R1", "E1", "E0", "U1", NOW),
        ),
        (
            envelope("message_edited", room_id="R1", message_event_id="E1"),
            MessageEdited("R1", "E1", "U1", NOW),
        ),
        (
            envelope("message_retracted", room_id="R1", message_event_id="E1", reason="spam"),
            MessageRetracted("R1", "E1"),
        ),
        (envelope("user_joined_room", room_id="R1"), RoomChanged("R1", "U1", Membership.JOINED)),
        (envelope("user_left_room", room_id="R1"), RoomChanged("R1", "U1", Membership.LEFT)),
        (envelope("room_universal_changed", room_id="R1", universal=True), RoomChanged("R1")),
        (
            envelope("user_profile_updated", user_id="U2", login="ann", display_name="Ann"),
            PersonChanged(Person("U2", "ann", "Ann")),
        ),
        (envelope("server_member_deleted", user_id="U2"), PersonDeleted("U2")),
        (
            envelope("notification_level_changed", room_id="R1", level=2, effective_level=2),
            LevelChanged("R1", Level.MUTED),
        ),
        (
            envelope("notification_level_changed", level=1, effective_level=3),
            LevelChanged(None, None),
        ),
    ],
    ids=[
        *("posted", "posted in thread", "edited", "retracted", "joined", "left", "universal"),
        *("profile", "deleted", "level of a room", "level of all rooms"),
    ],
)
def test_event_is_translated(event: Proto, expected: StreamEvent) -> None:
    """IDs, times and who did it; nothing else."""
    assert event_of(event) == expected


@pytest.mark.parametrize(
    "kind", ["room_updated", "room_deleted", "room_archived", "room_unarchived"]
)
def test_change_of_a_room_says_which(kind: str) -> None:
    """What changed is looked up."""
    assert event_of(envelope(kind, room_id="R1")) == RoomChanged("R1")


def test_notification_with_a_message_and_no_pointer_is_a_mention() -> None:
    """The author is the actor; the account itself is not named, it is meant."""
    event = envelope("notification_created", notification_id="N1", room_id="R1", event_id="E1")

    assert event_of(event) == Mentioned("R1", "E1", "U1")


@pytest.mark.parametrize(
    "fields",
    [
        {"room_id": "R1", "event_id": "E1", "in_reply_to_id": "E0"},
        {"room_id": "R1"},
        {"room_id": "R1", "in_reply_to_id": "E0"},
        {"event_id": "E1"},
        {},
    ],
    ids=["reply", "direct message", "second of two", "no room", "bare"],
)
def test_other_notifications_are_no_mentions(fields: dict[str, str]) -> None:
    """Replies point at a message, direct messages name none."""
    assert event_of(envelope("notification_created", notification_id="N1", **fields)) is None


TRANSLATED = {
    *("message_posted", "message_edited", "message_retracted", "notification_created"),
    *("room_updated", "room_deleted", "room_archived", "room_unarchived"),
    *("room_universal_changed", "user_joined_room", "user_left_room"),
    *("user_profile_updated", "server_member_deleted", "notification_level_changed"),
}
KINDS = [each.name for each in pb.RealtimeEventEnvelope.DESCRIPTOR.oneofs_by_name["event"].fields]


@pytest.mark.parametrize("kind", sorted({*KINDS} - TRANSLATED))
def test_kind_nobody_needs_is_dropped(kind: str) -> None:
    """Presence, typing, reactions, read markers and all that is to come."""
    assert event_of(envelope(kind)) is None


def test_event_of_an_unknown_kind_is_dropped() -> None:
    """A newer server may know more of them."""
    assert event_of(pb.RealtimeEventEnvelope(id="E9")) is None
