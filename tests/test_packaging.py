"""What `pip install` of this checkout gives is the whole plugin."""

import itertools
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hermes_chatto.scripts import boundaries
from hermes_chatto.scripts.environment import Packages

ROOT = Path(__file__).resolve().parent.parent
CONTENT = (
    *("pyproject.toml", "LICENSE", "README.md", "plugin.yaml", "after-install.md"),
    *("__init__.py", "machines", "store", "actors"),
)


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build the wheel without any network; what is in it."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "checkout"
    copy.mkdir()
    for name in CONTENT:
        if (ROOT / name).exists():
            _copy(ROOT / name, copy / name)
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "-w", str(folder), str(copy)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("hermes_chatto-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _copy(source: Path, target: Path) -> None:
    """Copy one file or tree: a build writes beside its sources, which must stay as they are."""
    if source.is_file():
        target.write_bytes(source.read_bytes())
        return
    target.mkdir()
    for child in source.iterdir():
        if child.name != "__pycache__":
            _copy(child, target / child.name)


@pytest.mark.timeout(120)
def test_wheel_holds_every_module(wheel_names: set[str]) -> None:
    """Built as pip builds it, from the list in pyproject.toml."""
    modules = [path for path in boundaries.python_files(ROOT) if path.parts[0] != "scripts"]

    assert {f"hermes_chatto/{path}" for path in modules} <= wheel_names


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["plugin.yaml", "after-install.md"])
def test_wheel_holds_what_the_gateway_reads(wheel_names: set[str], name: str) -> None:
    """The manifest is how the gateway knows what it has loaded."""
    assert f"hermes_chatto/{name}" in wheel_names


@pytest.mark.timeout(120)
def test_wheel_holds_nothing_else(wheel_names: set[str]) -> None:
    """Tests, scripts and the environment of a checkout are nobody else's."""
    foreign = [
        name
        for name in wheel_names
        if not name.startswith("hermes_chatto")
        or name.startswith(("hermes_chatto/tests", "hermes_chatto/scripts", "hermes_chatto/."))
    ]

    assert foreign == []


def pins(lock: str) -> dict[str, str]:
    """Return what a lock names, by package."""
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    named = [line.split()[0] for line in lines if line[:1].isalnum()]
    return {name: version for name, _, version in (pin.partition("==") for pin in named)}


def test_both_locks_agree() -> None:
    """The suite runs on what the demo runs on."""
    running, developing = (pins(lock) for lock in Packages.DEVELOPING.value)

    assert running.items() <= developing.items()


@pytest.mark.parametrize("lock", Packages.DEVELOPING.value)
def test_lock_has_a_hash_for_everything(lock: str) -> None:
    """What is installed is what was looked at."""
    blocks = (ROOT / lock).read_text(encoding="utf-8").split("\n")
    bare = [
        line
        for line, following in itertools.pairwise(blocks)
        if line[:1].isalnum() and not following.strip().startswith("--hash=sha256:")
    ]

    assert bare == []
