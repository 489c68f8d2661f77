"""A guarded program ends with whoever wanted it, whatever becomes of them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from hermes_chatto.actors.sandbox import guardian
from hermes_chatto.actors.sandbox.guarded import GuardedProgram, ProgramEndedError

SLEEP = "time.sleep(600)"
STUBBORN = f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; {SLEEP}"])
print(child.pid, flush=True)
{SLEEP}"""


async def gone(pid: int) -> bool:
    """Tell whether a process has ended, now or within some seconds."""
    with anyio.move_on_after(5):
        while _is_running(pid):  # noqa: ASYNC110 - it is nobody's child any more
            await anyio.sleep(0.02)
        return True
    return False


def _is_running(pid: int) -> bool:
    """Tell whether it runs; on Linux one that has ended may wait for somebody to ask how."""
    try:
        if not Path("/proc/self").exists():
            os.kill(pid, 0)
            return True
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


async def start(code: str, **options: Path | float) -> GuardedProgram:
    """Start a Python program."""
    grace_s = float(str(options.pop("grace_s", 5.0)))
    folder = options.get("folder")
    log = options.get("log")
    return await GuardedProgram.start(
        [sys.executable, "-c", code],
        dict(os.environ),
        folder=folder if isinstance(folder, Path) else None,
        log=log if isinstance(log, Path) else None,
        grace_s=grace_s,
    )


async def test_what_it_prints_can_be_read_line_by_line() -> None:
    """Up to its end, which has its exit code."""
    program = await start("print('one'); print('two'); raise SystemExit(3)")

    assert await program.next_line() == "one"
    assert await program.next_line() == "two"
    with pytest.raises(ProgramEndedError, match="exit code 3"):
        await program.next_line()
    await program.aclose()


async def test_a_program_is_asked_to_end_and_its_folder_stays_until_closed(
    tmp_path: Path,
) -> None:
    """Whoever stops it may want to read what it wrote."""
    folder = tmp_path / "home"
    folder.mkdir()
    program = await start("import time; print('up', flush=True); time.sleep(600)", folder=folder)
    await program.next_line()
    await program.stop()

    assert folder.exists()
    await program.aclose()
    assert not folder.exists()


async def test_one_that_does_not_listen_is_killed_with_what_it_started() -> None:
    """After the grace, the whole group."""
    program = await start(STUBBORN, grace_s=0.2)
    grandchild = int(await program.next_line())
    await program.stop()

    assert await gone(grandchild)
    await program.aclose()


async def test_what_a_program_leaves_behind_ends_too() -> None:
    """Its group is the guardian's to end, also when it ended by itself."""
    program = await start(STUBBORN.removesuffix(SLEEP))
    grandchild = int(await program.next_line())
    with pytest.raises(ProgramEndedError):
        await program.next_line()

    assert await gone(grandchild)
    await program.aclose()


async def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    """Whoever cleans up need not know whether somebody did."""
    program = await start("pass", log=tmp_path / "log")
    await program.aclose()
    await program.aclose()

    assert (tmp_path / "log").read_bytes() == b""


async def test_a_program_that_is_not_there_has_ended() -> None:
    """With the code a shell gives."""
    program = await GuardedProgram.start(["/nowhere/program"], dict(os.environ))

    with pytest.raises(ProgramEndedError, match="127"):
        await program.next_line()
    await program.aclose()


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda process: process.stdin.close(), id="the parent is gone"),
        pytest.param(lambda process: process.send_signal(signal.SIGTERM), id="SIGTERM"),
        pytest.param(lambda process: process.send_signal(signal.SIGHUP), id="SIGHUP"),
    ],
)
async def test_a_guardian_ends_its_program_and_removes_the_folder(
    end: "Callable[[subprocess.Popen[bytes]], None]", tmp_path: Path
) -> None:
    """Nobody is needed for that who could have been killed."""
    folder = tmp_path / "home"
    folder.mkdir()
    command = [sys.executable, "-I", guardian.__file__, "0.2", str(folder), ""]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: ASYNC220 - the guardian itself, without our client of it
        [*command, sys.executable, "-c", STUBBORN], stdin=pipe, stdout=pipe
    ) as p:
        assert p.stdout is not None
        grandchild = int(p.stdout.readline())
        end(p)
        code = p.wait(10)

    assert code == 128 + signal.SIGKILL
    assert await gone(grandchild)
    assert not folder.exists()
