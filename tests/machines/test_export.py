"""The pages in `machines/diagrams` say what the classes say, all of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hermes_chatto import machines
from hermes_chatto.machines.catalogue import CHARTS, TABLES
from hermes_chatto.machines.chart import Chart, State
from hermes_chatto.machines.driver import Record, Slot
from hermes_chatto.machines.export import mermaid, page, pages
from hermes_chatto.scripts import diagrams

DIAGRAMS = Path(machines.__file__).parent / "diagrams"

AnyChart = type[Chart[Any]]
every_chart = pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: str(chart.MACHINE))


@dataclass(slots=True)
class Door(Record):
    """A record for a chart that has one of everything."""

    state: str = "ajar"


class DoorChart(Chart[Slot[Door]]):
    """Decide whether a door is shut.

    A second paragraph.
    """

    MACHINE = "front_door"
    CLOSED = frozenset({"gone"})
    MEANING: ClassVar[Mapping[str, str]] = {
        "ajar": "open | nearly shut",
        "shut": "closed",
        "gone": "no longer there",
    }

    ajar = State(initial=True)
    shut = State()
    gone = State()

    push = (
        ajar.to(shut, cond="is_light", on="count")
        | ajar.to(shut, cond="is_strong", unless="is_tired", on=["count", "creak"])
        | ajar.to(gone)
        | shut.to(shut, on="creak")
    )
    slam = ajar.to(shut)
    look = ajar.to(ajar) | shut.to(shut) | gone.to(gone)
    wait = ajar.to(ajar, cond="is_tired") | shut.to(shut)

    def count(self) -> None:
        """Count it.

        Carefully.
        """

    def creak(self) -> None:
        """Make a noise."""

    def is_light(self) -> bool:
        """Tell whether it gives way."""
        return True

    def is_strong(self) -> bool:
        """Tell whether the person is strong."""
        return True

    def is_tired(self) -> bool:
        """Tell whether the person is tired."""
        return True


class BareChart(Chart[Slot[Door]]):
    """Go one way."""

    MACHINE = "bare"
    MEANING: ClassVar[Mapping[str, str]] = {"ajar": "open", "shut": "closed"}

    ajar = State(initial=True)
    shut = State()

    close = ajar.to(shut)
    part = shut.to(ajar)


def edges(text: str) -> set[tuple[str, str, str, str]]:
    """Return source, target, event and guard of every labelled arrow of a Mermaid text."""
    found = set()
    for source, target, labels in re.findall(r"^ +(\w+) --> (\w+) : (.+)$", text, re.MULTILINE):
        for label in labels.split("<br/>"):
            event, _, guard = label.partition(" [")
            guards = guard.removesuffix("]")
            found.add((source, target, event, "" if guards == "else" else guards))
    return found


def library_edges(chart: AnyChart) -> set[tuple[str, str, str, str]]:
    """Return the same of the library's own drawing, where event names are prose."""
    return {
        (source, target, event.lower().replace(" ", "_"), guard)
        for source, target, event, guard in edges(format(chart, "mermaid"))
        if source != target
    }


def section(text: str, heading: str) -> list[list[str]]:
    """Return the rows of the table under a heading, without its head."""
    body = text.split(f"\n## {heading}\n\n")[1].split("\n\n", maxsplit=1)[0]
    return [re.split(r"(?<!\\) \| ", row.strip("| ")) for row in body.splitlines()[2:]]


def test_pages_in_the_folder_are_what_the_exporter_says() -> None:
    """A chart changed without its page does not pass."""
    present = {path.name: path.read_text(encoding="utf-8") for path in DIAGRAMS.iterdir()}

    assert present == pages(CHARTS, TABLES)


def test_index_links_every_page_with_one_line() -> None:
    """Whoever opens the folder finds each machine and what it decides."""
    files = pages([DoorChart, BareChart])

    assert list(files) == ["front_door.md", "bare.md", "README.md"]
    assert "- [Front door](front_door.md): Decide whether a door is shut.\n" in files["README.md"]
    assert files["README.md"].endswith("- [Bare](bare.md): Go one way.\n")


def test_diagram_merges_events_and_keeps_guards() -> None:
    """One arrow per pair of states, one line per event, alternatives told apart."""
    assert mermaid(DoorChart) == (
        "stateDiagram-v2\n"
        "    [*] --> ajar\n"
        "    ajar --> shut : push [is_light]<br/>push [is_strong and not is_tired]<br/>slam\n"
        "    ajar --> gone : push [else]\n"
        "    gone --> [*]\n"
    )


def test_page_has_title_docstring_and_diagram() -> None:
    """It starts with what the machine decides."""
    text = page(DoorChart)

    assert "\n\n# Front door\n\nDecide whether a door is shut.\n\nA second paragraph.\n\n" in text
    assert f"\n```mermaid\n{mermaid(DoorChart)}```\n" in text


def test_page_lists_states_with_their_meaning() -> None:
    """First and last are marked; a bar in a text does not end the cell."""
    assert section(page(DoorChart), "States") == [
        ["`ajar` (first)", r"open \| nearly shut"],
        ["`shut`", "closed"],
        ["`gone` (end)", "no longer there"],
    ]


def test_page_lists_what_changes_something() -> None:
    """Transitions to another state, and those that stay but do something."""
    assert section(page(DoorChart), "What changes something") == [
        ["`ajar`", "`push`", "[is_light]", "`shut`", "`count`"],
        ["`ajar`", "`push`", "[is_strong and not is_tired]", "`shut`", "`count`, `creak`"],
        ["`ajar`", "`push`", "[else]", "`gone`"],
        ["`ajar`", "`slam`", "", "`shut`"],
        ["`shut`", "`push`", "", "stays", "`creak`"],
    ]


def test_page_groups_what_changes_nothing() -> None:
    """One row per event and guard, naming the states."""
    assert section(page(DoorChart), "What comes and changes nothing") == [
        ["`look`", "", "every state"],
        ["`wait`", "[is_tired]", "`ajar`"],
        ["`wait`", "", "`shut`"],
    ]


def test_page_explains_guards_and_actions_by_their_docstrings() -> None:
    """Every name in the tables is explained once, in the order of the tables."""
    assert section(page(DoorChart), "Guards and actions") == [
        ["`is_light`", "Tell whether it gives way."],
        ["`count`", "Count it."],
        ["`is_strong`", "Tell whether the person is strong."],
        ["`is_tired`", "Tell whether the person is tired."],
        ["`creak`", "Make a noise."],
    ]


def test_page_leaves_out_what_is_empty() -> None:
    """A heading without a table would only ask questions."""
    headings = re.findall(r"^## (.+)$", page(BareChart), re.MULTILINE)

    assert headings == ["States", "What changes something"]


@every_chart
def test_every_edge_of_the_library_is_in_ours(chart: AnyChart) -> None:
    """The library reads the same class by its own way."""
    ours = edges(mermaid(chart))

    assert library_edges(chart) <= ours
    assert len(ours) >= len(chart.states_map) - 1


@every_chart
def test_page_counts_every_transition_of_the_class(chart: AnyChart) -> None:
    """Nothing is lost: as many rows and entries as the class has transitions and events."""
    declared = sum(
        len(list(transition.events))
        for state in chart.states_map.values()
        for transition in state.transitions
    )
    text = page(chart)

    moving = len(section(text, "What changes something"))
    idle = sum(
        len(chart.states_map) if row[2] == "every state" else row[2].count("`") // 2
        for row in section(text, "What comes and changes nothing")
    )

    assert moving + idle == declared


@every_chart
def test_diagram_keeps_to_what_mermaid_can_read(chart: AnyChart) -> None:
    """Plain names, one colon per arrow, no word that Mermaid takes for its own."""
    text = mermaid(chart)
    label = r"\w+( \[[\w ]+\])?"
    arrow = rf"    (\[\*\]|\w+) --> (\[\*\]|\w+)( : {label}(<br/>{label})*)?"
    reserved = {"state", "note", "end", "direction", "default", "class", "style", "click", "as"}

    head, *lines = text.splitlines()

    assert head == "stateDiagram-v2"
    assert [line for line in lines if not re.fullmatch(arrow, line)] == []
    assert reserved.isdisjoint(chart.states_map)


def test_check_passes_in_the_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    """What `--check` compares is the folder the pages are read from."""
    found = diagrams.main(["--check"])

    assert (found, capsys.readouterr().out) == (0, "")


def test_check_shows_what_is_out_of_date_and_repairs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stale, missing and left-over pages are one difference each."""
    diagrams.main(["--into", str(tmp_path)])
    (tmp_path / "turn.md").write_text("# Stale\n", encoding="utf-8")
    (tmp_path / "thread.md").unlink()
    (tmp_path / "gone.md").write_text("# Left over\n", encoding="utf-8")

    found = diagrams.main(["--check", "--into", str(tmp_path)])

    shown = capsys.readouterr().out.splitlines()
    assert found == 1
    assert {"-# Stale", "+# Turn", "+# Thread", "-# Left over"} <= set(shown)
    assert (tmp_path / "turn.md").read_text(encoding="utf-8") == "# Stale\n"


def test_writing_leaves_exactly_the_pages(tmp_path: Path) -> None:
    """A folder that is not there yet is made, a page of a machine that is gone is removed."""
    folder = tmp_path / "diagrams"
    diagrams.main(["--into", str(folder)])
    (folder / "gone.md").write_text("# Left over\n", encoding="utf-8")

    diagrams.main(["--into", str(folder)])

    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == pages(
        CHARTS, TABLES
    )
