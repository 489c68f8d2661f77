"""The environment inside the checkout: made once from a lock, renewed when the lock changes."""

import enum
import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import child
from .progress import Progress
from .trouble import SetupError, explain_install, explain_os_error

__all__ = ["Environment", "Packages"]

STAMP = "hermes-chatto.json"  # inside the environment: written last, removed before any change


class Packages(enum.Enum):
    """How much a job needs; the value lists the locks, in the order of installing.

    Two steps, because the demo's first run is what a stranger waits for: without the suite's
    tools it downloads 90 MB less and is set up in half the time.
    """

    RUNNING = ("requirements.lock",)
    DEVELOPING = ("requirements.lock", "requirements-dev.lock")


class Environment:
    """The interpreter and packages of one checkout and one Python version."""

    def __init__(self, root: Path, progress: Progress) -> None:
        """Look at nothing yet.

        Args:
            root: the checkout.
            progress: told what is being done.
        """
        self._root = root
        self._progress = progress
        self._dev = root / ".dev"
        self._folder = self._dev / f"venv-{sys.version_info[0]}.{sys.version_info[1]}"
        self._log = self._dev / "setup.log"
        self.python = self._folder / "bin" / "python"

    def variables(self) -> dict[str, str]:
        """Return the environment variables that jobs and installers run with.

        Bytecode is always written: packages come without it (compiling all of them takes longer
        than the download), and every start of the gateway would compile for 2 s.
        """
        mine = {
            "PYTHONNOUSERSITE": "1",
            "PIP_USER": "0",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        foreign = (
            "PYTHONHOME",
            "PYTHONPATH",
            "PYTHONDONTWRITEBYTECODE",
            "PIP_TARGET",
            "PIP_PREFIX",
            "PIP_ROOT",
            "PIP_QUIET",
            "PIP_CONSTRAINT",
        )
        return {key: value for key, value in os.environ.items() if key not in foreign} | mine

    def prepare(self, packages: Packages) -> None:
        """Make the environment hold what the lock names; quick when it already does.

        Raises:
            SetupError: it cannot; the text says what to do.
            StoppedError: a signal came in between; the next run starts afresh.
        """
        try:
            if self._is_ready(packages):
                return
            self._dev.mkdir(exist_ok=True)
            with self._alone():
                if not self._is_ready(packages):
                    self._build(packages)
        except OSError as error:
            raise explain_os_error(error, str(self._dev)) from error

    def _is_ready(self, packages: Packages) -> bool:
        link = self._dev / "path" / self._root_name()
        held = self._stamp()
        return (
            held.get("folder") == str(self._folder)
            and all(held.get(lock) == self._digest(lock) for lock in packages.value)
            and self.python.exists()
            and link.is_symlink()
        )

    def _build(self, packages: Packages) -> None:
        self._log.write_text("", encoding="utf-8")
        held = self._stamp()
        missing = [lock for lock in packages.value if held.get(lock) != self._digest(lock)]
        outdated = [lock for lock in missing if lock in held]
        if outdated or held.get("folder") != str(self._folder) or not self.python.exists():
            held, missing = {"folder": str(self._folder)}, list(packages.value)
            self._make_empty()
        (self._folder / STAMP).unlink(missing_ok=True)
        for lock in missing:
            self._install(lock)
            held[lock] = self._digest(lock)
        self._put_on_path()
        (self._folder / STAMP).write_text(json.dumps(held, indent=1), encoding="utf-8")
        self._progress.finish(f"{self._folder.relative_to(self._root)} is ready")

    def _make_empty(self) -> None:
        _demand("venv")
        self._progress.step(f"making an environment for Python {sys.version.split()[0]}")
        if self._folder.exists():
            shutil.rmtree(self._folder)
        # Without pip: putting it there takes longer than all the rest, and the lock names it.
        code, output = self._run(
            [sys.executable, "-m", "venv", "--without-pip", str(self._folder)]
        )
        if code:
            raise explain_install(output, str(self._log))

    def _install(self, lock: str) -> None:
        self._progress.step(f"installing what {lock} names")
        # The one package that comes as source is built with the setuptools of the lock.
        arguments = ["--require-hashes", "--no-deps", "--no-build-isolation"]
        arguments += ["-r", str(self._root / lock)]
        uv = _uv()
        if uv is not None:
            command = [uv, "pip", "install", "--python", str(self.python), *arguments]
            if self._run(command)[0] == 0:
                return
            self._progress.step(f"uv could not; installing what {lock} names with pip")
        options = ["--no-input", "--no-color", "--no-compile", "--progress-bar", "off"]
        code, output = self._run([*self._pip(), "install", *options, *arguments])
        if code:
            raise explain_install(output, str(self._log))

    def _pip(self) -> list[str]:
        """Return how pip is called: the environment's own, this Python's, or one put there."""
        own = [str(self.python), "-m", "pip"]
        if any(self._folder.glob("lib/python*/site-packages/pip")):
            return own
        outer = [sys.executable, "-m", "pip", "--python", str(self.python)]
        if _can_import("pip") and self._run([*outer, "--version"])[0] == 0:
            return outer
        _demand("ensurepip")
        code, output = self._run([str(self.python), "-m", "ensurepip"])
        if code:
            raise explain_install(output, str(self._log))
        return own

    def _run(self, command: list[str]) -> tuple[int, str]:
        return child.run(command, self.variables(), self._log, self._progress, _pip_detail)

    def _put_on_path(self) -> None:
        """Make `import hermes_chatto` mean this checkout, whatever its folder is called."""
        path = self._dev / "path"
        path.mkdir(exist_ok=True)
        link = path / self._root_name()
        if not link.is_symlink():
            link.symlink_to(Path("..", ".."))
        packages = next(self._folder.glob("lib/python*/site-packages"))
        (packages / "hermes-chatto-checkout.pth").write_text(f"{path}\n", encoding="utf-8")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until no other `./dev` sets up the same checkout."""
        with (self._dev / "lock").open("w", encoding="utf-8") as lock:
            waiting = False
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if not waiting:
                        self._progress.step("waiting for another ./dev that sets up this folder")
                    waiting = True
                    self._progress.tick()
                    time.sleep(child.POLL_S)
                else:
                    break
            yield

    def _stamp(self) -> dict[str, str]:
        """Return what the environment says it holds; nothing when it is not whole."""
        try:
            held = json.loads((self._folder / STAMP).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return {}
        return held if isinstance(held, dict) else {}

    def _digest(self, lock: str) -> str:
        return hashlib.sha256((self._root / lock).read_bytes()).hexdigest()

    @staticmethod
    def _root_name() -> str:
        return "hermes_chatto"


def _uv() -> str | None:
    """Return uv's path when it may stand in for pip.

    It reads none of pip's configuration, so whoever has named an index to pip gets pip.
    """
    named = any(key in os.environ for key in ("PIP_INDEX_URL", "PIP_NO_INDEX", "PIP_CONFIG_FILE"))
    return None if named or _pip_files_name_an_index() else shutil.which("uv")


def _pip_files_name_an_index() -> bool:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    files = (
        Path("/etc/pip.conf"),
        Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf",
        home / ".pip" / "pip.conf",
        home / "Library" / "Application Support" / "pip" / "pip.conf",
    )
    return any("index" in _text(file) for file in files)


def _text(file: Path) -> str:
    """Return what a configuration file says; one that cannot be read tells pip nothing either."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _can_import(module: str) -> bool:
    """Tell whether this interpreter really has a module: Debian splits the standard library."""
    try:
        __import__(module)
    except ImportError:
        return False
    return True


def _demand(module: str) -> None:
    """Raise `SetupError` when a part of the standard library is missing."""
    if _can_import(module):
        return
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    what = f"this Python cannot make environments: its standard library comes without `{module}`."
    raise SetupError(
        what,
        f"Debian, Ubuntu: apt install python{version}-venv. Elsewhere a complete Python helps: "
        "PYTHON=/path/to/python3.13 ./dev help",
        f"{sys.executable} ({version})",
    )


def _pip_detail(line: str) -> str:
    """Shorten a line of pip's or uv's output to what a waiting reader wants."""
    words = line.split()
    match words:
        case ["Collecting", name, *_]:
            return name.partition("==")[0]
        case ["Installing", "collected", *_]:
            return "putting them in place"
        case ["WARNING:", "Retrying", *_]:
            return "the package index does not answer, trying again"
        case ["Downloading" | "Using", *_, size, unit] if size.startswith("("):
            file = next(word for word in words[1:] if word != "cached")
            return f"{file.partition('-')[0]} {size} {unit}"
        case ["Preparing" | "Building" | "Resolved" | "Prepared" as verb, *rest]:
            return " ".join([verb, *rest])
        case _:
            return ""
