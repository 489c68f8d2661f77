"""Writing and reading rows: what changes, what stays, what is refused."""

import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from sqlite_utils import Database

from hermes_chatto.store import (
    connection,
    glossary,
    ignored,
    outbox,
    room_sessions,
    threads,
    transitions,
    turns,
)
from hermes_chatto.store.glossary import EntryRow
from hermes_chatto.store.rows import MissingRowError
from hermes_chatto.tests.store import samples
from hermes_chatto.tests.store.samples import SCOPE, at, part, post, receive, step, turn

# --- one field at a time ------------------------------------------------------------------------


class Kept(NamedTuple):
    """A sort of rows: how one is made, changed and found again."""

    first: Any
    add: Callable[[Database, Any], None]
    save: Callable[[Database, Any], None]
    find: Callable[[Database], Any]
    columns: dict[str, object]
    """Columns that change in a row's life, each with its next value."""


SORTS = {
    "turn": Kept(
        turn(lane_order=1),
        turns.receive,
        turns.save,
        lambda db: turns.find(db, SCOPE, "m1"),
        {
            "state": "queued",
            "reason": "late",
            "attempt": 1,
            "carrier_id": "m0",
            "ends_as": "cancelled",
            "ended_by": "u2",
            "ended_with": "stop",
            "thread_before": "seeded",
            "frontier_before": "m0",
            "body": None,
            "digest": "d9",
            "updated_at": at(5),
            "closed_at": at(6),
            "command": "/stop",
        },
    ),
    "part": Kept(
        part(),
        outbox.add,
        outbox.save,
        lambda db: outbox.find(db, SCOPE, "m1:a/1"),
        {
            "state": "delivered",
            "attempt": 2,
            "message_id": "m5",
            "body": None,
            "reason": "busy",
            "updated_at": at(5),
        },
    ),
    "thread": Kept(
        samples.thread(),
        threads.save,
        threads.save,
        lambda db: threads.find(db, SCOPE, "chatto:r1:m1"),
        {
            "state": "behind",
            "frontier_id": "m7",
            "session_token": "t1",
            "gap": 4,
            "updated_at": at(5),
        },
    ),
    "room session": Kept(
        samples.room_session(),
        room_sessions.save,
        room_sessions.save,
        lambda db: room_sessions.find(db, SCOPE, "m1"),
        {"state": "skipped", "reason": "exists", "updated_at": at(5)},
    ),
    "connection": Kept(
        samples.connection(),
        connection.save,
        connection.save,
        lambda db: connection.find(db, SCOPE),
        {
            "state": "backing_off",
            "reason": "unreachable",
            "attempt": 3,
            "gap": 2,
            "account_id": None,
            "server_version": "0.4.21",
            "updated_at": at(5),
        },
    ),
}


@pytest.mark.parametrize("sort", SORTS)
def test_row_comes_back_as_it_was_written(db: Database, sort: str) -> None:
    """Every column has its value."""
    kept = SORTS[sort]
    assert kept.find(db) is None

    kept.add(db, kept.first)

    assert kept.find(db) == kept.first


@pytest.mark.parametrize("sort", SORTS)
def test_changing_one_field_leaves_the_others(db: Database, sort: str) -> None:
    """Case S49: state, then frontier, then session and so on; no step empties another column."""
    kept = SORTS[sort]
    row = kept.first
    kept.add(db, row)

    for column, value in kept.columns.items():
        row = row._replace(**{column: value})
        kept.save(db, row)

        assert kept.find(db) == row


@pytest.mark.parametrize("sort", SORTS)
def test_changing_a_row_leaves_its_neighbours(db: Database, sort: str) -> None:
    """Another key, or the same key of another profile, is another row."""
    kept = SORTS[sort]
    kept.add(db, kept.first)
    kept.add(db, kept.first._replace(scope="other"))

    kept.save(db, kept.first._replace(scope="other", state="changed"))

    assert kept.find(db) == kept.first


def test_state_alone_can_be_changed_by_hand(db: Database) -> None:
    """The library's own upsert keeps columns that are not named, where it can be used at all."""
    threads.save(db, samples.thread())

    db.table("threads").update(("chatto:r1:m1", SCOPE), {"frontier_id": "m3"})

    assert threads.find(db, SCOPE, "chatto:r1:m1") == samples.thread(frontier_id="m3")


# --- turns --------------------------------------------------------------------------------------


def test_second_receipt_of_a_message_is_refused(db: Database) -> None:
    """Whatever else it says; the first one stays."""
    first = receive(db, author_name="Ada")

    with pytest.raises(sqlite3.IntegrityError):
        turns.receive(db, turn(author_name="Eve", lane_order=99))

    assert turns.find(db, SCOPE, "m1") == first
    assert db.table("turns").count == 1


def test_order_of_receipt_grows_whatever_the_row_says(db: Database) -> None:
    """Over all lanes and profiles; each place is given once."""
    rows = [
        receive(db, "m1", lane_order=7),
        receive(db, "m2", session_key="another lane"),
        receive(db, "m3"),
    ]
    turns.receive(db, turn("m1", scope="other"))
    other = turns.find(db, "other", "m1")

    assert [row.lane_order for row in rows] == [1, 2, 3]
    assert other is not None
    assert other.lane_order == 4


def test_place_in_the_order_is_not_given_again_when_old_rows_go(db: Database) -> None:
    """Retention takes the oldest."""
    for number in range(3):
        receive(db, f"m{number}")
    db.execute("delete from turns where lane_order < 3")

    assert receive(db, "m9").lane_order == 4


def test_order_of_receipt_never_changes(db: Database) -> None:
    """A row that was made before its receipt says 0."""
    receive(db, "m0")
    receive(db, "m1")

    turns.save(db, turn("m1", lane_order=0, state="queued"))

    found = turns.find(db, SCOPE, "m1")
    assert found == turn("m1", lane_order=2, state="queued")


@pytest.mark.parametrize("scope", [SCOPE, "other"])
def test_turn_without_a_receipt_cannot_be_changed(db: Database, scope: str) -> None:
    """It would have no place in the order; that it is missing must not go unseen."""
    receive(db, "m1")

    with pytest.raises(MissingRowError, match=f"scope {scope}, message_id m2"):
        turns.save(db, turn("m2", scope=scope))

    assert db.table("turns").count == 1


def test_turns_are_found_by_their_messages(db: Database) -> None:
    """Those there are; of this profile."""
    one, two = receive(db, "m1"), receive(db, "m2")
    turns.receive(db, turn("m3", scope="other"))

    assert turns.find_all(db, SCOPE, ["m1", "m2", "m3", "m4"]) == {"m1": one, "m2": two}
    assert turns.find_all(db, SCOPE, []) == {}
    assert turns.find(db, SCOPE, "m3") is None


def test_lane_has_its_open_turns_in_order_of_receipt(db: Database) -> None:
    """Whoever came first, whatever the server calls the messages."""
    lane = {"session_key": "k1"}
    receive(db, "m9", **lane)
    receive(db, "m5", **lane, state="refused", closed_at=at(3))
    receive(db, "m4", session_key="k2")
    receive(db, "m1", **lane)
    turns.receive(db, turn("m0", **lane, scope="other"))

    assert [row.message_id for row in turns.in_lane(db, SCOPE, "k1")] == ["m9", "m1"]
    assert [row.message_id for row in turns.not_closed(db, SCOPE)] == ["m9", "m4", "m1"]


def test_newest_answered_turn_of_a_lane_is_found(db: Database) -> None:
    """One that had nothing to say counts, one that failed does not."""
    lane = {"session_key": "k1", "closed_at": at(3)}
    assert turns.last_answered(db, SCOPE, "k1") is None
    receive(db, "m1", **lane, state="answered")
    silent = receive(db, "m2", **lane, state="silent")
    receive(db, "m3", **lane, state="failed")
    receive(db, "m4", session_key="k2", closed_at=at(3), state="answered")
    turns.receive(db, turn("m5", **lane, state="answered", scope="other"))

    assert turns.last_answered(db, SCOPE, "k1") == silent


# --- outbox -------------------------------------------------------------------------------------


def test_part_is_added_once(db: Database) -> None:
    """A delivery has each of its parts one time."""
    post(db)

    with pytest.raises(sqlite3.IntegrityError):
        post(db, body="another text")

    assert outbox.find(db, SCOPE, "m1:a/1") == part()
    assert outbox.find(db, SCOPE, "m1:a/2") is None


def test_part_that_was_never_made_cannot_be_changed(db: Database) -> None:
    """As with a turn."""
    with pytest.raises(MissingRowError):
        outbox.save(db, part())


def test_parts_come_in_their_order_beyond_the_ninth(db: Database) -> None:
    """As text, `/10` would come before `/2`."""
    ids = [f"m1:a/{number}" for number in range(1, 13)]
    for outbox_id in reversed(ids):
        post(db, f"m2:b/{outbox_id.partition('/')[2]}")
    for outbox_id in ids:
        post(db, outbox_id)
    outbox.add(db, part("m1:a/1", scope="other"))

    assert [row.outbox_id for row in outbox.of_delivery(db, SCOPE, "m1:a")] == ids
    assert [row.outbox_id for row in outbox.of_turn(db, SCOPE, "m1")] == ids
    assert [row.part for row in outbox.of_delivery(db, SCOPE, "m2:b")] == list(range(1, 13))


def test_open_parts_are_those_that_somebody_must_look_at(db: Database) -> None:
    """A refused one is among them: it may be tried again."""
    for number, state in enumerate(
        ["pending", "delivered", "sending", "superseded", "uncertain", "refused"]
    ):
        post(db, f"m{number}:a/1", state=state)
    outbox.add(db, part("m9:a/1", scope="other"))

    found = [row.state for row in outbox.not_closed(db, SCOPE)]

    assert found == ["pending", "sending", "uncertain", "refused"]


def test_own_messages_are_known_by_the_parts_they_were(db: Database) -> None:
    """Whatever their room."""
    post(db, "m1:a/1", message_id="p1")
    post(db, "m2:a/1", message_id="p2", room_id="r2")
    post(db, "m3:a/1")
    outbox.add(db, part("m4:a/1", message_id="p4", scope="other"))

    assert outbox.own_among(db, SCOPE, ["p1", "p2", "p3", "p4"]) == {"p1", "p2"}
    assert outbox.own_among(db, SCOPE, []) == set()
    assert outbox.posted_in(db, SCOPE, "r1") == {"p1"}


def test_of_many_messages_in_a_room_the_newest_thousand_are_told(db: Database) -> None:
    """Who looks for a post looks at the last ones."""
    for number in range(1, 1_004):
        post(db, f"m{number}:a/1", message_id=f"p{number}")

    found = outbox.posted_in(db, SCOPE, "r1")

    assert found == {f"p{number}" for number in range(4, 1_004)}


# --- the others ---------------------------------------------------------------------------------


def test_all_threads_of_a_profile_are_loaded(db: Database) -> None:
    """And no others."""
    threads.save(db, samples.thread("k1"))
    threads.save(db, samples.thread("k2"))
    threads.save(db, samples.thread("k3", scope="other"))

    assert {row.session_key for row in threads.load_all(db, SCOPE)} == {"k1", "k2"}


def test_steps_keep_the_order_they_were_decided_in(db: Database) -> None:
    """Times may be equal."""
    samples.tell(db, step("turn: receive ->received"), step("turn: admit received->admitted"))

    rows = list(db.query("select seq, event, from_state, to_state from transitions order by seq"))
    assert rows == [
        {"seq": 1, "event": "receive", "from_state": None, "to_state": "received"},
        {"seq": 2, "event": "admit", "from_state": "received", "to_state": "admitted"},
    ]
    assert len(transitions.TransitionRow._fields) == len(db.table("transitions").columns) - 1


def test_messages_that_were_not_meant_are_counted(db: Database) -> None:
    """Per room and cause, over any number of reports."""
    first = {("r1", "not_addressed"): 3, ("r2", "own_message"): 1}
    ignored.add(db, scope=SCOPE, counts=first, at=at(1))
    ignored.add(db, scope=SCOPE, counts={("r1", "not_addressed"): 4}, at=at(2))
    ignored.add(db, scope=SCOPE, counts={}, at=at(3))

    rows = list(db.query("select room_id, cause, messages, last_at from ignored order by room_id"))
    assert rows == [
        {"room_id": "r1", "cause": "not_addressed", "messages": 7, "last_at": at(2)},
        {"room_id": "r2", "cause": "own_message", "messages": 1, "last_at": at(1)},
    ]


def test_glossary_is_replaced_as_a_whole(db: Database) -> None:
    """A word that a newer version does not know any more is gone."""
    old = [EntryRow("turn", "queued", "waits"), EntryRow("turn", "parked", "waits elsewhere")]
    glossary.save(db, old)

    glossary.save(db, [EntryRow("turn", "queued", "waits in its lane")])

    assert list(db.table("glossary").rows) == [
        {"kind": "turn", "word": "queued", "meaning": "waits in its lane"}
    ]


def test_word_with_two_meanings_is_refused(db: Database) -> None:
    """One kind has one meaning for it."""
    with pytest.raises(sqlite3.IntegrityError):
        glossary.save(db, [EntryRow("turn", "queued", "a"), EntryRow("turn", "queued", "b")])


def test_glossary_that_says_the_same_need_not_be_written(db: Database) -> None:
    """A start on a file that is up to date writes nothing."""
    words = [EntryRow("turn", "queued", "waits"), EntryRow("reason", "busy", "later")]
    glossary.save(db, words)

    assert glossary.is_told(db, list(reversed(words)))
    assert not glossary.is_told(db, words[:1])
    assert not glossary.is_told(db, [words[0], EntryRow("reason", "busy", "come again")])
