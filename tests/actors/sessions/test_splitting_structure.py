"""What belongs together stays in one part as long as there is another place to cut."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from wcwidth import iter_graphemes

from hermes_chatto.actors.sessions.characters import has_visible
from hermes_chatto.actors.sessions.splitting import PART_BYTES, split

MARKDOWN = MarkdownIt("commonmark")

WORDS = st.lists(st.sampled_from(["one", "größer", "🎩", "`a b`", "x"]), min_size=1, max_size=6)
PROSE = st.lists(WORDS.map(" ".join), min_size=1, max_size=4).map("\n".join)
CODE_LINE = st.sampled_from(["", "    x = 1", "\ty", "return größer", "  ", "# `@all`", "~~~ no"])


@st.composite
def fenced(draw: st.DrawFn) -> str:
    """Return a block of fenced code."""
    run = draw(st.sampled_from(["```", "````", "~~~~"]))
    language = draw(st.sampled_from(["", "python", "c++ title"]))
    lines = draw(st.lists(CODE_LINE, min_size=1, max_size=12))
    return "\n".join([run + language, *lines, run])


ANSWERS = st.lists(st.one_of(PROSE, fenced()), min_size=1, max_size=5).map("\n\n".join)
LIMITS = st.integers(40, 120)


def code_of(text: str) -> list[tuple[str, str]]:
    """Return each line of fenced code of a text with its language."""
    tokens = MARKDOWN.parse(text)
    return [
        (token.info.strip(), line)
        for token in tokens
        if token.type == "fence"
        for line in token.content.split("\n")[:-1]
    ]


@given(ANSWERS, LIMITS)
@example("```python\n\n    x\n\n```", 40)
def test_code_comes_back_line_by_line_with_its_language(text: str, limit: int) -> None:
    """Each part is a whole text for itself; blanks and indentation stay (handed S28)."""
    parts = split(text, limit)

    assert [line for part in parts for line in code_of(part)] == code_of(text)


@given(ANSWERS, LIMITS)
def test_parts_with_code_keep_the_limit_and_can_be_seen(text: str, limit: int) -> None:
    """What closes and reopens a block counts, too."""
    for part in split(text, limit):
        assert len(part.encode()) <= limit
        assert has_visible(part)


@given(ANSWERS, LIMITS)
def test_words_outside_of_code_arrive_in_order(text: str, limit: int) -> None:
    """Only what marks code is added, and only blanks and line ends are dropped."""

    def words(body: str) -> list[str]:
        lines = [line for line in body.split("\n") if not line.startswith(("```", "~~~~"))]
        return "\n".join(lines).split()

    parts = split(text, limit)

    assert [word for part in parts for word in words(part)] == words(text)


def test_code_that_fits_is_not_cut() -> None:
    """The place before it comes first."""
    code = "```python\n" + "x = 1\n" * 8 + "```"

    assert split(f"Look here:\n\n{code}\nDone", 62) == ["Look here:\n", code, "Done"]


def test_code_of_400_lines_is_closed_and_reopened() -> None:
    """Handed S28: 20,000 characters of indented python with empty lines."""
    lines = [f"    value_{number} = compute({number}) # größer" for number in range(400)]
    lines[7] = lines[200] = ""
    text = "\n".join(["```python", *lines, "```"])

    parts = split(text)

    assert len(parts) == 2
    assert all(part.startswith("```python\n") and part.endswith("\n```") for part in parts)
    assert all(part.count("```") == 2 for part in parts)
    assert [line for part in parts for _, line in code_of(part)] == lines


def test_a_line_of_code_longer_than_a_part_is_cut_within() -> None:
    """There is no line end; each piece is code."""
    parts = split("```\n" + "x" * 100 + "\n```", 50)

    assert all(part.startswith("```\n") and part.endswith("\n```") for part in parts)
    assert "".join(line for part in parts for _, line in code_of(part)) == "x" * 100


def test_code_in_a_list_is_lifted_out_of_it() -> None:
    """Alone, eight blanks would make other code of it."""
    code = "\n".join(f"        line {number}" for number in range(12))
    text = f"1. a\n   - b\n\n     - c\n\n        ```python\n{code}\n        ```\nend"

    parts = split(text, 90)

    code_lines = [line for part in parts for _, line in code_of(part)]
    assert code_lines == [f"line {number}" for number in range(12)]
    assert parts[-1].endswith("end")
    assert "end" not in [line for _, line in code_of(parts[-1])]


def test_code_in_a_quote_stays_in_a_quote() -> None:
    """The marks of the quote are closed and reopened with it."""
    text = "> ```sh\n" + "> echo 1\n" * 12 + "> ```"

    parts = split(text, 60)

    assert all(part.startswith("> ```sh\n> ") and part.endswith("\n> ```") for part in parts)
    assert len([line for part in parts for line in code_of(part)]) == 12


def test_a_language_that_fills_the_part_is_no_reason_to_stand_still() -> None:
    """Cut like text: no code would ever follow it."""
    text = "```" + "p" * 60 + "\nx\n```"

    assert "".join(split(text, 40)).replace("\n", "") == text.replace("\n", "")


@pytest.mark.parametrize(
    "link",
    [
        "[a label of words](https://example.org/a?b=c)",
        "![a picture](<https://example.org/a b>)",
        "https://example.org/a/very/long/address",
        "`a span of code`",
        "<https://example.org/x>",
        "[![badge of](https://a.example/b)](https://example.org/a)",
    ],
)
@pytest.mark.parametrize("before", range(1, 60, 7))
def test_a_link_stays_whole(link: str, before: int) -> None:
    """Cut before it, even where a blank in it comes later."""
    text = "x" * before + " " + link + " behind it"

    assert any(link in part for part in split(text, 66))


def test_a_link_after_a_script_without_blanks_stays_whole() -> None:
    """Where no blank is, its beginning is the place."""
    link = "https://example.org/abcdef"

    assert split("漢" * 10 + link, 40) == ["漢" * 10, link]


def test_a_link_longer_than_a_part_is_cut() -> None:
    """There is no earlier place."""
    text = "https://example.org/" + "a" * 100

    assert "".join(split(text, 40)) == text


@given(
    st.lists(
        st.sampled_from(["e\u0301", "👨‍👩‍👧", "🇩🇪", "👍🏽", "漢", "\u0915\u094d\u0937", "a"]),
        min_size=1,
        max_size=60,
    )
)
def test_no_character_as_people_see_it_is_torn(clusters: list[str]) -> None:
    """Accents, families, flags, skin tones, conjuncts."""
    text = "".join(clusters)
    parts = split(text, 40)
    boundaries = set(itertools.accumulate(map(len, iter_graphemes(text))))

    assert "".join(parts) == text
    assert set(itertools.accumulate(map(len, parts))) <= boundaries


def test_a_character_longer_than_a_part_is_cut() -> None:
    """A letter under thousands of accents has no place but its inside."""
    text = "e" + "\u0301" * 20_000

    parts = split(text)

    assert "".join(parts) == text
    assert all(len(part.encode()) <= PART_BYTES for part in parts)


def test_a_row_of_a_table_stays_whole() -> None:
    """It is a line."""
    rows = [f"| {number} | some words in a cell |" for number in range(40)]

    assert [row for part in split("\n".join(rows), 200) for row in part.split("\n")] == rows


@pytest.mark.parametrize("unit", ["    x = 1\n", "größer 🎩 = 1\n", "y" * 20_000 + "\n", "\n"])
def test_a_megabyte_of_code_comes_back_whole(unit: str) -> None:
    """Also lines longer than a part, which are cut within."""
    code = unit * (1_000_000 // len(unit.encode()))

    parts = split(f"Look:\n```python\n{code}```\nDone")

    assert parts[0] == "Look:"
    assert parts[-1].endswith("```\nDone") or parts[-1] == "Done"
    assert all(len(part.encode()) <= PART_BYTES for part in parts)
    pieces = [line for part in parts for _, line in code_of(part)]
    assert "".join(pieces) == code.replace("\n", "")
    assert unit.startswith("y") or len(pieces) == code.count("\n")
