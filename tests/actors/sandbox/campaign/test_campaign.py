"""The short form of the campaign, and what it leaves behind."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hermes_chatto.actors.sandbox.campaign.command import run
from hermes_chatto.actors.sandbox.campaign.hosted import MEMORY, hosted
from hermes_chatto.actors.sandbox.campaign.tally import Tally

pytestmark = pytest.mark.timeout(120)  # of it some 20 s on a machine that has nothing else to do

KILLS = 20
SEED = "suite"
FOLDERS = "hermes-chatto-campaign-*"


def folders() -> set[Path]:
    """Return the folders of campaigns."""
    places = (Path(tempfile.gettempdir()), MEMORY)
    return {found for place in places for found in place.glob(FOLDERS)}


async def test_nothing_is_lost_twice_or_stuck_when_the_plugin_is_killed() -> None:
    """SIGKILL at await points and in between, with faults of the server mixed in."""
    seen = list[int]()

    def progress(tally: Tally) -> None:
        seen.append(tally.killed)

    async with hosted(SEED) as campaign:
        tally = await campaign.play(KILLS, progress)

    assert tally.is_clean, "\n".join(tally.lines())
    assert tally.killed >= KILLS
    assert seen[-1] == tally.killed
    assert tally.verdict.answered > KILLS // 2


def test_it_says_what_it_did_and_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Counts, seconds and the seed."""
    before = folders()

    assert run(["--kills", "1", "--gateway", "0", "--seed", "one"]) == 0
    said = capsys.readouterr().out
    assert "Seed one." in said
    assert "0 lost, 0 answered twice, 0 stuck, 0 otherwise wrong" in said
    assert folders() <= before


def test_a_number_of_kills_is_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error is said at once."""
    with pytest.raises(SystemExit):
        run(["--kills", "many"])

    assert "'many' is no number of kills" in capsys.readouterr().err


def test_a_stop_leaves_no_process_and_no_folder() -> None:
    """Ctrl-C in the middle of it."""
    before = folders()
    command = [sys.executable, "-m", "hermes_chatto.actors.sandbox.campaign", "--gateway", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "is killed" not in process.stdout.readline():
            pass
        os.kill(process.pid, signal.SIGINT)
        rest = process.stdout.read()

    assert process.returncode == 128 + signal.SIGINT
    assert "Stopped; nothing of it is left." in rest
    assert folders() <= before
