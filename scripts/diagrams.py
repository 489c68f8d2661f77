"""`./dev diagrams`: write the pages of `machines/diagrams`, or show what is out of date."""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from ..machines.catalogue import CHARTS, TABLES
from ..machines.export import pages

FOLDER = Path(__file__).resolve().parent.parent / "machines" / "diagrams"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 when `--check` found a difference."""
    parser = ArgumentParser(description="Write the diagrams of the machines.")
    parser.add_argument("--check", action="store_true", help="write nothing, show a diff")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder of the pages")
    options = parser.parse_args(arguments)
    folder: Path = options.into
    wanted = pages(CHARTS, TABLES)
    if options.check:
        return _check(folder, wanted)
    _write(folder, wanted)
    return 0


def _present(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


def _check(folder: Path, wanted: Mapping[str, str]) -> int:
    present = _present(folder)
    found = 0
    for name in sorted(present.keys() | wanted.keys()):
        old, new = present.get(name, ""), wanted.get(name, "")
        lines = unified_diff(
            old.splitlines(keepends=True),
            new.splitlines(keepends=True),
            fromfile=f"{folder.name}/{name}",
            tofile=f"{folder.name}/{name} (from the charts)",
        )
        sys.stdout.writelines(lines)
        found |= old != new
    return found


def _write(folder: Path, wanted: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in _present(folder).keys() - wanted.keys():
        (folder / name).unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
