"""What the reader is left with: the story of one turn, the state file, and how to look further."""

import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..gateway_process import CHECKOUT, GatewayProcess
from ..state_file import StateFile
from .screen import Screen

__all__ = ["KEPT", "keep", "keep_logs", "prepare", "say_goodbye", "table"]

KEPT = CHECKOUT / ".dev" / "demo"
"""Where the state file and the logs of the newest run stay."""

STATE_FILE = KEPT / "state.db"


def prepare() -> None:
    """Make the folder, without what an earlier run left there.

    Raises:
        OSError: it cannot be written.
    """
    KEPT.mkdir(parents=True, exist_ok=True)
    for old in KEPT.iterdir():
        old.unlink()
    (KEPT / ".writable").touch()
    (KEPT / ".writable").unlink()


def keep(gateway: GatewayProcess) -> StateFile:
    """Copy the state file and the logs out of the folder that will be removed."""
    gateway.state.copy_to(STATE_FILE)
    keep_logs(gateway)
    return StateFile(STATE_FILE)


def keep_logs(gateway: GatewayProcess) -> None:
    """Copy the logs, those there are."""
    for log in gateway.logs:
        if log.exists():
            shutil.copyfile(log, KEPT / log.name)


def say_goodbye(screen: Screen, state: StateFile, message_id: str) -> None:
    """Show one turn's life, and where everything else is."""
    screen.say(f"\nWhat the agent did with message {message_id}, as SQLite has it (turn_story):\n")
    rows = [
        (f"{each.after_s:7.3f}", each.machine, each.step, each.reason, each.meaning)
        for each in state.story(message_id)
    ]
    for line in table(("after s", "machine", "step", "reason", "meaning"), rows):
        screen.say(f"  {line}")
    screen.say(f"\nThe whole state file: {shown(state.path)} (logs beside it). To look further:\n")
    for command in commands(state.path, message_id):
        screen.say(f"  {command}")


def commands(state: Path, message_id: str) -> Sequence[str]:
    """Return three commands that can be pasted into a shell."""
    tool, file = shlex.quote(_sqlite_utils()), shlex.quote(shown(state))
    story = "select after_s, machine, step, reason, detail from turn_story where message_id = :id"
    return (
        f"{tool} rows {file} unanswered --table",
        f"{tool} rows {file} thread_frontiers --table",
        f'{tool} query {file} "{story}" -p id {message_id} --table',
    )


def shown(path: Path) -> str:
    """Return a path as short as it works from here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _sqlite_utils() -> str:
    """Return the command as the reader's shell finds it, else the environment's own."""
    own = Path(sys.executable).with_name("sqlite-utils")
    found = shutil.which("sqlite-utils")
    is_same = found is not None and own.exists() and own.samefile(found)
    return "sqlite-utils" if is_same else shown(own)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Sequence[str]:
    """Return aligned lines."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    cells.insert(1, ["-" * width for width in widths])
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
