"""Draw charts: Mermaid and Markdown that lose no transition, read off the classes.

The library's own output drops the second of two transitions that differ in their guard only
and shows no actions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .chart import Chart

__all__ = ["Arrow", "Table", "arrows_of", "markdown_table", "mermaid", "page", "pages"]

INDEX = "README.md"
NOTICE = "<!-- Written by ./dev diagrams from the chart's class; change that instead. -->"
LEGEND = """\
An arrow is labelled with the events that move along it; a guard in brackets has to hold, and
`[else]` is what happens when the guards named before it do not. An arrow to the end leaves a
state in which nothing is left to do. Events that leave the state as it is stand in the tables
only. An event that no table names for a state is an error there and moves nothing."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """One transition of one event."""

    source: str
    event: str
    target: str
    guard: str
    """`[name]`, `[not name]`, or `[else]` after guarded ones; empty: it always applies."""
    checks: tuple[str, ...]
    """Methods of the chart behind the guard."""
    actions: tuple[str, ...]
    """Methods of the chart that run; empty: nothing but changing the state."""

    @property
    def label(self) -> str:
        """What stands on it."""
        return f"{self.event} {self.guard}".rstrip()

    @property
    def changes_nothing(self) -> bool:
        """Whether neither state nor record is another afterwards."""
        return self.source == self.target and not self.actions


@dataclass(frozen=True, slots=True)
class Table:
    """A page beside the diagrams: what a machine does, looked at from another side."""

    name: str
    """Of its file, without the ending."""
    title: str
    summary: str
    """One line for the index."""
    text: str
    """What stands below the title."""


def mermaid(chart: type[Chart[Any]]) -> str:
    """Return a chart as a Mermaid state diagram of everything that changes the state."""
    labels: dict[tuple[str, str], list[str]] = {}
    for arrow in arrows_of(chart):
        if arrow.source != arrow.target:
            labels.setdefault((arrow.source, arrow.target), []).append(arrow.label)
    states = chart.states_map.values()
    lines = ["stateDiagram-v2", *(f"    [*] --> {state.id}" for state in states if state.initial)]
    for (source, target), events in labels.items():
        lines.append(f"    {source} --> {target} : {'<br/>'.join(events)}")
    lines += [f"    {state.id} --> [*]" for state in states if state.id in chart.CLOSED]
    return "\n".join(lines) + "\n"


def page(chart: type[Chart[Any]]) -> str:
    """Return the Markdown page of a chart: diagram, states, all transitions, the names in them."""
    arrows = arrows_of(chart)
    moving = [arrow for arrow in arrows if not arrow.changes_nothing]
    sections = [
        NOTICE,
        f"# {_title(chart)}",
        _docstring(chart),
        f"```mermaid\n{mermaid(chart)}```",
        LEGEND,
        "## States",
        markdown_table(("State", "Meaning"), _states(chart)),
        "## What changes something",
        markdown_table(("From", "Event", "Guard", "To", "Action"), map(_cells, moving)),
    ]
    if idle := _idle(chart, arrows):
        sections += [
            "## What comes and changes nothing",
            markdown_table(("Event", "Guard", "In"), idle),
        ]
    if names := _names(chart, arrows):
        sections += ["## Guards and actions", markdown_table(("Name", "What it does"), names)]
    return "\n\n".join(sections) + "\n"


def pages(charts: Iterable[type[Chart[Any]]], tables: Iterable[Table] = ()) -> dict[str, str]:
    """Return the content of each file of the diagrams' folder by its name, the index included."""
    files: dict[str, str] = {}
    entries: list[str] = []
    for chart in charts:
        name = f"{chart.MACHINE}.md"
        files[name] = page(chart)
        entries.append(f"- [{_title(chart)}]({name}): {_docstring(chart).splitlines()[0]}")
    for table in tables:
        name = f"{table.name}.md"
        files[name] = "\n\n".join([NOTICE, f"# {table.title}", table.text]) + "\n"
        entries.append(f"- [{table.title}]({name}): {table.summary}")
    files[INDEX] = "\n\n".join([NOTICE, "# The machines", "\n".join(entries)]) + "\n"
    return files


def arrows_of(chart: type[Chart[Any]]) -> list[Arrow]:
    """Return all transitions, one for each event, in the order of states and declaration."""
    arrows: list[Arrow] = []
    for state in chart.states_map.values():
        guarded: set[str] = set()
        for transition in state.transitions:
            guard = " and ".join(str(spec).replace("!", "not ") for spec in transition.cond)
            checks = tuple(spec.attr_name for spec in transition.cond)
            actions = tuple(spec.attr_name for spec in transition.on if not spec.is_convention)
            for event in map(str, transition.events):
                shown = guard or ("else" if event in guarded else "")
                brackets = f"[{shown}]" if shown else ""
                guarded |= {event} if guard else set()
                arrows += [
                    Arrow(state.id, event, target.id, brackets, checks, actions)
                    for target in transition.targets
                ]
    return arrows


def _states(chart: type[Chart[Any]]) -> list[tuple[str, str]]:
    """Return each state and its meaning; the first and the last ones are marked."""
    rows: list[tuple[str, str]] = []
    for state in chart.states_map.values():
        mark = " (first)" if state.initial else " (end)" if state.id in chart.CLOSED else ""
        rows.append((f"`{state.id}`{mark}", chart.MEANING[state.id]))
    return rows


def _cells(arrow: Arrow) -> tuple[str, ...]:
    """Return the row of a transition that changes the state or the record."""
    target = "stays" if arrow.source == arrow.target else f"`{arrow.target}`"
    actions = ", ".join(f"`{name}`" for name in arrow.actions)
    return (f"`{arrow.source}`", f"`{arrow.event}`", arrow.guard, target, actions)


def _idle(chart: type[Chart[Any]], arrows: Iterable[Arrow]) -> list[tuple[str, str, str]]:
    """Return the events that change nothing, each with the states it may come in."""
    every = len(chart.states_map)
    states: dict[tuple[str, str], list[str]] = {}
    for arrow in arrows:
        if arrow.changes_nothing:
            states.setdefault((arrow.event, arrow.guard), []).append(f"`{arrow.source}`")
    return [
        (f"`{event}`", guard, "every state" if len(names) == every else ", ".join(names))
        for (event, guard), names in states.items()
    ]


def _names(chart: type[Chart[Any]], arrows: Iterable[Arrow]) -> list[tuple[str, str]]:
    """Return the guards and actions that occur, each with the first line of its docstring."""
    names = dict.fromkeys(name for arrow in arrows for name in (*arrow.checks, *arrow.actions))
    return [(f"`{name}`", getattr(chart, name).__doc__.splitlines()[0]) for name in names]


def _title(chart: type[Chart[Any]]) -> str:
    return chart.MACHINE.replace("_", " ").capitalize()


def _docstring(chart: type[Chart[Any]]) -> str:
    """Return the docstring of a chart without the indentation of the source."""
    return "\n".join(line.strip() for line in str(chart.__doc__).strip().splitlines())


def markdown_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(_escaped(cells)) + " |" for cells in lines)


def _escaped(cells: tuple[str, ...]) -> Iterable[str]:
    """Return cells in which nothing ends the cell."""
    return (cell.replace("|", "\\|") for cell in cells)
