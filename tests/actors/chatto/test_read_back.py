"""Which message is the post that is looked for."""

from datetime import UTC, datetime, timedelta

import pytest

from hermes_chatto.actors.chatto.pb import Proto
from hermes_chatto.actors.chatto.pb import timeline as pb
from hermes_chatto.actors.chatto.read_back import Wanted
from hermes_chatto.actors.sessions.ports import Post

NOW = datetime(2026, 8, 9, 12, 30, tzinfo=UTC)
POST = Post("R1", "E0", "E5", "hello")
WANTED = Wanted("U1", POST, NOW)


def row(row_id: str = "E7", at: datetime = NOW, **changed: object) -> Proto:
    """Return a row of the thread that fits, but for what is changed."""
    made = pb.RoomTimelineEvent(id=row_id, actor_id="U1")
    made.created_at.FromDatetime(at)
    message = made.message_posted.message
    fields = {"id": row_id, "actor_id": "U1", "body": "hello", "in_reply_to": "E5", **changed}
    for name, value in fields.items():
        if isinstance(value, datetime):
            getattr(message, name).FromDatetime(value)
        else:
            setattr(message, name, value)
    message.created_at.FromDatetime(at)
    return made


def test_own_message_with_the_same_words_and_pointer_is_it() -> None:
    """Other rows around it do not matter."""
    rows = [row("E6", body="hello!"), row("E7"), row("E8", actor_id="U2")]

    assert WANTED.oldest_in(rows) == "E7"


@pytest.mark.parametrize(
    "other",
    [
        row(actor_id="U2"),
        row(body="hello "),
        row(in_reply_to=""),
        row(in_reply_to="E4"),
        row(echo_of_event_id="E6"),
        row(deleted_at=NOW),
        row(at=NOW - timedelta(seconds=1)),
        row("E0"),
        pb.RoomTimelineEvent(id="E7", user_joined_room=pb.RoomTimelineRoomEvent(room_id="R1")),
    ],
    ids=[
        *("author", "words", "pointer gone", "pointer", "echo", "deleted", "too old", "root"),
        "no message",
    ],
)
def test_message_that_differs_is_not_it(other: Proto) -> None:
    """One difference is enough."""
    assert WANTED.oldest_in([other]) is None


def test_a_message_of_the_earliest_moment_is_it() -> None:
    """The bound belongs to what is looked for."""
    assert WANTED.oldest_in([row(at=NOW)]) == "E7"


def test_known_message_is_not_it() -> None:
    """Two parts of an answer may have the same text."""
    wanted = Wanted("U1", POST, NOW, exclude={"E7"})

    assert wanted.oldest_in([row("E7"), row("E8"), row("E9")]) == "E8"


def test_rows_that_are_all_later_do_not_end_the_search() -> None:
    """Somebody wrote a lot since."""
    assert WANTED.may_precede([row(at=NOW + timedelta(hours=1))])
    assert WANTED.may_precede([])


def test_row_from_before_the_attempt_ends_the_search() -> None:
    """Pages are in the server's order."""
    assert not WANTED.may_precede([row(at=NOW - timedelta(hours=1)), row()])


def test_root_and_echoes_say_nothing_about_the_page() -> None:
    """A root leads the first page, and an echo has the time of what it repeats."""
    old = NOW - timedelta(days=1)

    assert WANTED.may_precede([row("E0", at=old), row(at=old, echo_of_event_id="E2")])
