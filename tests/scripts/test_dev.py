"""The shell part of `./dev`: which Python it takes, and what it says when there is none."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_chatto.tests.scripts.checkouts import ROOT, Checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout that sees one Python."""
    return Checkout(tmp_path)


def test_help_lists_every_command_and_makes_nothing(checkout: Checkout) -> None:
    """Asking costs nothing."""
    ended = checkout.dev("help")

    assert ended.code == 0
    for name in ("demo", "sandbox", "test", "check", "diagrams"):
        assert f"./dev {name}" in ended.out
    assert not (checkout.root / ".dev").exists()


def test_unknown_command_is_answered_with_the_known_ones(checkout: Checkout) -> None:
    """A typing error does not start an installation."""
    ended = checkout.dev("dmeo")

    assert ended.code == 2
    assert "no command `dmeo`" in ended.err
    assert "./dev demo" in ended.err
    assert not (checkout.root / ".dev").exists()


def test_old_python_alone_is_named_with_a_remedy(checkout: Checkout) -> None:
    """The reader learns what was seen and what to install."""
    checkout.program("python3", 'echo "3.9.2 other whole"')

    ended = checkout.dev("help")

    assert ended.code == 2
    assert "3.11, 3.12 or 3.13" in ended.err
    assert "Seen: python3 (3.9.2)" in ended.err
    assert "PYTHON=" in ended.err


def test_no_python_at_all_is_said(checkout: Checkout) -> None:
    """Not even an old one."""
    (checkout.bin / "python3").unlink()

    ended = checkout.dev("help")

    assert ended.code == 2
    assert "no Python at all" in ended.err


def test_python_that_only_pretends_to_be_there_is_passed_over(checkout: Checkout) -> None:
    """Version managers leave such names on the path."""
    checkout.program("python3.13", 'echo "python3.13: command not found" >&2; exit 127')
    checkout.program("python3.12", 'echo "3.10.1 other whole"')

    ended = checkout.dev("help")

    assert (ended.code, ended.err) == (0, "")


def test_complete_python_is_preferred_to_one_without_venv(checkout: Checkout) -> None:
    """Debian's own Python may lack what another one beside it has."""
    checkout.program("python3.13", 'echo "3.13.0 known bare"')

    assert checkout.dev("help").code == 0


def test_variable_names_the_python(checkout: Checkout) -> None:
    """Also one that the search would never find."""
    checkout.program("special", f'exec "{checkout.bin / "python3"}" "$@"')
    checkout.program("python3.13", "exit 1")

    assert checkout.dev("help", PYTHON=str(checkout.bin / "special")).code == 0


def test_variable_that_names_nothing_is_said(checkout: Checkout) -> None:
    """No other Python is taken in its place."""
    ended = checkout.dev("help", PYTHON="/nowhere/python3")

    assert ended.code == 2
    assert "PYTHON names /nowhere/python3" in ended.err


def test_start_is_legal_in_old_pythons() -> None:
    """Or else its message would be a syntax error."""
    ast.parse((ROOT / "scripts" / "dev.py").read_text(), feature_version=(3, 4))


def old_pythons() -> list[str]:
    """Return what this machine has of them, also beside the running one."""
    named = [f"python{version}" for version in ("2", "3.6", "3.7", "3.8", "3.9", "3.10")]
    found = [shutil.which(name) for name in named]
    beside = Path(sys.base_prefix).parent
    found += [
        str(path) for part in ("2.*", "3.[6-9].*") for path in beside.glob(f"{part}/bin/python")
    ]
    return [path for path in found if path is not None and runs(path)]


def runs(path: str) -> bool:
    """Tell whether it is more than a version manager's name for something that is not there."""
    return subprocess.run([path, "-V"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("path", old_pythons())
def test_old_python_says_that_it_is_old(path: str) -> None:
    """In case somebody starts scripts/dev.py without the shell part, or PYTHON names it."""
    done = subprocess.run(
        [path, str(ROOT / "scripts" / "dev.py"), "help"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "this needs Python 3.11, 3.12 or 3.13" in done.stderr
    assert "Traceback" not in done.stderr
