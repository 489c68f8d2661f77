"""What an operator reads off the views, knowing only `sqlite-utils` and the message."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hermes_chatto.machines.catalogue import CHARTS
from hermes_chatto.store import connection, glossary, outbox, threads, turns
from hermes_chatto.store.glossary import EntryRow
from hermes_chatto.tests.store import samples
from hermes_chatto.tests.store.samples import (
    SCOPE,
    at,
    changed,
    explain,
    part,
    post,
    receive,
    step,
    tell,
    turn,
    view,
)
from sqlite_utils import Database

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


def ago(seconds: float) -> str:
    """Return a moment before now, as rows keep it."""
    moment = datetime.now(UTC) - timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def explain_states(db: Database) -> None:
    """Fill the glossary as the sessions do, with one reason besides."""
    entries = [
        EntryRow(chart.MACHINE, state, meaning)
        for chart in CHARTS
        for state, meaning in chart.MEANING.items()
    ]
    reason = EntryRow("reason", "not_taken", "the gateway did not begin a run in time")
    glossary.save(db, [*entries, reason])


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


# --- deliveries ---------------------------------------------------------------------------------

STATES = ("pending", "sending", "uncertain", "delivered", "refused", "superseded")


def state_of_delivery(states: tuple[str, ...]) -> str:
    """Say how a delivery stands: parts go out in order, so the first that is missing tells."""
    missing = next((state for state in states if state != "delivered"), "delivered")
    return "partial" if missing == "refused" and "delivered" in states else missing


@pytest.mark.parametrize("count", [1, 2, 3])
def test_state_of_a_delivery_is_read_off_its_parts(db: Database, count: int) -> None:
    """For every mixture of states, also those that should not come."""
    mixtures = list(itertools.product(STATES, repeat=count))
    for index, states in enumerate(mixtures):
        for number, state in enumerate(states, start=1):
            post(
                db, f"m{index}:a/{number}", parts=count, state=state, reason=f"because of {state}"
            )

    lines = {line["turn_id"]: line for line in view(db, "deliveries")}

    assert len(lines) == len(mixtures)
    for index, states in enumerate(mixtures):
        line = lines[f"m{index}"]
        assert line["state"] == state_of_delivery(states), states
        assert line["parts"] == count
        assert line["delivered"] == states.count("delivered")


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("pending", "pending"), "pending"),
        (("delivered", "pending"), "pending"),
        (("sending", "pending"), "sending"),
        (("delivered", "uncertain"), "uncertain"),
        (("delivered", "delivered"), "delivered"),
        (("delivered", "refused", "pending"), "partial"),
        (("refused", "pending"), "refused"),
        (("superseded", "superseded"), "superseded"),
        (("delivered", "superseded"), "superseded"),
    ],
)
def test_rule_for_deliveries_is_what_people_mean(states: tuple[str, ...], expected: str) -> None:
    """The words of the design, one example each."""
    assert state_of_delivery(states) == expected


def test_delivery_says_what_it_became_and_what_holds_it_up(db: Database) -> None:
    """One line for all parts, the reason of the first that is missing."""
    explain(db, reason_busy="the server asked to wait")
    post(
        db, "m1:a/1", bytes=9_000, attempt=1, state="delivered", message_id="p1", updated_at=at(4)
    )
    post(db, "m1:a/2", bytes=50, attempt=3, reason="busy", updated_at=at(9))
    post(db, "m2:a/1", kind="other", turn_id=None)

    newest, line = view(db, "deliveries")

    assert (newest["delivery_id"], newest["turn_id"], newest["message_ids"]) == (
        "m2:a",
        None,
        None,
    )
    assert (line["state"], line["reason"]) == ("pending", "busy")
    assert line["reason_meaning"] == "the server asked to wait"
    assert (line["message_ids"], line["bytes"], line["attempts"]) == ("p1", 9_050, 4)
    assert (line["created_at"], line["updated_at"]) == (at(1), at(9))


# --- outbox_open --------------------------------------------------------------------------------


def test_open_parts_say_in_words_how_they_stand(db: Database) -> None:
    """Oldest first; what is in the room, or never goes there, is not among them."""
    explain_states(db)
    post(db, "m1:a/1", state="delivered", message_id="p1")
    post(db, "m1:a/2", state="uncertain", reason="outcome_unknown", created_at=ago(30))
    post(db, "m2:a/1", state="superseded")
    post(db, "m3:a/1", state="refused", reason="permission_denied")

    uncertain, refused = view(db, "outbox_open")

    assert uncertain["outbox_id"] == "m1:a/2"
    assert uncertain["meaning"].startswith("the server may have posted it")
    assert 29 < uncertain["waiting_s"] < 60
    assert (refused["turn_id"], refused["reason"]) == ("m3", "permission_denied")


# --- health -------------------------------------------------------------------------------------


def test_health_is_one_line_before_the_first_start(db: Database) -> None:
    """Nothing is wrong yet."""
    explain_states(db)

    (line,) = view(db, "health")

    assert (line["connection"], line["meaning"]) == ("offline", "never started")
    assert line["open_turns"] == line["parts_under_way"] == line["failed_24h"] == 0


def test_health_tells_since_when_the_connection_is_what_it_is(db: Database) -> None:
    """A step that changes no state, such as the first quiet minute, does not start it anew."""
    connection.save(db, samples.connection(updated_at=at(90)))
    of_connection: dict[str, Any] = {"key": SCOPE, "message_id": None}
    tell(
        db,
        step("connection: subscribe connecting->catching_up", at=at(1))._replace(**of_connection),
        step("connection: go_live catching_up->live", at=at(2))._replace(**of_connection),
        step("connection: settle live->live", at=at(90))._replace(**of_connection),
        step("turn: receive ->received", at=at(95)),
    )

    (line,) = view(db, "health")

    assert (line["connection"], line["since"]) == ("live", at(2))
    assert line["last_step_at"] == at(95)


def test_health_tells_when_the_steps_are_pruned(db: Database) -> None:
    """The row itself is newer than that, but better than nothing."""
    connection.save(db, samples.connection(updated_at=at(90)))

    assert view(db, "health", "since") == [at(90)]


def test_health_counts_what_waits_and_what_went_wrong(db: Database) -> None:
    """Enough to see from one line whether a second look is needed."""
    explain(db, reason_unreachable="no route to the server")
    lost = samples.connection(state="backing_off", reason="unreachable", attempt=3)
    connection.save(db, lost)
    receive(db, "m1", received_at=ago(100), state="processing")
    receive(db, "m2", received_at=ago(10), state="queued")
    receive(db, "m3", state="failed", closed_at=ago(60))
    receive(db, "m4", state="failed", closed_at=ago(100_000))
    for number, state in enumerate(["behind", "behind", "blind", "seeded"]):
        threads.save(db, samples.thread(f"k{number}", state=state))
    for number, state in enumerate(["pending", "sending", "refused", "delivered"]):
        post(db, f"m{number}:a/1", state=state)

    (line,) = view(db, "health")

    assert (line["reason"], line["reason_meaning"]) == ("unreachable", "no route to the server")
    assert line["losses_in_a_row"] == 3
    assert (line["open_turns"], line["failed_24h"]) == (2, 1)
    assert 99 < line["longest_wait_s"] < 130
    assert (line["threads_behind"], line["threads_blind"]) == (2, 1)
    assert (line["parts_under_way"], line["parts_refused"]) == (2, 1)
