"""`./dev test` measures, judges, and leaves pytest the last word."""

import shutil
from pathlib import Path

import pytest

from hermes_chatto.tests.scripts.checkouts import ROOT, Checkout

TEST = '''
"""A test."""

from hermes_chatto.machines.door import is_open


def test_door() -> None:
    """Its promise."""
    assert is_open(locked=False)
'''
COVERED = '''
"""A door."""


def is_open(*, locked: bool) -> bool:
    """Tell."""
    return not locked
'''
UNCOVERED = "".join(
    f"\n\ndef unused{n}() -> int:\n    '''No one asks.'''\n    return {n}\n" for n in range(9)
)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A plugin of one module with one test."""
    made = Checkout(tmp_path)
    shutil.copy(ROOT / "pyproject.toml", made.root)
    shutil.rmtree(made.root / "actors")
    for folder, name, text in (
        ("machines", "__init__.py", '"""Machines."""\n'),
        ("machines", "door.py", COVERED),
        ("tests", "test_door.py", TEST),
    ):
        (made.root / folder).mkdir(exist_ok=True)
        (made.root / folder / name).write_text(text.lstrip())
    return made


def test_suite_that_covers_everything_passes(checkout: Checkout) -> None:
    """The report stands above pytest's closing line."""
    ended = checkout.module("suite")

    assert ended.code == 0, ended.out
    assert "covered: 100.0 %" in ended.out
    assert "1 passed" in ended.out.splitlines()[-1]


def test_suite_that_covers_too_little_fails(checkout: Checkout) -> None:
    """Though every test passed."""
    with (checkout.root / "machines" / "door.py").open("a") as module:
        module.write(UNCOVERED)

    ended = checkout.module("suite")

    assert ended.code == 1
    assert "below" in ended.out
    assert "1 passed" in ended.out.splitlines()[-1]


def test_module_that_nothing_imports_counts_as_uncovered(checkout: Checkout) -> None:
    """A forgotten module cannot hide."""
    (checkout.root / "machines" / "attic.py").write_text('"""Dust."""\n' + UNCOVERED)

    ended = checkout.module("suite")

    assert "attic.py" in ended.out
    assert ended.code == 1


def test_process_that_a_test_starts_is_measured(checkout: Checkout) -> None:
    """Also below another name, as the gateway loads the plugin."""
    (checkout.root / "machines" / "hall.py").write_text('"""A hall."""\n\nprint("echo")\n')
    (checkout.root / "tests" / "test_hall.py").write_text(
        "import subprocess, sys, pathlib\n\n\n"
        "def test_hall() -> None:\n"
        "    root = pathlib.Path(__file__).parent.parent\n"
        "    code = 'import sys; sys.path[:0] = [sys.argv[1]]; import machines.hall'\n"
        "    subprocess.run([sys.executable, '-c', code, str(root)], check=True, cwd='/')\n"
    )

    ended = checkout.module("suite")

    assert ended.code == 0, ended.out
    assert "covered: 100.0 %" in ended.out


def test_interrupted_suite_says_so_and_judges_nothing(checkout: Checkout) -> None:
    """What was covered until then is no number."""
    (checkout.root / "tests" / "test_break.py").write_text(
        "import os, signal\n\n\n"
        "def test_it() -> None:\n"
        "    os.kill(os.getppid(), signal.SIGINT)\n"
        "    signal.pause()\n"
    )

    ended = checkout.module("suite")

    assert ended.code == 130
    assert "covered" not in ended.out


def test_selected_tests_are_not_measured(checkout: Checkout) -> None:
    """A part covers a part; judging it would only be in the way."""
    ended = checkout.module("suite", "tests/test_door.py")

    assert ended.code == 0
    assert "covered" not in ended.out
