"""However the demo ends, no process and no folder of it is left."""

import signal
from pathlib import Path

import pytest

from .demo_runs import INTERRUPTED, demo_run

pytestmark = pytest.mark.timeout(150)

MOMENTS = {
    "while the server starts": ((), "Starting the Chatto server ..."),
    "while the gateway starts": ((), "Starting the Hermes gateway ..."),
    "during the story": ((), "#workshop"),
    "while the reader talks": (("--talk",), "A line that begins with //"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_leaves_nothing(moment: str, tmp_path: Path) -> None:
    """Asked to end, it ends everything it started before it says so."""
    arguments, beginning = MOMENTS[moment]
    with demo_run(tmp_path, *arguments) as run:
        run.read_until(beginning)
        run.process.send_signal(signal.SIGINT)
        code = run.wait()

        assert code == INTERRUPTED, "\n".join(run.lines)
        assert run.lines[-1] == "Stopped; nothing of it is left."
        assert run.leaves_nothing(), run.leftovers()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """A closed terminal or a service manager is obeyed like Ctrl-C."""
    with demo_run(tmp_path) as run:
        run.read_until("Starting the Hermes gateway ...")
        run.process.send_signal(number)

        assert run.wait() == 128 + number
        assert run.leaves_nothing(), run.leftovers()


def test_being_killed_leaves_nothing_either(tmp_path: Path) -> None:
    """Who guards a program learns that nobody is left who wants it, and ends it."""
    with demo_run(tmp_path) as run:
        run.read_until("Starting the Hermes gateway: ")
        run.process.kill()
        run.process.wait()

        assert run.leaves_nothing(within_s=15), run.leftovers()
