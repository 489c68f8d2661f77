"""What the reader is left with."""

import shlex
from pathlib import Path

import pytest

from hermes_chatto.actors.sandbox.demo.closing import commands, shown, table


def test_a_table_is_aligned_and_has_no_trailing_blanks() -> None:
    """An empty cell stays empty."""
    lines = table(("at", "step"), [("12:00", "received"), ("12:01", "")])

    assert lines == ["at     step", "-----  --------", "12:00  received", "12:01"]


def test_a_column_without_anything_in_it_is_left_out() -> None:
    """It would only make the others narrow."""
    assert table(("a", "b", "c"), [("1", "", "3")]) == ["a  c", "-  -", "1  3"]


def test_a_path_is_as_short_as_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative below the folder the reader is in, else whole."""
    monkeypatch.chdir(tmp_path)

    assert shown(tmp_path / "a" / "b") == "a/b"
    assert shown(Path("/nowhere/b")) == "/nowhere/b"


def test_commands_survive_a_shell_whatever_the_path() -> None:
    """A checkout may lie in a folder with blanks in its name."""
    state = Path("/some where/state.db")

    for command in commands(state, "m1"):
        assert str(state) in shlex.split(command)
