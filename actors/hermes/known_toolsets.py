"""Names of toolsets the gateway does not know: it drops them, and a room is left without tools."""

import difflib
from collections.abc import Collection

from ..sessions.room_rules import written_at
from .room_lists import RoomBlocks

__all__ = ["unknown_toolsets"]

NO_SERVERS = "no_mcp"
"""The gateway's word for "no MCP servers". Source: Hermes 0.22, hermes_cli/tools_config.py."""


def unknown_toolsets(blocks: RoomBlocks) -> list[str]:
    """Return a line for each name that is no toolset, fit for the log; imports and reads a file.

    Toolsets of plugins are known once these are loaded, MCP servers by the gateway's settings.

    Args:
        blocks: what is said of rooms.
    """
    if not any(rules.toolsets for _, rules in blocks):
        return []
    from hermes_cli.config import load_config  # noqa: PLC0415 - slow import
    from toolsets import get_toolset_names, validate_toolset  # noqa: PLC0415 - as above

    servers = {str(name) for name in load_config().get("mcp_servers") or {}}
    known = {NO_SERVERS, *servers, *(f"mcp-{name}" for name in servers)}
    names = [*get_toolset_names(), *servers]
    return [
        f"{written_at(room, rules)}: the gateway knows no toolset {name!r}, "
        f"so it gives no tools{_nearest(name, names)}"
        for room, rules in blocks
        for name in rules.toolsets or ()
        if name not in known and not validate_toolset(name)
    ]


def _nearest(name: str, names: Collection[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"; the nearest is {near[0]}" if near else ""
