"""Names in the documents are those of the code."""

import re
from typing import Any

import pytest

from hermes_chatto.actors.hermes.settings import settings_rows
from hermes_chatto.machines.catalogue import CHARTS
from hermes_chatto.machines.chart import Chart
from hermes_chatto.machines.export import mermaid
from hermes_chatto.scripts.commands import COMMANDS
from hermes_chatto.store.migrations import SCHEMA, VIEWS
from hermes_chatto.tests.docs.documents import NAMES, ROOT, code_blocks, sections, text_of, words


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_that_is_named_is_a_setting(name: str) -> None:
    """A reader may copy it."""
    known = {row.variable for row in settings_rows()}

    assert words(r"\bCHATTO_[A-Z_]+\b")[name] <= known


@pytest.mark.parametrize("name", NAMES)
def test_every_command_that_is_named_is_one(name: str) -> None:
    """`./dev` knows it."""
    known = {command.name for command in COMMANDS} | {"help"}

    assert words(r"\./dev ([a-z]+)")[name] <= known


@pytest.mark.parametrize("name", NAMES)
def test_every_file_that_is_named_is_there(name: str) -> None:
    """Paths in backquotes with a slash and an ending are those of the checkout."""
    named = re.findall(r"`((?:actors|machines|store|scripts|tests)/[\w/.]+)`", text_of(name))

    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_view_has_its_place_in_the_readme() -> None:
    """An operator learns of each of them."""
    text = text_of("README.md")

    assert [view for view in VIEWS if view not in text] == []


def test_columns_that_hold_words_are_columns() -> None:
    """The table of what is stored names tables and columns as they are."""
    named = re.findall(r"^\| `(\w+)\.(\w+)` \|", text_of("README.md"), re.MULTILINE)
    schema = "\n".join(path.read_text() for path in sorted(SCHEMA.glob("*.sql")))
    tables = dict(re.findall(r"create table (\w+) \((.*?)\n\)", schema, re.DOTALL))

    assert named
    assert [
        f"{table}.{column}"
        for table, column in named
        if not re.search(rf"^    {column} ", tables[table], re.MULTILINE)
    ] == []


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.MACHINE)
def test_each_machine_is_shown_in_concepts_as_it_is(chart: type[Chart[Any]]) -> None:
    """The diagram is the one `./dev diagrams` writes; after a change it is copied from there."""
    drawn = [
        code.strip() for info, code in code_blocks(text_of("CONCEPTS.md")) if info == "mermaid"
    ]

    assert mermaid(chart).strip() in drawn


def test_every_section_of_concepts_says_what_it_costs() -> None:
    """An idea without its price is half an idea."""
    text = text_of("CONCEPTS.md")
    bodies = text.split("\n## ")[1:]
    without = [
        title
        for title, body in zip(sections(text), bodies, strict=True)
        if title not in {"decisions", "glossary"} and "**What it costs.**" not in body
    ]

    assert without == []
