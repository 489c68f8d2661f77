"""What the views say about texts on their way into rooms, and about the whole."""

import itertools
from typing import Any

import pytest
from sqlite_utils import Database

from hermes_chatto.store import connection, ignored, threads
from hermes_chatto.tests.store import samples
from hermes_chatto.tests.store.samples import (
    SCOPE,
    ago,
    at,
    explain,
    explain_states,
    post,
    receive,
    step,
    tell,
    view,
)

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


def test_health_counts_by_room_what_was_not_for_the_agent(db: Database) -> None:
    """The only outcome without a row."""
    counts = {("r1", "echo"): 1, ("r1", "not_addressed"): 2, ("r2", "author_not_allowed"): 4}
    assert view(db, "health", "not_for_us") == ["{}"]

    ignored.add(db, scope=SCOPE, counts=counts, at=at())

    assert view(db, "health", "not_for_us") == ['{"r1":3,"r2":4}']
