"""The demo as a stranger runs it: one program, its output, its exit code."""

import shlex
import subprocess
from pathlib import Path

import pytest

from .demo_runs import demo_run

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Play it once, and return what it printed."""
    with demo_run(tmp_path_factory.mktemp("demo")) as run:
        run.end_of_input()
        code = run.wait()

        assert code == 0, "\n".join(run.lines)
        assert run.leaves_nothing(), run.leftovers()
        return run.lines


def test_the_demo_tells_the_whole_story(played: list[str]) -> None:
    """Questions and answers as they appear on the server, those of a thread further in."""
    said = [line for line in played if line.startswith(("#workshop", "direct"))]

    assert [" ".join(line.split()[:3]) for line in said] == [
        "#workshop Alice: @hermes",
        "#workshop Hermes: One",
        "#workshop Alice: Since",
        "#workshop Hermes: Since",
        "#workshop Bob: @hermes",
        "#workshop Hermes: Alice",
        "#workshop Bob: @alice",
        "direct Alice: How",
        "direct Hermes: Like",
    ]
    assert said[1].startswith("#workshop        Hermes:")


def test_the_demo_believes_only_the_server(played: list[str]) -> None:
    """Every claim is read back, the silence about the other message among them."""
    verdict = [line.split()[0] for line in played if line.startswith(("  yes  ", "  NO   "))]

    assert verdict == ["yes"] * 6


def test_the_demo_shows_the_life_of_one_turn(played: list[str]) -> None:
    """From the receipt to the answer, as SQLite has it."""
    table = "\n".join(played)

    assert table.index("received") < table.index("queued -> handed") < table.index("-> answered")


def test_the_commands_of_the_demo_work_when_pasted(played: list[str]) -> None:
    """The state file stays, and three commands look into it."""
    pasted = [line.strip() for line in played if "sqlite-utils" in line]

    assert len(pasted) == 3
    shown = [
        subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
        for command in pasted
    ]
    assert [done.stderr for done in shown if done.returncode] == []
    assert "answered" in shown[-1].stdout
    assert (Path(shlex.split(pasted[0])[2])).is_file()


def test_the_reader_can_join_in(tmp_path: Path) -> None:
    """What is typed is posted, what the agent does about it is shown, the end of input ends it."""
    with demo_run(tmp_path, "--talk") as run:
        run.read_until("A line that begins with //")
        run.types("@hermes is anybody there?")
        run.read_until("#workshop        Hermes: I only follow a script. Question 1")
        run.types("/thread")
        run.types("/as bob")
        run.types("/thread")
        run.types("@hermes and for me?")
        run.end_of_input()
        code = run.wait()

        shown = "\n".join(run.lines)
        assert code == 0, shown
        assert "Hermes: I only follow a script. Question 2" in shown
        assert "queued -> handed" in shown
        assert run.leaves_nothing(), run.leftovers()
