"""Every reason that can stand in a row has a meaning that a person understands."""

import ast
from collections.abc import Iterator
from pathlib import Path

from hermes_chatto.actors.sessions import glossary
from hermes_chatto.actors.sessions.admission import Cause
from hermes_chatto.actors.sessions.glossary import REASONS, entries

SOURCES = sorted(Path(glossary.__file__).parent.glob("*.py"))
SAY_WHY = {
    *("Refused", "NotForUs", "Reason", "Refusal", "Withdrawal", "Skip"),
    *("fail", "refuse", "interrupt", "put_back", "ignore_edit", "skip", "remark", "count"),
    *("give_up", "_ignore", "DeliveryResult"),
}
"""Calls that take a reason as their last text."""
ANSWER_WHY = {"_why_not", "_objection", "_replacement", "_news"}
"""Functions that return one."""


def reasons_in(source: str) -> Iterator[str]:
    """Yield the reasons that stand in a module, up to a colon."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            told = node.args[2:] if name == "remark" else node.args  # behind message and event
            texts = list(filter(None, map(_text, told))) if name in SAY_WHY else []
            yield from texts[-1:]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in ANSWER_WHY:
            returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
            yield from filter(None, map(_text, returned))


def _text(node: ast.AST | None) -> str | None:
    """Return the word a literal begins with; None: it is no text."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        word = node.value.split(":")[0].split(" ")[0]
        return word if word.isidentifier() else None  # `count` counts line breaks, too
    return None


def test_every_reason_in_the_code_has_a_meaning() -> None:
    """Whoever reads a view never meets a bare word of ours."""
    found = {reason for path in SOURCES for reason in reasons_in(path.read_text())}

    assert {"not_taken", "not_yours", "too_late", "unchanged", "author_not_allowed"} <= found
    # An edit that changes nothing of what has no row is counted as `edit_` and one of these.
    assert found - {"edit_"} - REASONS.keys() == set()


def test_meanings_are_sentences_for_people() -> None:
    """More than the word itself, and no two alike where they differ."""
    for entry in entries():
        assert len(entry.meaning.split()) > 1, entry
    assert not REASONS.keys() & {cause.value for cause in Cause}
