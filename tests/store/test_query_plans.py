"""Every statement of the store finds its rows by an index, however many there are."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlite_utils import Database

from hermes_chatto.store import (
    connection,
    ignored,
    outbox,
    retention,
    room_sessions,
    threads,
    transitions,
    turns,
)
from hermes_chatto.tests.store import samples
from hermes_chatto.tests.store.samples import SCOPE, at, part, step, turn

OLD = retention.Stretch(SCOPE, at(), 0, 100)

CALLS: dict[str, Callable[[Database], object]] = {
    "turns.receive": lambda db: turns.receive(db, turn("m9")),
    "turns.save": lambda db: turns.save(db, turn()),
    "turns.find": lambda db: turns.find(db, SCOPE, "m1"),
    "turns.find_all": lambda db: turns.find_all(db, SCOPE, ["m1", "m2", "m3"]),
    "turns.in_lane": lambda db: turns.in_lane(db, SCOPE, "k1"),
    "turns.last_answered": lambda db: turns.last_answered(db, SCOPE, "k1"),
    "turns.newest": lambda db: turns.newest(db, SCOPE),
    "turns.not_closed": lambda db: turns.not_closed(db, SCOPE),
    "outbox.add": lambda db: outbox.add(db, part("m9:a/1")),
    "outbox.save": lambda db: outbox.save(db, part()),
    "outbox.find": lambda db: outbox.find(db, SCOPE, "m1:a/1"),
    "outbox.of_delivery": lambda db: outbox.of_delivery(db, SCOPE, "m1:a"),
    "outbox.of_turn": lambda db: outbox.of_turn(db, SCOPE, "m1"),
    "outbox.not_closed": lambda db: outbox.not_closed(db, SCOPE),
    "outbox.answers_at": lambda db: outbox.answers_at(
        db, SCOPE, "r1", "m1", since=at(), opened=at()
    ),
    "outbox.own_among": lambda db: outbox.own_among(db, SCOPE, ["m1", "m2", "m3"]),
    "outbox.posted_in": lambda db: outbox.posted_in(db, SCOPE, "r1"),
    "threads.save": lambda db: threads.save(db, samples.thread()),
    "threads.find": lambda db: threads.find(db, SCOPE, "k1"),
    "room_sessions.save": lambda db: room_sessions.save(db, samples.room_session()),
    "room_sessions.find": lambda db: room_sessions.find(db, SCOPE, "m1"),
    "connection.save": lambda db: connection.save(db, samples.connection()),
    "connection.find": lambda db: connection.find(db, SCOPE),
    "ignored.add": partial(ignored.add, scope=SCOPE, counts={("r1", "echo"): 1}, at=at()),
    "retention.newest_receipt": lambda db: retention.newest_receipt(db, SCOPE),
    "retention.are_old": lambda db: retention.are_old(db, retention.TURN_ROWS, OLD),
    "retention.prune_turns": lambda db: retention.prune_turns(db, OLD),
    "retention.prune_parts": lambda db: retention.prune_parts(db, OLD),
    "retention.prune_steps": lambda db: retention.prune_steps(db, OLD),
    "transitions.add": lambda db: transitions.add(db, step("turn: receive ->received")),
}

SORTS_A_FEW = {"turns.not_closed", "outbox.answers_at"}
"""What is open, once per start, and the answers of a day at one place: a handful of rows."""


def plan_of(db: Database, call: Callable[[Database], object]) -> list[str]:
    """Return how SQLite goes about each statement of a call."""
    statements = list[str]()
    db.conn.set_trace_callback(statements.append)
    call(db)
    db.conn.set_trace_callback(None)
    assert statements
    return [
        line[3]
        for statement in statements
        for line in db.execute(f"explain query plan {statement}").fetchall()
    ]


@pytest.mark.parametrize("name", CALLS)
def test_statement_finds_its_rows_by_an_index(db: Database, name: str) -> None:
    """No walk over a table, and no sorting."""
    turns.receive(db, turn())
    turns.receive(db, turn("m0", received_at=at(-9), closed_at=at(-9)))
    turns.receive(db, turn("m-1", received_at=at(-9), closed_at=at(-9), session_key="k"))
    threads.save(db, samples.thread("k", frontier_at=None))
    outbox.add(db, part())

    plan = plan_of(db, CALLS[name])

    # What a subquery found by an index is a batch.
    walks = [line for line in plan if line.startswith("SCAN") and "(subquery" not in line]
    sorts = [line for line in plan if "TEMP B-TREE" in line]
    assert walks == []
    assert bool(sorts) is (name in SORTS_A_FEW)


def test_only_what_reads_a_whole_table_walks_over_one(db: Database) -> None:
    """All threads are loaded once per start; the row of a profile is in every line."""
    assert plan_of(db, lambda db: threads.load_all(db, SCOPE)) == ["SCAN threads"]


@pytest.mark.parametrize(
    ("question", "columns"),
    [
        ("select * from turn_overview where message_id = 'm1'", "message_id=?"),
        ("select * from turn_story where message_id = 'm1'", "message_id=?"),
        ("select * from deliveries where delivery_id = 'm1:a'", "delivery_id=?"),
    ],
)
def test_question_about_one_message_is_answered_by_an_index(
    db: Database, question: str, columns: str
) -> None:
    """An operator need not know the profile for it."""
    plan = [line[3] for line in db.execute(f"explain query plan {question}").fetchall()]

    assert any(columns in line for line in plan)
    assert [line for line in plan if line.startswith("SCAN") and "VIEW" not in line] in (
        [],
        ["SCAN d"],
    )
