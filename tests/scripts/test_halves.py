"""Tests that start programs run in a process of their own, and appear as if they had not."""

import shutil
from pathlib import Path

import pytest

from hermes_chatto.tests.scripts.checkouts import ROOT, Checkout

HERE = """
import os
from pathlib import Path


def test_here() -> None:
    Path("here").write_text(str(os.getpid()))
"""
THERE = """
import os
from pathlib import Path


def test_there() -> None:
    Path("there").write_text(str(os.getpid()))
"""
FAILING = """
def test_failing() -> None:
    seen = "something odd"
    assert seen == "as ever"
"""
ENDING = """
import os


def test_first() -> None:
    print("last words", flush=True)


def test_ending() -> None:
    os._exit(3)


def test_never() -> None:
    pass
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A plugin without a line of code, a test here and one of the other half."""
    made = Checkout(tmp_path)
    shutil.copy(ROOT / "pyproject.toml", made.root)
    shutil.rmtree(made.root / "actors")
    (made.root / "tests" / "end_to_end").mkdir(parents=True)
    (made.root / "tests" / "test_here.py").write_text(HERE)
    (made.root / "tests" / "end_to_end" / "test_there.py").write_text(THERE)
    return made


def test_both_halves_are_one_suite(checkout: Checkout) -> None:
    """Two processes, one count in the closing line."""
    ended = checkout.module("suite")

    pids = {(checkout.root / name).read_text() for name in ("here", "there")}
    assert ended.code == 0, ended.out
    assert len(pids) == 2
    assert "2 passed" in ended.out.splitlines()[-1]


def test_a_failure_of_the_other_half_is_shown_as_ever(checkout: Checkout) -> None:
    """With its values, and in the exit code."""
    (checkout.root / "tests" / "end_to_end" / "test_failing.py").write_text(FAILING)

    ended = checkout.module("suite")

    assert ended.code == 1
    assert "assert 'something odd' == 'as ever'" in ended.out
    assert "FAILED tests/end_to_end/test_failing.py::test_failing" in ended.out
    assert "1 failed, 2 passed" in ended.out.splitlines()[-1]


def test_tests_that_are_never_told_of_have_failed(checkout: Checkout) -> None:
    """The process ended under them; what it wrote is shown."""
    (checkout.root / "tests" / "end_to_end" / "test_ending.py").write_text(ENDING)

    ended = checkout.module("suite")

    assert ended.code == 1
    assert "the process of these tests ended before it" in ended.out
    assert "3 failed, 2 passed" in ended.out.splitlines()[-1]


def test_a_part_of_the_suite_runs_here(checkout: Checkout) -> None:
    """Whoever names tests wants to see them run."""
    ended = checkout.module("suite", "tests")

    pids = {(checkout.root / name).read_text() for name in ("here", "there")}
    assert ended.code == 0, ended.out
    assert len(pids) == 1
