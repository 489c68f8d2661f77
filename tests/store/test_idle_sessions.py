"""Sessions that rest are found in pages, and go with their turns unless something needs them."""

import pytest
from sqlite_utils import Database

from hermes_chatto.store import threads
from hermes_chatto.store.idle_sessions import Page, find_idle, forget_sessions
from hermes_chatto.tests.store import samples
from hermes_chatto.tests.store.samples import SCOPE, at, post, receive

DAY = 86_400.0
BEFORE = at(70 * DAY)
OLD, YOUNG = at(10 * DAY), at(90 * DAY)
KEY = "k1"


def session(db: Database, key: str = KEY, **columns: object) -> None:
    """Write a session that rests, with a question that was answered."""
    row = samples.thread(key, updated_at=OLD)._replace(**columns)  # type: ignore[arg-type]
    threads.save(db, row)
    receive(db, f"of {key}", session_key=key, state="answered", body=None, closed_at=OLD)
    post(db, f"of {key}:a/1", state="delivered", body=None, updated_at=OLD)


def keys(db: Database) -> list[str]:
    """Return the sessions there are."""
    return [row.session_key for row in threads.load_all(db, SCOPE)]


def counts(db: Database) -> tuple[int, ...]:
    """Return how many sessions, turns and parts there are."""
    tables = ("threads", "turns", "outbox")
    return tuple(db.execute(f"select count(*) from {name}").fetchone()[0] for name in tables)  # noqa: S608


def test_idle_sessions_are_found_page_by_page(db: Database) -> None:
    """In the order of their keys; those that were used lately are only passed by."""
    for key in ("a", "b", "c"):
        session(db, key, updated_at=YOUNG if key == "b" else OLD)
    session(db, "other", scope="other")

    first = find_idle(db, SCOPE, before=BEFORE, after="", rows=2)
    second = find_idle(db, SCOPE, before=BEFORE, after="b", rows=2)

    assert first == Page(("a",), "b")
    assert second == Page(("c",), None)


def test_session_goes_with_all_that_belongs_to_it(db: Database) -> None:
    """And no other."""
    session(db)
    session(db, "other")

    assert forget_sessions(db, SCOPE, BEFORE, [KEY]) == 3
    assert keys(db) == ["other"]
    assert counts(db) == (1, 1, 1)


@pytest.mark.parametrize(
    "columns",
    [{"closed_at": None, "state": "queued"}, {"closed_at": YOUNG}],
    ids=["open", "young"],
)
def test_session_with_a_turn_that_is_needed_stays_whole(
    db: Database, columns: dict[str, object]
) -> None:
    """A question that waits, or one whose repetition has to be known."""
    session(db)
    receive(db, "needed", session_key=KEY, **columns)

    assert forget_sessions(db, SCOPE, BEFORE, [KEY]) == 0
    assert counts(db) == (1, 2, 1)


def test_session_with_a_part_on_its_way_stays_whole(db: Database) -> None:
    """Nobody knows yet whether it is in the room."""
    session(db)
    post(db, f"of {KEY}:b/1", state="uncertain", updated_at=OLD)

    assert forget_sessions(db, SCOPE, BEFORE, [KEY]) == 0
    assert counts(db) == (1, 1, 2)


def test_session_that_was_used_since_it_was_found_stays(db: Database) -> None:
    """The gateway was asked between the two."""
    session(db, updated_at=YOUNG)

    assert forget_sessions(db, SCOPE, BEFORE, [KEY]) == 0
    assert counts(db) == (1, 1, 1)


def test_session_whose_thread_is_still_to_be_followed_stays(db: Database) -> None:
    """The order stands in its row."""
    session(db)
    threads.follow_later(db, SCOPE, KEY, OLD)

    assert find_idle(db, SCOPE, before=BEFORE, after="", rows=9).idle_keys == ()
    assert forget_sessions(db, SCOPE, BEFORE, [KEY]) == 0
