"""What the operator writes, and what it becomes."""

import pytest

from hermes_chatto.actors.hermes.values import (
    JunkError,
    Kind,
    MalformedError,
    Secret,
    Value,
    read_value,
)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (Kind.TEXT, "  https://chat.example.org ", "https://chat.example.org"),
        (Kind.TEXT, 42, "42"),
        (Kind.BOOL, "Yes", True),
        (Kind.BOOL, " on ", True),
        (Kind.BOOL, 1, True),
        (Kind.BOOL, "0", False),
        (Kind.BOOL, False, False),
        (Kind.INT, 120, 120),
        (Kind.INT, "120", 120),
        (Kind.INT, 120.0, 120),
        (Kind.INT, "120.0", 120),
        (Kind.SECONDS, " 30 ", 30),
        (Kind.SECONDS, 0, 0),
        (Kind.LIST, "alice, bob", ("alice", "bob")),
        (Kind.LIST, "alice\nbob,,", ("alice", "bob")),
        (Kind.LIST, "'alice', \"bob\"", ("alice", "bob")),
        (Kind.LIST, '["alice", "bob"]', ("alice", "bob")),
        (Kind.LIST, ["alice", " bob ", "", None, 7, "alice"], ("alice", "bob", "7")),
        (Kind.LIST, 7, ("7",)),
        (Kind.LIST, ",", ()),
        (Kind.LIST, [], ()),
        (Kind.LIST, None, ()),
    ],
    ids=repr,
)
def test_the_same_meaning_has_many_spellings(kind: Kind, raw: object, value: Value) -> None:
    """Blanks, quotes, case and the type YAML chose do not matter."""
    read = read_value(kind, raw)

    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (Kind.TEXT, True),
        (Kind.TEXT, ["a"]),
        (Kind.BOOL, "perhaps"),
        (Kind.BOOL, 2),
        (Kind.INT, True),
        (Kind.INT, -1),
        (Kind.INT, "12.5"),
        (Kind.INT, 12.5),
        (Kind.INT, float("nan")),
        (Kind.INT, float("inf")),
        (Kind.INT, [1]),
        (Kind.INT, 10**400),
        (Kind.INT, "1000000001"),
        (Kind.SECONDS, "9" * 5_000),
        (Kind.SECONDS, "5m"),
        (Kind.SECONDS, "\N{SUPERSCRIPT TWO}"),
    ],
    ids=repr,
)
def test_what_is_none_of_the_kind_is_junk(kind: Kind, raw: object) -> None:
    """Nothing is guessed: `5m` is not 5 and not 300."""
    with pytest.raises(JunkError):
        read_value(kind, raw)


@pytest.mark.parametrize("raw", [{"alice": True}, [["alice"]], [{"a": 1}], [True], True])
def test_another_structure_is_malformed(raw: object) -> None:
    """A map where a list belongs could mean anything, so nobody may be let in by it."""
    with pytest.raises(MalformedError):
        read_value(Kind.LIST, raw)


def test_a_choice_takes_its_words_in_any_case() -> None:
    """A bare `off` is the word, also after YAML made false of it."""
    choices = ("off", "asker")
    raw_off = False

    assert read_value(Kind.CHOICE, " Asker ", choices) == "asker"
    assert read_value(Kind.CHOICE, raw_off, choices) == "off"
    with pytest.raises(JunkError, match="one of off, asker"):
        read_value(Kind.CHOICE, "often", choices)


def test_a_secret_shows_itself_nowhere() -> None:
    """Neither repr nor str nor formatting has the text; only the call that asks for it."""
    secret = read_value(Kind.SECRET, " hunter2 ")

    assert isinstance(secret, Secret)
    assert "hunter2" not in f"{secret!r} {secret} {secret!s} {[secret]}"
    assert secret.reveal() == "hunter2"
