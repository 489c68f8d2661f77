"""Long answers are cut by bytes, and nothing of them gets lost."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_chatto.actors.sessions.characters import has_visible, trim
from hermes_chatto.actors.sessions.splitting import PART_BYTES, split

ANYTHING = st.text(st.characters(exclude_characters="`~"))
"""Any Unicode; halves of pairs, too. Fenced code is a matter of its own."""
LINES = st.text(st.sampled_from("aä🎩 \n\u200b\ud83c"), max_size=200)


def whole_characters(text: str) -> str:
    """Return a text as it can be written in UTF-8."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def visible(text: str) -> str:
    """Return what is seen of a text: everything that a cut may swallow is left out."""
    return "".join(char for char in text if has_visible(char))


@given(st.one_of(ANYTHING, LINES), st.integers(4, 40))
def test_a_part_never_exceeds_the_limit(text: str, limit: int) -> None:
    """The server counts bytes of UTF-8 and refuses what has too many."""
    assert all(len(part.encode()) <= limit for part in split(text, limit))


@given(st.one_of(ANYTHING, LINES), st.integers(4, 40))
def test_no_part_is_invisible(text: str, limit: int) -> None:
    """The server takes no body without a visible character."""
    assert all(has_visible(part) for part in split(text, limit))


@given(st.one_of(ANYTHING, LINES), st.integers(4, 40))
def test_everything_visible_arrives_in_order(text: str, limit: int) -> None:
    """Whatever the cuts, the parts together show the text."""
    parts = split(text, limit)

    assert visible("".join(parts)) == visible(whole_characters(text))


@given(st.text(st.sampled_from("ab \n"), max_size=120), st.integers(4, 20))
def test_a_cut_swallows_at_most_what_it_falls_on(text: str, limit: int) -> None:
    """Between two parts lies one line end, one blank, nothing, or a part of nothing but those."""
    rest = text
    for part in split(text, limit):
        before, found, rest = rest.partition(part)

        assert found
        assert not before.strip()
    assert not rest.strip()


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_a_text_without_breaks_loses_nothing(text: str) -> None:
    """Cut between characters, the parts joined are the text."""
    assert "".join(split(text, 10)) == text


@given(ANYTHING)
def test_a_text_that_fits_is_one_part_as_it_is(text: str) -> None:
    """No answer of usual length is touched."""
    written = whole_characters(text)

    assert split(text) == ([written] if has_visible(written) else [])


def test_a_cut_prefers_a_line_end_to_a_later_blank() -> None:
    """Lines stay whole."""
    assert split("one two\nthree four", 15) == ["one two", "three four"]


def test_a_cut_falls_on_a_blank_where_no_line_ends() -> None:
    """Words stay whole."""
    assert split("one two three", 9) == ["one two", "three"]


def test_a_line_end_right_behind_a_full_part_is_where_it_ends() -> None:
    """What comes next does not begin with an empty line."""
    assert split("12345678\nrest", 8) == ["12345678", "rest"]


def test_a_line_end_at_the_beginning_makes_no_empty_part() -> None:
    """A cut always takes something along."""
    assert split("\n12345678", 8) == ["\n1234567", "8"]


def test_characters_of_four_bytes_are_never_torn() -> None:
    """A limit inside a character ends before it."""
    assert split("🎩🎩🎩", 7) == ["🎩", "🎩", "🎩"]


def test_a_limit_below_one_character_is_refused() -> None:
    """It would never come to an end."""
    with pytest.raises(ValueError, match="limit=3"):
        split("x", 3)


@pytest.mark.parametrize("text", ["", " \n", "\u200b\u00ad", "\n" * 30_000])
def test_nothing_visible_gives_no_part(text: str) -> None:
    """There is nothing to be posted."""
    assert split(text) == []


@pytest.mark.parametrize("unit", ["a", "🎩", "word ", "line\n", "\ud83c"])
def test_a_megabyte_is_cut_without_delay(unit: str) -> None:
    """The cost grows with the length, not with its square."""
    text = unit * (1_000_000 // len(unit))
    began = time.process_time()

    parts = split(text)

    assert len(parts) >= 1_000_000 // PART_BYTES
    assert time.process_time() - began < 1.0


@given(ANYTHING)
def test_trimming_leaves_the_middle_alone(text: str) -> None:
    """Only the ends go, and afterwards both ends can be seen."""
    trimmed = trim(text)

    assert trimmed in text
    assert not trimmed or (has_visible(trimmed[0]) and has_visible(trimmed[-1]))
    assert visible(trimmed) == visible(text)
