"""The judge finds what is lost, twice, odd or open, and nothing else."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_chatto.actors.sandbox.campaign.judge import Post, Row, Store, Verdict, judge
from hermes_chatto.actors.sandbox.campaign.questions import (
    Question,
    is_question,
    part_of,
    question,
    reply_to,
)
from hermes_chatto.actors.sessions.splitting import split
from hermes_chatto.store.database import open_database

ANSWERED = Row("answered", None, None)


def asked(parts: int = 1) -> Question:
    """Return a question that was posted."""
    found = question(1, parts, "R1")
    found.message_id = "m1"
    return found


def answers(parts: int, numbers: Sequence[int] | None = None) -> list[Post]:
    """Return posts of an answer; the first of all points at the question."""
    bodies = split(reply_to(asked(parts).text))
    wanted = numbers or range(1, parts + 1)
    return [
        Post(f"p{number}", bodies[number - 1], "m1" if number == 1 else "") for number in wanted
    ]


def verdict(row: Row | None, posts: Sequence[Post], parts: int = 1, times: int = 1) -> Verdict:
    """Judge one question."""
    rows = {"m1": row} if row is not None else {}
    return judge([asked(parts)], rows, posts, {"m1": times})


@pytest.mark.parametrize("parts", [1, 3])
def test_a_whole_answer_is_well(parts: int) -> None:
    """Each part once, the first at its question."""
    found = verdict(ANSWERED, answers(parts), parts)

    assert (found.answered, found.flaws) == (1, [])


@pytest.mark.parametrize("numbers", [[1, 2], [2, 3]])
def test_a_hole_in_an_answer_is_a_loss(numbers: list[int]) -> None:
    """Whatever the row says."""
    assert len(verdict(ANSWERED, answers(3, numbers), 3).lost) == 1


def test_a_part_twice_is_twice() -> None:
    """Also of an answer that failed."""
    failed = Row("failed", "process_died", "x")
    for row in (ANSWERED, failed):
        assert len(verdict(row, answers(3, [1, 2, 3, 2]), 3).twice) == 1


def test_a_question_that_was_run_twice_is_twice() -> None:
    """Though one answer is in the room."""
    assert len(verdict(ANSWERED, answers(1), times=2).twice) == 1


def test_a_named_end_with_its_sign_is_well() -> None:
    """Nobody waits for an answer that will not come."""
    found = verdict(Row("failed", "process_died", "x"), [])

    assert (dict(found.ended), found.flaws) == ({"process_died": 1}, [])


@pytest.mark.parametrize(
    "row",
    [
        Row("failed", "process_died", None),
        Row("failed", "inside:KeyError", "x"),
        Row("refused", "unreadable", None),
        Row("silent", None, None),
    ],
)
def test_any_other_end_is_odd(row: Row) -> None:
    """Without a sign, by a defect, or as if nothing had been asked."""
    assert len(verdict(row, []).odd) == 1


@pytest.mark.parametrize(
    "post",
    [
        Post("p1", "who am I?", ""),
        Post("p1", "q7x part 1", ""),
        Post("p1", "q1x part 1", "m7"),
        Post("p1", "q1x part 1", ""),
    ],
)
def test_a_post_that_is_no_part_of_an_answer_is_odd(post: Post) -> None:
    """Or stands at the wrong question, or at none."""
    assert verdict(Row("failed", "busy", "x"), [post]).odd != []


def test_an_answer_behind_a_line_of_the_gateway_is_recognised() -> None:
    """Where it is handed over again."""
    assert list(part_of("a line\n\nq1x part 1 and so on q2x part 9")) == [("q1x", 1), ("q2x", 9)]
    assert is_question("@hermes q1x in 3 {{wait 1}}")
    assert not is_question("q1x part 3")


def test_a_new_store_has_nothing_open(tmp_path: Path) -> None:
    """Nor has one that is not there yet."""
    path = tmp_path / "state.db"
    store = Store(path)
    assert (store.turns(), store.open_things()) == ({}, [])
    open_database(path, now=datetime.now(UTC)).db.close()

    assert (store.turns(), store.open_things()) == ({}, [])
