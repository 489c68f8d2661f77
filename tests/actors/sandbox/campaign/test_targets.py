"""Every known point is a target before any is one again."""

from random import Random

from hermes_chatto.actors.sandbox.campaign.points import Edge, Point
from hermes_chatto.actors.sandbox.campaign.targets import MISSES, Target, Targets

POINTS = [Point(edge, place) for edge in Edge for place in ("a:1", "b:2")]


def test_each_point_comes_once_in_a_round() -> None:
    """A point may not come at its turn; then it comes again, and nothing that was hit does."""
    targets, chance = Targets(), Random(1)  # noqa: S311 - a play
    targets.learn(((point, 3) for point in POINTS), 4, is_usual=True)
    found = [targets.next(chance) for _ in POINTS]
    for point in POINTS[1:]:
        targets.strike(point)

    assert {each.point for each in found if each} == set(POINTS)
    assert [targets.next(chance) for _ in range(2)] == [Target(POINTS[0], 1, 4)] * 2
    targets.strike(POINTS[0])
    assert targets.next(chance) is None


def test_later_passes_are_for_points_that_come_again() -> None:
    """And no later one than was seen."""
    targets, chance = Targets(), Random(1)  # noqa: S311 - a play
    targets.learn([(POINTS[0], 3)], 4, is_usual=True)
    found = [targets.again(chance) for _ in range(40)]

    assert {each.nth for each in found if each} == {1, 2, 3}
    assert {each.point for each in found if each} == {POINTS[0]}


def test_without_points_there_is_no_target() -> None:
    """Nothing was passed yet."""
    assert Targets().next(Random(1)) is None  # noqa: S311
    assert Targets().again(Random(1)) is None  # noqa: S311


def test_what_was_hit_is_counted_once() -> None:
    """However often."""
    targets = Targets()
    targets.learn([(POINTS[0], 1), (POINTS[1], 1)])
    targets.strike(POINTS[0])
    targets.strike(POINTS[0])

    assert (len(targets), targets.left) == (2, [POINTS[1]])


def test_nobody_is_spared_where_nobody_can_be_aimed_at() -> None:
    """A point that came once, in trouble, is killed at when it comes again, and no more then."""
    targets = Targets()
    targets.learn([(POINTS[0], 1)], 4, is_usual=True)
    targets.learn([(POINTS[0], 2), (POINTS[1], 1)])

    assert targets.next(Random(1)) == Target(POINTS[0], 1, 4)  # noqa: S311 - a play
    assert targets.spared == [POINTS[0]]
    targets.strike(POINTS[1])
    targets.strike(POINTS[2])
    assert set(targets.spared) == set(POINTS[:3])


def test_a_point_that_does_not_come_is_not_aimed_at_for_ever() -> None:
    """As one that needs an empty cache: the first question of a kind passed it, and no other."""
    targets, chance = Targets(), Random(1)  # noqa: S311 - a play
    targets.learn([(POINTS[0], 1), (POINTS[1], 1)], is_usual=True)
    targets.strike(POINTS[1])
    for _ in range(MISSES):
        targets.miss(Target(POINTS[0], 1, None))

    assert targets.next(chance) is None
    assert targets.again(chance) == Target(POINTS[1], 1, None)
    assert targets.spared == [POINTS[1]]
