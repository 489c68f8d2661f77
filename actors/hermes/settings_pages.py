"""What is written elsewhere about the settings, made from their one table."""

import json

from .settings import Row, settings_rows
from .values import Kind, Value

__all__ = ["manifest_entries", "settings_table", "shown_default"]


def manifest_entries() -> str:
    """Return the `requires_env` and `optional_env` blocks of `plugin.yaml`."""
    rows = [row for row in settings_rows() if row.variable is not None]
    lines = ["requires_env:"]
    lines += [line for row in rows if row.is_required for line in _manifest_lines(row)]
    lines += ["optional_env:"]
    lines += [line for row in rows if not row.is_required for line in _manifest_lines(row)]
    return "\n".join(lines) + "\n"


def _manifest_lines(row: Row) -> list[str]:
    default = "" if row.is_required else f" (default: {shown_default(row.default)})"
    description = row.meaning.replace("`", "") + default
    return [
        f"  - name: {row.variable}",
        f"    description: {json.dumps(description, ensure_ascii=False)}",
        f"    password: {json.dumps(row.kind is Kind.SECRET)}",
    ]


def settings_table() -> str:
    """Return README's settings, in Markdown: one table per section."""
    sections: dict[str, list[str]] = {}
    for row in settings_rows():
        sections.setdefault(row.section, []).append(_table_line(row))
    head = "| variable | key | kind | default | meaning |\n| --- | --- | --- | --- | --- |"
    parts = [f"### {name}\n\n{head}\n" + "\n".join(lines) for name, lines in sections.items()]
    return "\n\n".join(parts) + "\n"


def _table_line(row: Row) -> str:
    variable = f"`{row.variable}`" if row.variable else "-"
    default = "required" if row.is_required else shown_default(row.default)
    cells = [variable, f"`{row.key}`", row.kind.value, default, row.meaning]
    return "| " + " | ".join(cells) + " |"


def shown_default(default: Value) -> str:
    """Return a default as the pages show it."""
    match default:
        case None:
            return "not set"
        case ():
            return "empty"
        case bool():
            return str(default).lower()
        case _:
            return str(default)
