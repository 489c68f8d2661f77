"""What is over is forgotten in small batches, and what something still needs is not."""

import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count

import pytest
from sqlite_utils import Database

from hermes_chatto.store import outbox, room_sessions, threads, turns
from hermes_chatto.store.database import transaction
from hermes_chatto.store.retention import (
    STEP_ROWS,
    Batch,
    Stretch,
    are_old,
    newest_receipt,
    prune_parts,
    prune_steps,
    prune_turns,
)
from hermes_chatto.store.turns import TurnRow
from hermes_chatto.tests.store import samples
from hermes_chatto.tests.store.samples import SCOPE, at, post, receive, step, tell

DAY = timedelta(days=1).total_seconds()
NOW = 100 * DAY
BEFORE = at(70 * DAY)
OLD = 10 * DAY
YOUNG = 90 * DAY
LONG_AGO = "m-long-ago"


def pruned(
    db: Database, prune: Callable[[Database, Stretch], Batch] = prune_turns, rows: int = 100
) -> int:
    """Prune a whole table, batch by batch, and return how many rows went."""
    removed, after = 0, 0
    for _ in count():
        with transaction(db):
            batch = prune(db, Stretch(SCOPE, BEFORE, after, rows))
        removed += batch.removed
        if batch.after is None:
            break
        after = batch.after
    return removed


def over(db: Database, message_id: str, day_s: float = OLD, **columns: object) -> TurnRow:
    """Write a turn that came to rest, with its answer, and a later one of the same session.

    The later one is what its session holds, and whose follow-ups count.
    """
    facts: dict[str, object] = {
        "state": "answered",
        "body": None,
        "posted_at": at(day_s),
        "received_at": at(day_s),
        "closed_at": at(day_s),
        **columns,
    }
    row = receive(db, message_id, **facts)
    post(
        db,
        f"{message_id}:a/1",
        state="delivered",
        body=None,
        message_id=f"{message_id}-answer",
        updated_at=at(day_s),
    )
    return row


def ids(db: Database) -> list[str]:
    """Return the messages that have a turn."""
    return [id_ for (id_,) in db.execute("select message_id from turns order by lane_order")]


def keep_newest(db: Database, session_key: str, day_s: float = YOUNG) -> None:
    """Write the newest turn of a session, and what it holds."""
    over(db, f"newest of {session_key}", day_s, session_key=session_key)
    threads.save(db, samples.thread(session_key, frontier_at=at(day_s)))


def test_old_turn_goes_with_all_that_belongs_to_it(db: Database) -> None:
    """Its parts and its room session; what others own stays."""
    row = over(db, LONG_AGO)
    room_sessions.save(db, samples.room_session(LONG_AGO))
    keep_newest(db, row.session_key)
    room_sessions.save(db, samples.room_session("another"))

    removed = pruned(db)

    assert removed == 3
    assert ids(db) == [f"newest of {row.session_key}"]
    assert outbox.of_turn(db, SCOPE, LONG_AGO) == []
    assert room_sessions.find(db, SCOPE, LONG_AGO) is None
    assert room_sessions.find(db, SCOPE, "another") is not None


@pytest.mark.parametrize(
    "state", ["answered", "silent", "cancelled", "retracted", "refused", "bypassed", "failed"]
)
def test_turn_at_rest_goes_whatever_its_end(db: Database, state: str) -> None:
    """Also one that could be asked again: its time is over."""
    row = over(db, LONG_AGO, state=state, body="words")
    keep_newest(db, row.session_key)

    pruned(db)

    assert LONG_AGO not in ids(db)


@pytest.mark.parametrize("closed_at", [None, BEFORE, at(YOUNG)])
def test_turn_that_is_open_or_young_stays_with_its_words(
    db: Database, closed_at: str | None
) -> None:
    """However long ago it was received."""
    row = over(db, LONG_AGO, state="failed", closed_at=closed_at, body="words")
    keep_newest(db, row.session_key)

    pruned(db)

    assert turns.find(db, SCOPE, LONG_AGO) == row


@pytest.mark.parametrize("state", ["pending", "sending", "uncertain"])
def test_turn_of_a_part_that_is_on_its_way_stays(db: Database, state: str) -> None:
    """It is brought out after the next start."""
    row = over(db, LONG_AGO)
    post(db, f"{LONG_AGO}:b/1", state=state, updated_at=at(OLD))
    keep_newest(db, row.session_key)

    pruned(db)

    assert LONG_AGO in ids(db)
    assert len(outbox.of_turn(db, SCOPE, LONG_AGO)) == 2
    assert outbox.of_turn(db, SCOPE, LONG_AGO)[1].body == "noon"


def test_turn_of_a_part_that_was_posted_lately_stays(db: Database) -> None:
    """The gateway may hand the same answer over again, and its digest tells."""
    row = over(db, LONG_AGO)
    post(db, f"{LONG_AGO}:b/1", state="delivered", updated_at=at(YOUNG))
    keep_newest(db, row.session_key)

    pruned(db)

    assert LONG_AGO in ids(db)


def test_turns_behind_the_frontier_stay_without_their_words(db: Database) -> None:
    """A thread that rests for months would be told its own answers as news."""
    before = over(db, "before", 9 * DAY)
    over(db, "frontier", OLD, session_key=before.session_key, state="failed", body="words")
    over(db, "command", 11 * DAY, session_key=before.session_key, state="bypassed")
    threads.save(db, samples.thread(before.session_key, frontier_at=at(OLD)))
    over(db, "newest answered", 8 * DAY, session_key=before.session_key)

    pruned(db)

    assert ids(db) == ["frontier", "command", "newest answered"]
    kept = turns.find(db, SCOPE, "frontier")
    assert kept is not None
    assert kept.body is None
    assert len(outbox.of_turn(db, SCOPE, "frontier")) == 1


def test_turn_that_was_answered_behind_the_frontier_stays(db: Database) -> None:
    """The next question was asked while it ran: its answer stands behind that one."""
    first = over(db, "first", 9 * DAY, closed_at=at(OLD + 60))
    threads.save(db, samples.thread(first.session_key, frontier_at=at(OLD)))
    over(db, "older", 8 * DAY, session_key=first.session_key)
    over(db, "second", OLD, session_key=first.session_key)

    pruned(db)

    assert ids(db) == ["first", "second"]


def test_turns_of_a_session_without_a_frontier_stay(db: Database) -> None:
    """Nobody knows yet what it holds."""
    row = over(db, LONG_AGO)
    threads.save(db, samples.thread(row.session_key, frontier_id=None, frontier_at=None))
    over(db, "later", 11 * DAY, session_key=row.session_key)

    pruned(db)

    assert ids(db) == [LONG_AGO, "later"]


def test_newest_answer_of_a_session_says_whose_follow_ups_count(db: Database) -> None:
    """Also where no thread is known."""
    row = over(db, LONG_AGO, state="silent")
    over(db, "refused", 11 * DAY, session_key=row.session_key, state="refused")

    pruned(db)

    assert ids(db) == [LONG_AGO]


def test_other_profiles_are_left_alone(db: Database) -> None:
    """Each has its own time."""
    turns.receive(db, samples.turn(LONG_AGO, scope="other", closed_at=at(OLD)))

    assert pruned(db) == 0
    assert ids(db) == [LONG_AGO]


def test_refused_part_loses_its_words_with_its_turn(db: Database) -> None:
    """Nobody will ask for it again."""
    row = over(db, LONG_AGO, state="failed")
    post(db, f"{LONG_AGO}:b/1", state="refused", body="words", updated_at=at(OLD))
    threads.save(db, samples.thread(row.session_key, frontier_at=at(OLD)))

    pruned(db)

    assert [part.body for part in outbox.of_turn(db, SCOPE, LONG_AGO)] == [None, None]


# --- parts and steps ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "goes"),
    [
        ("delivered", True),
        ("superseded", True),
        ("refused", True),
        ("pending", False),
        ("sending", False),
        ("uncertain", False),
    ],
)
def test_part_outside_a_turn_goes_unless_it_is_on_its_way(
    db: Database, state: str, *, goes: bool
) -> None:
    """A scheduled result of last winter."""
    post(db, "r1:a/1", turn_id=None, kind="other", state=state, updated_at=at(OLD))
    post(db, "r1:b/1", turn_id=None, kind="other", state=state, updated_at=at(YOUNG))
    row = over(db, LONG_AGO)
    assert row.closed_at

    removed = pruned(db, prune_parts)

    assert removed == goes
    assert outbox.find(db, SCOPE, "r1:b/1") is not None
    assert outbox.find(db, SCOPE, f"{LONG_AGO}:a/1") is not None


def test_steps_go_but_for_those_of_what_is_open(db: Database) -> None:
    """The story of a question that still waits is told from its beginning."""
    receive(db, "open")
    over(db, LONG_AGO)
    old, young = {"at": at(OLD)}, {"at": at(YOUNG)}
    tell(
        db,
        step("turn: receive ->received", key="open", message_id="open", **old),
        step("thread: hand_over fresh->seeded", key="k1", message_id="open", **old),
        step("turn: receive ->received", key=LONG_AGO, message_id=LONG_AGO, **old),
        step("connection: start offline->connecting", key=SCOPE, message_id=None, **old),
        step("turn: admit received->admitted", key="gone", message_id="gone", **old),
        step("turn: admit received->admitted", key="open", message_id="open", **young),
        step("connection: lose live->backing_off", key=SCOPE, message_id=None, **young),
    )

    removed = pruned(db, prune_steps, rows=2)

    left = db.execute("select key, at from transitions order by seq").fetchall()
    assert removed == 3
    assert left == [
        ("open", at(OLD)),
        ("k1", at(OLD)),
        ("open", at(YOUNG)),
        (SCOPE, at(YOUNG)),
    ]


def test_step_out_of_time_does_not_end_the_pass(db: Database) -> None:
    """The clock was wrong for an hour."""
    tell(
        db,
        step("turn: a b->c", at=at(YOUNG)),
        *(step("turn: a b->c", at=at(OLD)) for _ in range(5)),
    )

    assert pruned(db, prune_steps, rows=3) == 5


def test_young_rows_need_no_transaction(db: Database) -> None:
    """That there is nothing to do is known by reading, also in an empty file."""
    stretch = Stretch(SCOPE, BEFORE, 0, 100)
    assert not are_old(db, STEP_ROWS, stretch)
    tell(db, step("turn: a b->c", at=BEFORE))
    assert not are_old(db, STEP_ROWS, stretch)
    tell(db, step("turn: a b->c", at=at(OLD)))
    assert are_old(db, STEP_ROWS, stretch)
    assert not are_old(db, STEP_ROWS, stretch._replace(after=2))


def test_newest_receipt_is_that_of_the_newest_turn(db: Database) -> None:
    """None before the first."""
    assert newest_receipt(db, SCOPE) is None
    receive(db, "m1", received_at=at(5))
    receive(db, "m2", received_at=at(7))

    assert newest_receipt(db, SCOPE) == at(7)


# --- how long it takes --------------------------------------------------------------------------

MANY = 100_000
BATCH_S = 0.5  # of processor time, on a machine that does other things besides; usually 0.01


def fill(db: Database, rows: int) -> None:
    """Write as many old steps, and a tenth as many old turns with their parts."""
    turn = samples.turn(state="answered", closed_at=at(OLD), body=None)
    columns = ", ".join(turn._fields)
    values = ", ".join(
        {
            "message_id": "'m' || n",
            "session_key": "'k' || (n % 500)",
            "lane_order": "n",
            "received_at": f"'{at(OLD)}'",
        }.get(name, "?")
        for name in turn._fields
    )
    fixed = {"message_id", "session_key", "lane_order", "received_at"}
    numbers = f"with recursive c (n) as (select 1 union all select n + 1 from c where n < {rows})"  # noqa: S608
    with transaction(db):
        db.conn.execute(
            f"{numbers} insert into turns ({columns}) select {values} from c "  # noqa: S608
            "where n % 10 = 0",
            [value for name, value in turn._asdict().items() if name not in fixed],
        )
        db.conn.execute(
            f"{numbers} insert into transitions (scope, at, machine, key, message_id, "  # noqa: S608
            "event, to_state) select ?, ?, 'turn', 'm' || n, 'm' || n, 'fail', 'answered' from c",
            (SCOPE, at(OLD)),
        )


def test_a_hundred_thousand_rows_go_in_batches_of_bounded_time(db: Database) -> None:
    """Whoever asks something meanwhile waits for one batch at most."""
    fill(db, MANY)
    longest = dict[str, float]()

    for prune, rows in ((prune_turns, 100), (prune_steps, 500)):
        after: int | None = 0
        while after is not None:
            began = time.process_time()
            with transaction(db):
                batch = prune(db, Stretch(SCOPE, BEFORE, after, rows))
            took_s = time.process_time() - began
            longest[prune.__name__] = max(longest.get(prune.__name__, 0), took_s)
            assert batch.removed <= 4 * rows
            after = batch.after

    assert len(ids(db)) == 50  # the newest answer of each session
    assert db.table("transitions").count == 0
    assert max(longest.values()) < BATCH_S
