"""Identifiers of the embedded server."""

import re

import pytest

from hermes_chatto.actors.sandbox.server.ids import PREFIXES, DescendingIds, IdKind


def test_a_later_message_has_a_smaller_id() -> None:
    """Code that orders messages by ID fails at once, not now and then."""
    ids = DescendingIds()

    made = [ids.new(IdKind.MESSAGE) for _ in range(1000)]

    assert made == sorted(made, reverse=True)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("kind", IdKind)
def test_ids_look_like_those_of_a_real_server(kind: IdKind) -> None:
    """A prefix letter and fourteen characters of `0-9A-Za-z`."""
    ids = DescendingIds()

    made = ids.new(kind)

    assert re.fullmatch(rf"{PREFIXES[kind]}[0-9A-Za-z]{{14}}", made)


def test_the_same_seed_gives_the_same_ids() -> None:
    """A run can be repeated with the IDs it had."""
    first, second = DescendingIds(seed=7), DescendingIds(seed=7)

    assert [first.new(kind) for kind in IdKind] == [second.new(kind) for kind in IdKind]
