"""Which lines of a backlog one turn brings along."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_chatto.actors.sessions.lines import SHORTENED, Line
from hermes_chatto.actors.sessions.slicing import AHEAD, Budget, beginning, newest, next_slice

AT = datetime(2026, 1, 1, tzinfo=UTC)

LENGTHS = st.lists(st.integers(1, 120), max_size=30)
BUDGETS = st.builds(Budget, st.integers(1, 12), st.integers(40, 400))


def lines(lengths: Sequence[int]) -> list[Line]:
    """Return a line of each length."""
    return [Line(f"m{number}", AT, "x" * length) for number, length in enumerate(lengths)]


def ids(*groups: Sequence[Line]) -> list[str]:
    """Return whose lines these are."""
    return [line.message_id for group in groups for line in group]


@given(lengths=LENGTHS, budget=BUDGETS)
def test_a_backlog_drains_in_order_each_line_once_and_whole(
    lengths: list[int], budget: Budget
) -> None:
    """Every turn goes on, keeps to its budget, and cuts no line that fits it by itself."""
    backlog = lines(lengths)
    texts = {line.message_id: line.text for line in backlog}
    ahead: set[str] = set()
    drained: list[str] = []
    while left := [line for line in backlog if line.message_id not in ahead]:
        tail = [line for line in backlog[-AHEAD:] if line.message_id not in ahead]
        cut = next_slice(left, tail, budget)
        shown = [*cut.oldest, *cut.newest]

        assert shown, "a turn that brings nothing: the backlog never ends"
        assert len(cut.oldest) <= budget.lines
        assert len(cut.newest) <= AHEAD
        assert sum(len(line.text) for line in shown) <= budget.characters
        for line in shown:
            is_over = len(texts[line.message_id]) > budget.characters
            assert line.text == texts[line.message_id] or (
                is_over
                and line.text.endswith(SHORTENED)
                and len(line.text) >= budget.characters // 2
            )
        assert cut.left == len(left) - len(shown)
        drained += ids(cut.oldest)
        ahead.update(ids(cut.newest))
        backlog = [line for line in backlog if line.message_id not in drained]

    assert not ahead.intersection(drained)
    assert sorted(ids(backlog) + drained) == sorted(texts)
    numbers = [int(each.removeprefix("m")) for each in drained]
    assert numbers == sorted(numbers)


def test_what_fits_as_a_whole_is_told_as_a_whole() -> None:
    """The newest lines have more than half of the characters where nobody else needs them."""
    backlog = lines([30, 60])
    cut = next_slice(backlog, backlog, Budget(20, 100))

    assert (cut.oldest, cut.newest, cut.left) == ([], backlog, 0)


def test_the_newest_lines_go_ahead_within_half_of_the_characters() -> None:
    """The question is about them; the drain goes on beside them."""
    backlog = lines([10] * 20)
    cut = next_slice(backlog, backlog, Budget(20, 60))

    assert ids(cut.oldest) == ["m0", "m1", "m2"]
    assert ids(cut.newest) == ["m17", "m18", "m19"]
    assert cut.left == 14


def test_a_long_line_waits_for_a_turn_in_which_it_fits() -> None:
    """It is not cut for the sake of the newest ones."""
    backlog = lines([80, 80])
    first = next_slice(backlog, backlog, Budget(20, 100))
    second = next_slice(backlog[1:], backlog[1:], Budget(20, 100))

    assert (first.oldest, first.newest, first.left) == ([backlog[0]], [], 1)
    assert (second.newest, second.left) == ([backlog[1]], 0)


def test_a_line_over_the_budget_is_shortened_and_leaves_the_newest_their_half() -> None:
    """No turn could bring it whole."""
    backlog = lines([300, *[20] * 9])
    cut = next_slice(backlog, backlog, Budget(20, 100))

    assert cut.oldest[0].text.endswith(SHORTENED)
    assert ids(cut.newest) == ["m8", "m9"]
    assert len(cut.oldest[0].text) == 60


@pytest.mark.parametrize(
    ("root", "others", "shown", "kept"),
    [
        (70, [10, 10], 70, 2),  # others leave it more than half
        (70, [10] * 9, 50, 5),
        (20, [10] * 20, 20, 8),
        (300, [10], 90, 1),
    ],
)
def test_a_root_is_shortened_only_for_others_who_need_its_room(
    root: int, others: list[int], shown: int, kept: int
) -> None:
    """It opens the conversation; the newest lines are what the question is about."""
    first, *rest = lines([root, *others])
    roots, cut = beginning(first, rest, Budget(20, 100))

    assert [len(line.text) for line in roots] == [shown]
    assert cut.newest == rest[len(rest) - kept :]
    assert cut.left == len(rest) - kept


def test_a_block_without_a_root_is_its_newest_lines() -> None:
    """A direct conversation has none; that of a thread may have been deleted."""
    said = lines([10, 10, 10])

    assert beginning(None, said, Budget(2, 100)) == ([], newest(said, Budget(2, 100)))
    assert newest(said, Budget(2, 100)).newest == said[1:]
