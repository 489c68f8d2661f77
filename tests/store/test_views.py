"""What an operator reads off the views about messages, knowing only `sqlite-utils`."""

from typing import Any

import pytest
from sqlite_utils import Database

from hermes_chatto.store import connection, memberships, outbox, threads, turns
from hermes_chatto.tests.store import samples
from hermes_chatto.tests.store.samples import (
    SCOPE,
    ago,
    at,
    changed,
    explain,
    explain_states,
    part,
    post,
    receive,
    step,
    tell,
    turn,
    view,
)

ENDS: dict[str, dict[str, Any]] = {
    "refused": {"reason": "author_not_allowed"},
    "failed": {"reason": "not_taken"},
    "expired": {"reason": "too_old"},
    "cancelled": {"ended_by": "u2", "ended_with": "stop"},
    "interrupted": {"reason": "process_ended", "closed_at": None},
    "retracted": {"ends_as": "retracted"},
    "silent": {},
    "folded": {"carrier_id": "m0", "closed_at": None},
}


# --- unanswered ---------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ENDS)
def test_why_a_message_was_not_answered(db: Database, state: str) -> None:
    """Who asked, where, what became of it, in words, and whoever or whatever was the cause."""
    explain_states(db)
    columns = {"closed_at": at(2), **ENDS[state]}
    receive(db, state=state, **columns)

    (line,) = view(db, "unanswered")

    assert (line["author_name"], line["room"], line["posted_at"]) == ("Ada", "general", at())
    assert line["state"] == state
    assert len(line["meaning"].split()) > 2
    assert line["cause"] == "mention"
    for column, value in columns.items():
        assert line[column] == value


@pytest.mark.parametrize("state", ["answered", "bypassed"])
def test_what_was_answered_or_went_past_the_lane_is_not_asked_about(
    db: Database, state: str
) -> None:
    """A command has its effect, not an answer."""
    receive(db, state=state, closed_at=at(2))

    assert view(db, "unanswered") == []


def test_reason_is_said_in_words_where_they_are_known(db: Database) -> None:
    """The part before a colon is the word, the rest says which; both stay readable."""
    explain(db, reason_inside="a handler of the plugin failed", reason_busy="asked to wait")
    for message_id, reason in (
        ("m1", "inside:KeyError"),
        ("m2", "busy"),
        ("m3", "new"),
        ("m4", None),
    ):
        receive(db, message_id, state="failed", reason=reason, closed_at=at(2))

    assert view(db, "unanswered", "message_id", "reason", "reason_meaning") == [
        {"message_id": "m4", "reason": None, "reason_meaning": None},
        {"message_id": "m3", "reason": "new", "reason_meaning": None},
        {"message_id": "m2", "reason": "busy", "reason_meaning": "asked to wait"},
        {
            "message_id": "m1",
            "reason": "inside:KeyError",
            "reason_meaning": "a handler of the plugin failed",
        },
    ]


def test_message_that_waits_says_for_whom_and_how_long(db: Database) -> None:
    """The one at the gateway holds up everybody else in the conversation, and nobody elsewhere."""
    lane = {"session_key": "k1", "received_at": ago(30)}
    receive(db, "m1", **lane, state="processing")
    receive(db, "m2", **lane, state="queued")
    receive(db, "m3", session_key="k2", state="queued")

    lines = {line["message_id"]: line for line in view(db, "unanswered")}

    assert [lines[id_]["waits_for"] for id_ in ("m1", "m2", "m3")] == [None, "m1", None]
    assert 29 < lines["m2"]["waiting_s"] < 60


def test_answer_that_is_stuck_is_seen_at_the_message(db: Database) -> None:
    """The turn is fine; the room does not take its answer."""
    receive(db, state="delivering")
    post(db, "m1:a/1", state="delivered", message_id="p1")
    post(db, "m1:a/2", state="pending", reason="busy")
    post(db, "m1:a/3")

    assert view(db, "unanswered", "answer_state") == ["pending (busy)"]


# --- turn_overview ------------------------------------------------------------------------------


def test_answers_to_a_message_are_named_in_order(db: Database) -> None:
    """All parts; not what was said on the way, not what was never posted."""
    receive(db, state="answered", closed_at=at(12.345))
    post(db, "m1:i/1", kind="interim", state="delivered", message_id="on-the-way")
    post(db, "m1:x/1", state="superseded")
    for number in range(1, 13):
        post(db, f"m1:a/{number}", state="delivered", message_id=f"p{number}")

    (line,) = view(db, "turn_overview")

    assert line["answered_with"] == " ".join(f"p{number}" for number in range(1, 13))
    assert line["answer_state"] == "delivered"
    assert line["took_s"] == 12.345
    assert line["waiting_s"] is None


def test_reply_to_a_command_is_its_answer(db: Database) -> None:
    """It is posted outside a turn, but belongs to the message."""
    receive(db, state="bypassed", closed_at=at(1), command="/status")
    post(db, "m1:a/1", kind="other", state="delivered", message_id="p1")

    assert view(db, "turn_overview", "command", "answered_with") == [
        {"command": "/status", "answered_with": "p1"}
    ]


def test_answer_after_a_refused_one_is_what_counts(db: Database) -> None:
    """The gateway posted a shorter text after the long one was refused."""
    receive(db, state="answered", closed_at=at(5))
    post(db, "m1:a/1", state="refused", reason="invalid_argument")
    post(db, "m1:b/1", state="delivered", message_id="p1")

    columns = ("answered_with", "answer_state")
    assert view(db, "turn_overview", *columns) == [
        {"answered_with": "p1", "answer_state": "delivered"}
    ]


def test_direct_conversation_has_no_name_but_a_kind(db: Database) -> None:
    """So the column is never empty."""
    receive(db, room_name=None, room_kind="direct", thread_root_id=None)

    assert view(db, "turn_overview", "room") == ["direct"]


def test_profiles_in_one_file_are_not_mixed_up(db: Database) -> None:
    """Were a message meant for two agents, each line has its own answer."""
    receive(db, state="answered", closed_at=at(1))
    post(db, state="delivered", message_id="p1")
    turns.receive(db, turn(scope="other", state="queued"))
    outbox.add(db, part(scope="other", state="pending"))

    columns = ("state", "answered_with", "answer_state")
    assert view(db, "turn_overview", *columns) == [
        {"state": "queued", "answered_with": None, "answer_state": "pending"},
        {"state": "answered", "answered_with": "p1", "answer_state": "delivered"},
    ]


# --- open_turns ---------------------------------------------------------------------------------


def test_open_turns_are_those_at_which_something_is_to_be_done(db: Database) -> None:
    """Longest wait first."""
    explain_states(db)
    receive(db, "m3", state="processing")
    receive(db, "m2", state="failed", closed_at=at(2))
    receive(db, "m1", state="queued")

    assert view(db, "open_turns", "message_id", "state", "meaning") == [
        {"message_id": "m3", "state": "processing", "meaning": "the agent runs"},
        {
            "message_id": "m1",
            "state": "queued",
            "meaning": "waits in its lane, nothing of it is at the gateway",
        },
    ]


# --- turn_story ---------------------------------------------------------------------------------


def test_story_of_a_message_is_told_across_machines_in_order(db: Database) -> None:
    """From its receipt to its answer, each step with its time and what it changed."""
    explain_states(db)
    row = receive(db, state="answered", closed_at=at(3))
    answer = {"machine": "delivery", "key": "m1:a/1"}
    tell(
        db,
        step("turn: receive ->received"),
        step("turn: admit received->admitted", reason="mention"),
        step("turn: enqueue admitted->queued"),
        step("connection: settle live->live", key=SCOPE, message_id=None),
        step("turn: hand_over queued->handed", at=at(0.1), detail=changed(row, attempt=1)),
        step("thread: hand_over fresh->seeded", at=at(0.1), key="chatto:r1:m1"),
        step("room_session: brief blind->briefed", at=at(0.1)),
        step("turn: receive ->received", key="m2", message_id="m2"),
        step("turn: start handed->processing", at=at(0.2)),
        step("turn: deliver processing->delivering", at=at(2)),
        step("delivery: add ->pending", at=at(2))._replace(**answer),
        step("delivery: confirm sending->delivered", at=at(2.5))._replace(**answer),
        step("turn: answer delivering->answered", at=at(3)),
    )

    story = view(db, "turn_story", where="message_id = 'm1'")

    assert [(line["machine"], line["step"]) for line in story] == [
        ("turn", "received"),
        ("turn", "received -> admitted"),
        ("turn", "admitted -> queued"),
        ("turn", "queued -> handed"),
        ("thread", "fresh -> seeded"),
        ("room_session", "blind -> briefed"),
        ("turn", "handed -> processing"),
        ("turn", "processing -> delivering"),
        ("delivery", "pending"),
        ("delivery", "sending -> delivered"),
        ("turn", "delivering -> answered"),
    ]
    assert [line["after_s"] for line in story] == [0, 0, 0, 0.1, 0.1, 0.1, 0.2, 2, 2, 2.5, 3]
    assert story[1]["reason"] == "mention"
    assert story[3]["detail"] == '{"attempt":1}'
    assert story[6]["meaning"] == "the agent runs"
    assert all(line["meaning"] for line in story)


def test_story_is_told_although_the_turn_itself_is_gone(db: Database) -> None:
    """Rows are pruned one table after the other."""
    tell(db, step("turn: receive ->received"))

    assert view(db, "turn_story", "step", "after_s") == [{"step": "received", "after_s": None}]


# --- thread_frontiers ---------------------------------------------------------------------------


def test_frontier_says_what_the_session_holds(db: Database) -> None:
    """And whether it was read since the newest gap of the stream."""
    explain_states(db)
    connection.save(db, samples.connection(gap=3))
    receive(db, "m1", state="answered", closed_at=at(1))
    receive(db, "m2", session_key="chatto:r1:m1", state="queued")
    threads.save(db, samples.thread(state="behind", gap=2, updated_at=at(1)))
    direct = samples.thread("k2", room_kind="direct", thread_root_id=None, frontier_id=None)
    threads.save(db, direct._replace(state="fresh", updated_at=at(2)))

    newest, line = view(db, "thread_frontiers")

    assert (newest["room"], newest["state"], newest["frontier_id"]) == ("direct", "fresh", None)
    assert line["room"] == "general"
    assert line["frontier_id"] == "m1"
    assert line["meaning"] == "something was posted that the session does not hold"
    assert (line["read_after_gap"], line["newest_gap"], line["open_turns"]) == (2, 3, 1)


def test_frontier_names_the_room_of_a_session_that_holds_nothing(db: Database) -> None:
    """As after its only question was taken back."""
    thread = samples.thread(state="fresh", frontier_id=None)
    room = memberships.MembershipRow(SCOPE, thread.room_id, "general", "inside", "found", at(0))
    memberships.save(db, room)
    memberships.save(db, room._replace(scope="elsewhere", room_name="of another account"))
    threads.save(db, thread)

    assert view(db, "thread_frontiers", "room") == ["general"]
