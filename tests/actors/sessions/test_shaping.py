"""What agents write is shown well in Chatto, and calls nobody by accident."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_chatto.actors.sessions.mentions import mentioned_handles
from hermes_chatto.actors.sessions.shaping import handles_in, inert, shape
from hermes_chatto.actors.sessions.splitting import split

PEOPLE = frozenset({"alice", "first.last"})

MESSY = st.lists(
    st.sampled_from(
        [
            *("@all", "@alice", "@here", "@Moderator", "x@all.de", "`", "``", "```", "\n", "\n\n"),
            *("> ", "- ", "    ", "[a](", ")", "![", "](u)", "| a | b |", "|---|---|", "\\", "*"),
            *("https://h.de/@all", "<https://h.de/@all>", "word", " ", "@", "~~~"),
        ]
    ),
    max_size=40,
).map("".join)


def seen(text: str) -> str:
    """Return what a reader sees of a text: the joiner is invisible."""
    return text.replace("\u2060", "")


def test_broadcasts_and_roles_are_inert_and_people_are_called() -> None:
    """Handed S16: the words stay, the mention does not."""
    text = "done, @all and @here and @moderator, thanks @alice and @First.Last."

    shaped = shape(text, PEOPLE)

    assert mentioned_handles(shaped) == ("alice", "First.Last")
    assert seen(shaped) == text


@pytest.mark.parametrize("text", ["x@all.de", "`@all`", "```\n@all\n```", "a\n\n    @all", "@"])
def test_what_is_no_mention_is_left_alone(text: str) -> None:
    """Mail addresses and code."""
    assert shape(text, PEOPLE) == text


def test_a_handle_in_an_address_is_encoded() -> None:
    """The server reads it as a mention; the address leads to the same place."""
    assert shape("see https://h.de/@all and https://h.de/@alice", PEOPLE) == (
        "see https://h.de/%40all and https://h.de/@alice"
    )


def test_the_target_of_a_link_is_left_alone() -> None:
    """The server finds no mention there."""
    text = "[x](https://h.de/@all) <https://h.de/@all>"

    assert shape(text, PEOPLE) == text


@given(MESSY, st.integers(20, 60))
def test_no_part_calls_anybody_else(text: str, limit: int) -> None:
    """However an answer is made and wherever it is cut."""
    parts = [inert(part, PEOPLE) for part in split(shape(text, PEOPLE), limit)]

    called = [name.lower() for part in parts for name in mentioned_handles(part)]
    assert set(called) <= PEOPLE


@given(MESSY)
def test_shaping_twice_is_shaping_once(text: str) -> None:
    """What is shaped has nothing left to be shaped, but for the escapes an escape leaves."""
    if "\\" in text:
        return
    once = shape(text, PEOPLE)

    assert shape(once, PEOPLE) == once


def test_every_handle_is_asked_about_once() -> None:
    """Also those in code: a cut may bring them out of it."""
    assert handles_in("@Alice `@bob` > @alice, x@all") == ["alice", "bob"]


def test_a_table_becomes_columns_of_code() -> None:
    """Chatto shows raw pipes in a proportional font."""
    table = "| Name | **Count** |\n|:-----|------:|\n| 日本 | `1` |\n| [a\\|b](https://a.b) | 12 |"

    assert shape(f"Look:\n\n{table}\n\nDone @alice", PEOPLE) == (
        "Look:\n\n"
        "```\n"
        "Name               Count\n"
        "-----------------  -----\n"
        "日本                   1\n"
        "a|b (https://a.b)     12\n"
        "```\n"
        "\nDone @alice"
    )


def test_a_table_ends_where_a_sentence_begins() -> None:
    """A line without a bar is no row to whoever wrote it."""
    shaped = shape("| a | b |\n|---|---|\n| 1 | 2 |\nThanks @alice", PEOPLE)

    assert shaped == "```\na  b\n-  -\n1  2\n```\nThanks @alice"


def test_a_table_stays_in_its_quote_or_list() -> None:
    """Its lines keep what stands before them."""
    table = ["| a | b |", "|---|:-:|", "| 1 | 2 |"]

    assert shape("\n".join(f"> {row}" for row in table)) == (
        "> ```\n> a  b\n> -  -\n> 1  2\n> ```"
    )
    assert shape(f"- {table[0]}\n  {table[1]}\n  {table[2]}\n- next") == (
        "- ```\n  a  b\n  -  -\n  1  2\n  ```\n- next"
    )


def test_a_table_of_backticks_has_a_longer_fence() -> None:
    """What is in a cell does not end the code."""
    assert shape("| a |\n|---|\n| ```` ``` ```` |").startswith("````\n")


def test_a_centred_cell_and_a_missing_one() -> None:
    """Rows may be shorter than the head."""
    assert shape("| name | b |\n|:-:|---|\n| x |\n| a<br>b | ![p](u) |") == (
        "```\nname  b\n----  -\n x\na b   p\n```"
    )


def test_bars_outside_of_a_table_stay() -> None:
    """A table has a rule below its head."""
    assert shape("a | b\nc | d") == "a | b\nc | d"


@pytest.mark.parametrize(
    ("written", "posted"),
    [
        ("![a picture](https://a.b/c.png)", "[a picture](https://a.b/c.png)"),
        ("![](https://a.b/c.png)", "https://a.b/c.png"),
        ("![](<https://a.b/c d.png> 'title')", "https://a.b/c"),
        ("[![badge](https://a.b)](https://c.d)", "[[badge](https://a.b)](https://c.d)"),
        ("![]()", ""),
        ("`![a](b)`", "`![a](b)`"),
    ],
)
def test_a_picture_becomes_a_link(written: str, posted: str) -> None:
    """Chatto shows an exclamation mark and a link."""
    assert shape(written) == posted


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"snake\_case \*not bold\* \[x\]", "snake_case *not bold* [x]"),
        ("one\\\ntwo", "one\ntwo"),
        (r"https://a.b/c\_d", "https://a.b/c_d"),
        (r"[a\_b](https://a.b)", "[a_b](https://a.b)"),
        (r"C:\Users\new", r"C:\Users\new"),
        (r"`a\*b`", r"`a\*b`"),
        ("```\na\\*b\n```", "```\na\\*b\n```"),
    ],
)
def test_an_escape_does_not_show(written: str, shown: str) -> None:
    """Chatto would show the backslash; code is left alone."""
    assert shape(written) == shown


def test_a_bracket_in_a_label_stays_escaped() -> None:
    """It would end the label."""
    assert shape(r"[a\]b](https://a.b)") == r"[a\]b](https://a.b)"


@pytest.mark.parametrize("written", [r"\# head", r"1\. one", r"\- item", r"> \> quote", "\\```x"])
def test_an_escaped_block_mark_begins_no_block(written: str) -> None:
    """An invisible character takes the place of the backslash."""
    shaped = shape(written)

    assert seen(shaped) == written.replace("\\", "")
    assert "\u2060" in shaped
