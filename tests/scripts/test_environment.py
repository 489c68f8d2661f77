"""The environment is made, kept, renewed and given up for the right reasons."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_chatto.tests.scripts.checkouts import (
    LOCKS,
    Checkout,
    Ended,
    end_group,
    make_wheel,
    pin,
)

pytestmark = pytest.mark.timeout(120)  # making one takes seconds, twice as many on a busy machine

UNKNOWN = pin("9.0", "0" * 64)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout without an environment."""
    return Checkout(tmp_path)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, Ended]:
    """A checkout whose environment was made once, and how that went."""
    made = Checkout(tmp_path_factory.mktemp("ready"))
    return made, made.dev("demo")


@pytest.fixture
def ready(first: tuple[Checkout, Ended]) -> Iterator[Checkout]:
    """The same, with what a test did to locks and stamp undone: making one takes seconds."""
    made, _ = first
    (stamp,) = made.root.glob(".dev/venv-*/*.json")
    files = [stamp, *(made.root / lock for lock in LOCKS)]
    before = {file: file.read_text() for file in files}
    yield made
    for file, text in before.items():
        file.write_text(text)


def test_first_run_shows_its_steps_with_seconds(first: tuple[Checkout, Ended]) -> None:
    """Nobody has to wonder whether it still runs."""
    _, ended = first

    steps = re.findall(r"^dev: +\d+ s  (making|installing|\.dev)", ended.err, re.MULTILINE)
    assert ended.code == 0
    assert list(dict.fromkeys(steps)) == ["making", "installing", ".dev"]


def test_job_runs_in_the_environment_with_its_arguments(ready: Checkout) -> None:
    """And what it returns is what `./dev` returns."""
    ended = ready.dev("demo", "--talk", "seven")

    assert ended.code == 7
    assert ended.out.startswith("job ['--talk', 'seven'] ")
    assert f"{ready.root}/.dev/venv-" in ended.out


def test_second_run_sets_nothing_up(ready: Checkout) -> None:
    """A stamp tells that everything is there."""
    ended = ready.dev("demo")

    assert (ended.code, ended.err) == (0, "")


def test_second_run_writes_nothing(ready: Checkout) -> None:
    """It works in a folder that became read-only."""
    (ready.root / ".dev" / "lock").unlink()

    ended = ready.dev("demo")

    assert ended.code == 0
    assert not (ready.root / ".dev" / "lock").exists()


def test_foreign_settings_do_not_reach_the_job(ready: Checkout, tmp_path: Path) -> None:
    """What the reader's shell says about other projects would break this one."""
    (tmp_path / "pebble.py").write_text("raise RuntimeError")

    ended = ready.dev("demo", PYTHONPATH=str(tmp_path), PIP_TARGET=str(tmp_path))

    assert ended.code == 0


def test_tools_come_on_top_of_what_is_there(ready: Checkout) -> None:
    """Who ran the demo does not wait for all of it again before the suite."""
    (ready.root / LOCKS[1]).write_text(make_wheel(ready.index, "1.5"))

    ended = ready.dev("check")

    assert ended.code == 0
    assert f"installing what {LOCKS[1]} names" in ended.err
    assert "making" not in ended.err
    assert f"installing what {LOCKS[0]} names" not in ended.err


def test_two_at_once_set_up_once(ready: Checkout) -> None:
    """The second waits for the first and finds everything done."""
    processes = [ready.start("check"), ready.start("check")]

    ends = [process.communicate() for process in processes]

    assert [process.returncode for process in processes] == [0, 0]
    assert sum("is ready" in err for _, err in ends) == 1


def test_changed_lock_makes_the_environment_anew(first: tuple[Checkout, Ended]) -> None:
    """Nothing that only the old lock named is left in it."""
    made, _ = first
    (made.root / LOCKS[0]).write_text(make_wheel(made.index, "2.0"))

    ended = made.dev("demo")

    assert ended.code == 0
    assert f"installing what {LOCKS[0]} names" in ended.err
    assert [path.name for path in installed(made)] == ["pebble-2.0.dist-info", "pebble.py"]


def test_moved_checkout_makes_the_environment_anew(first: tuple[Checkout, Ended]) -> None:
    """An environment knows its place by heart."""
    made, _ = first
    made.root = made.root.rename(made.root.with_name("moved"))

    ended = made.dev("demo")

    assert ended.code == 0
    assert f"{made.root}/.dev/venv-" in ended.out


def installed(checkout: Checkout) -> list[Path]:
    """Return what the environment holds of the invented package."""
    return sorted(checkout.root.glob(".dev/venv-*/lib/python*/site-packages/pebble*"))


def test_uv_that_fails_is_replaced_by_pip(checkout: Checkout) -> None:
    """It may be there for other projects and have no way to the index."""
    checkout.program("uv", f"echo called >{checkout.root}/uv-was-called; exit 1")
    del checkout.environment["PIP_NO_INDEX"]

    ended = checkout.dev("demo", HTTPS_PROXY="http://127.0.0.1:9/", PIP_RETRIES="0")

    assert ended.code == 0, ended.err
    assert (checkout.root / "uv-was-called").exists()
    assert "uv could not" in ended.err


def test_uv_is_left_alone_where_pip_was_told_an_index(ready: Checkout) -> None:
    """It reads none of pip's settings and would go elsewhere."""
    ready.program("uv", f"echo called >{ready.root}/uv-was-called; exit 1")
    (ready.root / LOCKS[1]).write_text(UNKNOWN)

    ended = ready.dev("check", **online("http://127.0.0.1:9/"))

    assert ended.code == 2
    assert not (ready.root / "uv-was-called").exists()


@pytest.fixture
def silent_index() -> Iterator[str]:
    """An index that takes calls and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


@pytest.mark.parametrize(
    ("signum", "send"),
    [(signal.SIGINT, end_group), (signal.SIGTERM, subprocess.Popen.send_signal)],
    ids=["ctrl-c", "terminated"],
)
def test_interrupted_installation_leaves_no_process(
    ready: Checkout,
    silent_index: str,
    signum: signal.Signals,
    send: Callable[[subprocess.Popen[str], signal.Signals], None],
) -> None:
    """Whether the whole group is told, as by a terminal, or the one process."""
    process = start_and_wait(ready, silent_index)

    send(process, signum)
    _, err = process.communicate()

    assert process.returncode == 128 + signum
    assert "dev: stopped." in err
    assert "Traceback" not in err
    assert not group_lives(process)


def test_interrupted_installation_is_redone(
    first: tuple[Checkout, Ended], silent_index: str
) -> None:
    """Nobody knows how far it came, so nothing of it is kept."""
    made, _ = first
    process = start_and_wait(made, silent_index)
    end_group(process, signal.SIGINT)
    process.communicate()

    ended = made.dev("demo")

    assert ended.code == 0
    assert "making" in ended.err


def start_and_wait(checkout: Checkout, index: str) -> subprocess.Popen[str]:
    """Start a command that installs something, and return once the installer runs."""
    log = checkout.root / ".dev" / "setup.log"
    log.unlink(missing_ok=True)
    (checkout.root / LOCKS[1]).write_text(UNKNOWN)
    process = checkout.start("check", **online(index))
    while not log.exists() or "Looking in indexes" not in log.read_text():
        time.sleep(0.05)  # another process's file: there is nothing to wait on; bounded above
    return process


def online(index: str) -> dict[str, str]:
    """Return what lets an installer ask this index, and it alone."""
    return {
        "PIP_INDEX_URL": index,
        "PIP_NO_INDEX": "0",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "1",
    }


def group_lives(process: subprocess.Popen[str]) -> bool:
    """Tell whether anything that `./dev` started is still there."""
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_index_that_cannot_be_reached_is_said(ready: Checkout) -> None:
    """A closed port stands for every network that is not there."""
    (ready.root / LOCKS[1]).write_text(UNKNOWN)

    ended = ready.dev("check", **online("http://127.0.0.1:9/"))

    assert ended.code == 2
    assert "the package index cannot be reached" in ended.err
    assert "pip config list" in ended.err
    assert "Traceback" not in ended.err


def test_package_with_another_hash_is_said(ready: Checkout) -> None:
    """It is not installed, and the reader learns where to look."""
    make_wheel(ready.index, "4.0")
    (ready.root / LOCKS[1]).write_text(pin("4.0", "0" * 64))

    ended = ready.dev("check")

    assert ended.code == 2
    assert "not the one the lock names" in ended.err
    assert not any("4.0" in path.name for path in installed(ready))


def test_package_that_the_index_lacks_is_said(ready: Checkout) -> None:
    """An index that is there and has not got it."""
    (ready.root / LOCKS[1]).write_text(UNKNOWN)

    ended = ready.dev("check")

    assert ended.code == 2
    assert "has no such file" in ended.err


@pytest.mark.parametrize(
    ("absent", "named"),
    [({"venv"}, "venv"), ({"ensurepip", "pip"}, "ensurepip")],
    ids=["venv", "ensurepip"],
)
def test_incomplete_python_is_said(
    checkout: Checkout, tmp_path: Path, absent: set[str], named: str
) -> None:
    """As Debian's is without python3-venv."""
    for module in absent:
        (tmp_path / f"{module}.py").write_text("raise ModuleNotFoundError(__name__)")

    ended = checkout.dev("demo", PYTHONPATH=str(tmp_path))

    assert ended.code == 2
    assert f"without `{named}`" in ended.err
    assert "-venv" in ended.err


@pytest.mark.parametrize("absent", ["ensurepip", "pip"])
def test_one_way_to_pip_is_enough(checkout: Checkout, tmp_path: Path, absent: str) -> None:
    """Debian has packages for each: who has one needs not install the other."""
    (tmp_path / f"{absent}.py").write_text("raise ModuleNotFoundError(__name__)")

    ended = checkout.dev("demo", PYTHONPATH=str(tmp_path))

    assert ended.code == 0, ended.err


@pytest.mark.skipif(not Path("/sys").is_dir(), reason="needs a folder that nobody may write")
def test_folder_that_cannot_be_written_is_said(checkout: Checkout) -> None:
    """Not even root may make files in /sys."""
    (checkout.root / ".dev").symlink_to("/sys")

    ended = checkout.dev("demo")

    assert ended.code == 2
    assert f"{checkout.root}/.dev cannot be written" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_full_disk_is_said(checkout: Checkout) -> None:
    """Whatever is written there first."""
    (checkout.root / ".dev").mkdir()
    (checkout.root / ".dev" / "setup.log").symlink_to("/dev/full")

    ended = checkout.dev("demo")

    assert ended.code == 2
    assert "the disk is full" in ended.err
    assert "Traceback" not in ended.err
