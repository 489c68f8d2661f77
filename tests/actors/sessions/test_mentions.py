"""Which handles a message mentions."""

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_chatto.actors.sessions.mentions import (
    leading_mention_end,
    mentioned_handles,
    mentions,
)

CASES = Path(__file__).parents[2] / "cases" / "mentions.jsonl"
FURTHER_CASES = Path(__file__).with_name("further_mentions.jsonl")
BLOCKS = ("\n", "\n\n", "\t", "    ", ">", "> ", "- ", "1. ", "#", "\n```\n", "[z]: u", "\r")
INLINES = ("@a", "@b.c", "@", "a", " ", "\\", "`", "``", "[", "![", "](", ")", "]", "<", "<a:@b>")
ODD = ('"', "'", "*", "\x00", "\ud800", "é", "\u200b")
MARKUP = st.sampled_from(BLOCKS + INLINES + ODD)
MARKDOWN = st.lists(MARKUP, max_size=40).map("".join)
CODE = st.text(alphabet="@abc.[]()<>*_#> \\é", min_size=1).filter(lambda text: "\\" not in text)
SECONDS = 5.0  # the slowest takes 0.3 s, ten times that while coverage counts lines


def _cases(file: Path) -> list[tuple[str, list[str]]]:
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [(row["body"], row["handles"]) for row in rows]


@pytest.mark.parametrize(("body", "handles"), _cases(CASES))
def test_finds_what_the_server_finds(body: str, handles: list[str]) -> None:
    """Every case was answered by the server's own extraction function."""
    assert list(mentioned_handles(body)) == handles


@pytest.mark.parametrize(("body", "handles"), _cases(FURTHER_CASES))
def test_finds_what_the_server_notifies_of(body: str, handles: list[str]) -> None:
    """Every one was posted on a real server, with an account for each handle that may be meant.

    They stand for the kinds of bodies in which a reader is easily wrong: nested blocks and tabs,
    definitions that are none, backslashes at the end of a line, blanks that are none.
    """
    assert list(mentioned_handles(body)) == handles


def test_a_body_the_server_cannot_read_is_read() -> None:
    """It fails at a fence behind a tab that ends a line, and refuses to post such a body."""
    assert mentioned_handles("@a\n> b\n> \t`") == ("a",)


@pytest.mark.parametrize(
    ("body", "handles"),
    [
        ("[x](javascript:@a)", []),
        ("<javascript:@a>", []),
        ("[x](u '@a')", []),
        ("[x](u '@a", ["a"]),
        ("[x](<u>'@a')", []),
        ("[x](u(@a )", []),
        ("[x]( @a b)", ["a"]),
        ("[x](", []),
        ("[x]()@a", ["a"]),
        ("[x](@a", ["a"]),
        ("[x](<@a", ["a"]),
        ("[x](()@a)", []),
        ("[x](\n@a\n)", []),
        ("[[a](u)](@b)", ["b"]),
        ("![[a](u)](@b)", []),
        ("[z]: /u\n\n[x][z](@a)", ["a"]),
        ("[z]: /u\n\n[x][@a]", ["a"]),
        ("[ Z\tz ]: /u\n\n[@a][z z]", ["a"]),
        ("[z]: /u '@a'\n@b", ["b"]),
        ("[z]: /u\n'@a' @b", ["a", "b"]),
        ("[z]: <u>'@a'", ["a"]),
        ("[z] /u @a", ["a"]),
        ("[ ]: /u\n@a", ["a"]),
        ("[z]:\n\n@a", ["a"]),
        ("# [z]: @a", ["a"]),
        ("[z]: @a\n===\n@b", ["b"]),
        ("> [z]: /u\n@lazy", []),
        ("> [z]: /u\n\n[@a][z] [x](@b", ["a", "b"]),
        ("a\r\n\r\n    @code", []),
        ("> a\r\n\r\n@b", ["b"]),
        ("a\r> @b", ["b"]),
        ("]@a", ["a"]),
        ("!@a", ["a"]),
        ("@@", []),
    ],
)
def test_reads_links_and_line_ends_as_the_server_does(body: str, handles: list[str]) -> None:
    """Beyond the cases: link targets, titles, definitions and carriage returns."""
    assert list(mentioned_handles(body)) == handles


@pytest.mark.parametrize("body", ["", "hallo", "a@b.de", "@", "@.a", "`@`"])
def test_finds_nothing_where_no_handle_stands(body: str) -> None:
    """Such a body is not even parsed."""
    assert mentioned_handles(body) == ()


def test_each_spelling_counts_once_in_order() -> None:
    """Resolving compares without case; what was written is kept."""
    assert mentioned_handles("@b @a @b\n\n- @A @a") == ("b", "a", "A")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("@Hermes hallo", True),
        ("hallo @HERMES", True),
        ("@hermes.", True),
        ("@hermes-bot", False),
        ("@hermes.bot", False),
        ("`@hermes`", False),
        ("hermes", False),
    ],
)
def test_a_login_is_mentioned_by_exactly_its_handle(body: str, *, expected: bool) -> None:
    """A longer handle is somebody else, case is nothing."""
    assert mentions(body, "hermes") is expected


@pytest.mark.parametrize(
    ("body", "rest"),
    [
        ("@hermes /status", "/status"),
        ("@Hermes: /status", "/status"),
        ("@hermes,\n/status", "/status"),
        ("  @hermes\u00a0/status", "/status"),
        ("\n\n@hermes\uff0c/status", "/status"),
        ("@hermes", ""),
        ("@hermes/status", "/status"),
        ("@hermes -v", "-v"),
    ],
)
def test_a_leading_mention_ends_where_the_command_begins(body: str, rest: str) -> None:
    """Blanks and punctuation behind the mention belong to it."""
    end = leading_mention_end(body, "hermes")

    assert end > 0
    assert body[end:] == rest


@pytest.mark.parametrize(
    "body",
    [
        "",
        "/status",
        "hallo @hermes",
        "@bob @hermes",
        "@hermes2",
        "@hermes-",
        "    @hermes",
        "> @hermes",
    ],
)
def test_a_body_without_a_leading_mention_has_no_such_end(body: str) -> None:
    """Somebody else, something else or code comes first."""
    assert leading_mention_end(body, "hermes") == 0


@pytest.mark.timeout(60)
@settings(deadline=None)  # how long it may take has tests of its own
@given(st.one_of(st.text(), MARKDOWN))
def test_any_text_gives_handles_of_the_grammar(body: str) -> None:
    """Lone surrogates, NUL and broken markup included."""
    for handle in mentioned_handles(body):
        assert re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", handle)
        assert f"@{handle}" in body
        assert mentions(body, handle.swapcase())


@settings(deadline=None)
@given(MARKDOWN, st.sampled_from(["a", "b.c"]))
def test_a_leading_mention_is_one_of_the_mentions(body: str, login: str) -> None:
    """The two questions are answered by the same reading."""
    end = leading_mention_end(body, login)

    assert 0 <= end <= len(body)
    assert end == 0 or mentions(body, login)


@settings(deadline=None)
@given(CODE)
def test_code_never_mentions(code: str) -> None:
    """A span and a fence hide whatever stands in them."""
    assert mentioned_handles(f"x `{code}` y") == ()
    assert mentioned_handles(f"```\n{code}\n```") == ()


BLOCK_UNITS = ("> ", "- ", "1. ", "> - ", "- - - a\n", "- a\n  - b\n", "a\n", "=\n", "\n")
INLINE_UNITS = (
    "[",
    "![",
    "[](",
    "[](<",
    "[](<\\a",
    "![](a 'b' ",
    "[a](b) ",
    "[a][",
    "[z]: (\n",
    '[z]: u "x\n',
    "`",
    "``` ` ",
    "*",
    "\\",
    "<a:",
    "@a ",
)


def _filled(unit: str, head: str = "") -> str:
    room = 9_990 - len(head.encode())
    return head + unit * (room // len(unit.encode())) + "\n\n@end"


@pytest.mark.parametrize("unit", BLOCK_UNITS + INLINE_UNITS)
def test_repeated_markup_does_not_stall(unit: str) -> None:
    """Whoever may write may write 10,000 bytes of anything."""
    begin = time.process_time()

    mentioned_handles(_filled(unit))

    assert time.process_time() - begin < SECONDS


@pytest.mark.parametrize("lines", ["b\n", "#b\n", "``\n", "> b\n", "\n"])
@pytest.mark.parametrize("marker", [">", "> ", "- ", "> - ", "- > "])
@pytest.mark.parametrize("depth", [4, 40, 1_000])
def test_deep_nesting_does_not_stall(marker: str, depth: int, lines: str) -> None:
    """Every line below a quote costs once per level: many lines buy less depth."""
    begin = time.process_time()

    mentioned_handles(_filled(lines, head=marker * depth + "a\n"))

    assert time.process_time() - begin < SECONDS


@pytest.mark.parametrize("levels", [1, 20, 2_000])
def test_a_deep_list_and_what_follows_are_read(levels: int) -> None:
    """However deep: what stands in a list is text."""
    assert mentioned_handles("- " * levels + "@a\n\n@b") == ("a", "b")


@pytest.mark.parametrize("depth", [300, 1_000, 2_400])
def test_deep_lists_that_go_on_behind_tabs_do_not_stall(depth: int) -> None:
    """Each line is asked by each level, and a tab is the cheapest way to reach them all."""
    begin = time.process_time()

    mentioned_handles(_filled("\n" + "\t" * (depth // 2) + "b\n", head="- " * depth + "a\n"))

    assert time.process_time() - begin < SECONDS


@pytest.mark.parametrize("levels", [1, 39, 41, 2_000])
def test_text_behind_a_deep_quote_is_read(levels: int) -> None:
    """However deep a quote is, all in it is quoted and nothing behind it."""
    assert mentioned_handles("> " * levels + "@a\n@lazy\n\n@b") == ("b",)


@pytest.mark.parametrize("depth", [1, 8, 2_000])
def test_a_link_target_holds_any_number_of_parentheses(depth: int) -> None:
    """Balanced or not: one too few does not end it."""
    assert mentioned_handles("[x](" + "(" * depth + "@a" + ")" * depth + ")@b") == ("b",)
    assert mentioned_handles("[x](" + "(" * depth + "@a) )@b") == ("b",)


@pytest.mark.parametrize(("length", "handles"), [(999, ()), (1_000, ("a" + "z" * 998,))])
def test_a_label_of_a_thousand_characters_refers_to_nothing(
    length: int, handles: tuple[str, ...]
) -> None:
    """As on the server: the label of a link is hidden text, brackets that are none show it."""
    label = "@a" + "z" * (length - 2)

    assert mentioned_handles(f"[{label}]: /u\n\n[x][{label}]") == handles
