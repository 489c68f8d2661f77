"""Small checkouts to run `./dev` in: the real entry, an invented plugin and package."""

import base64
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LOCKS", "ROOT", "Checkout", "Ended", "end_group", "make_wheel", "pin"]

ROOT = Path(__file__).resolve().parent.parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")

JOB = """
import sys
import pebble
print("job", sys.argv[1:], pebble.__file__)
sys.exit(7 if "seven" in sys.argv else 0)
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run of `./dev` went."""

    code: int
    out: str
    err: str


class Checkout:
    """One folder with `./dev` in it, and the little world that it sees."""

    def __init__(self, folder: Path) -> None:
        """Copy the entry into `folder`; the only Python in sight is the running one."""
        self.root = folder / "checkout"
        self.bin = folder / "bin"
        self.index = folder / "index"
        for each in (self.root / "actors" / "sandbox", self.bin, self.index, folder / "home"):
            each.mkdir(parents=True)
        shutil.copy(ROOT / "dev", self.root / "dev")
        skip = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "scripts", self.root / "scripts", ignore=skip)
        (self.root / "__init__.py").write_text('"""The invented plugin."""\n')
        (self.root / "actors" / "sandbox" / "demo.py").write_text(JOB)
        (self.root / "scripts" / "check.py").write_text(JOB)
        self.program("python3", f'exec "{sys.executable}" "$@"')
        (self.bin / "dirname").symlink_to(shutil.which("dirname") or "/usr/bin/dirname")
        self.environment = {
            "PATH": str(self.bin),
            "HOME": str(folder / "home"),
            "PIP_NO_INDEX": "1",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_FIND_LINKS": str(self.index),
        }
        line = make_wheel(self.index, "1.0")
        for lock in LOCKS:
            (self.root / lock).write_text(line)

    def program(self, name: str, body: str) -> None:
        """Put a shell script on the path."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def start(self, *arguments: str, **extra: str) -> subprocess.Popen[str]:
        """Start `./dev` in a process group of its own, as a terminal does."""
        return subprocess.Popen(
            ["/bin/sh", str(self.root / "dev"), *arguments],
            env={**self.environment, **extra},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def dev(self, *arguments: str, **extra: str) -> Ended:
        """Run `./dev` to its end; `extra` adds to what it finds in its environment."""
        process = self.start(*arguments, **extra)
        out, err = process.communicate()
        return Ended(process.returncode, out, err)

    def module(self, name: str, *arguments: str) -> Ended:
        """Run one of the copied scripts with the packages of the running suite."""
        path = self.root / ".dev" / "path"
        path.mkdir(parents=True, exist_ok=True)
        if not (path / "hermes_chatto").is_symlink():
            (path / "hermes_chatto").symlink_to(Path("..", ".."))
        done = subprocess.run(
            [sys.executable, "-m", f"hermes_chatto.scripts.{name}", *arguments],
            cwd=self.root,
            env={**_own_environment(), "PYTHONPATH": str(path)},
            capture_output=True,
            text=True,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


def _own_environment() -> Mapping[str, str]:
    """Return this process's variables without what makes its children measure coverage."""
    return {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}


def make_wheel(folder: Path, version: str) -> str:
    """Write a wheel of the package `pebble`.

    Returns:
        The line of a lock that names it.
    """
    path = folder / f"pebble-{version}-py3-none-any.whl"
    info = f"pebble-{version}.dist-info"
    content = {
        "pebble.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: pebble\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{name},{_record_hash(text)},{len(text)}" for name, text in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return pin(version, hashlib.sha256(path.read_bytes()).hexdigest())


def _record_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def pin(version: str, digest: str) -> str:
    """Return the line of a lock."""
    return f"pebble=={version} \\\n    --hash=sha256:{digest}\n"


def end_group(process: subprocess.Popen[str], signum: signal.Signals) -> None:
    """Send a signal to a process and all it has started, as a terminal's Ctrl-C does."""
    os.killpg(process.pid, signum)
