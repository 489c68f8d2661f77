"""`./dev lock`: resolve requirements*.in for all Pythons we know, with hashes and no address."""

import shutil
import subprocess
import sys

from .gates import root

__all__ = ["main"]

OPTIONS = (
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-header",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--quiet",
)


def main(arguments: list[str]) -> int:
    """Write both locks anew; the second one keeps to the pins of the first.

    Args:
        arguments: further options of `uv pip compile`, such as `--upgrade`.

    Returns:
        0, or what uv returned, or 2 without uv.
    """
    uv = shutil.which("uv")
    if uv is None:
        sys.stderr.write("dev: resolving for all Pythons at once needs uv (pip install uv).\n")
        return 2
    for name in ("requirements", "requirements-dev"):
        command = [uv, "pip", "compile", *OPTIONS, *arguments, f"{name}.in", "-o", f"{name}.lock"]
        done = subprocess.run(command, cwd=root(), check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
