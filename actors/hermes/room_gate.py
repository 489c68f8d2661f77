"""The boundary around a room's tools: a call of any other is blocked, whoever offered it.

The list a room is given at the beginning of a turn is none by itself: tools of plugins and of
servers that the list does not name may be offered all the same.
Source: Hermes 0.22, hermes_cli/tools_config.py: _get_platform_tools.
"""

from collections.abc import Mapping
from typing import Protocol

from ..sessions.model_texts import blocked

__all__ = ["RoomGate", "RoomLists"]

CATALOGUE = frozenset({"tool_search", "tool_describe"})
"""They look tools up and call none. A call through the bridge arrives under the tool's own name.
Source: Hermes 0.22, agent/tool_executor.py: _unwrap_tool_search_call."""


class RoomLists(Protocol):
    """Knows where a run takes place, and which toolsets a room has."""

    def place(self) -> str | None:
        """Return the room of the calling run; None: it is none of ours."""
        ...

    def toolsets_of(self, room_id: str) -> tuple[str, ...] | None:
        """Return the toolsets of a room; None: it has none of its own."""
        ...


class RoomGate:
    """Asked by the gateway before every call of a tool, in whatever thread that is."""

    def __init__(self, lists: RoomLists) -> None:
        """Keep to the lists of a profile."""
        self._lists = lists

    def ask(self, tool_name: str = "", **more: object) -> Mapping[str, str] | None:
        """Say whether a call is blocked; None: this room has nothing against it.

        Where the run takes place comes from the event's source; the model has no hand in it. An
        error in here blocks, by the gateway's own rule.
        """
        del more
        room_id = self._lists.place()
        toolsets = self._lists.toolsets_of(room_id) if room_id is not None else None
        if toolsets is None or tool_name in CATALOGUE or tool_name in _tools_of(toolsets):
            return None
        return {"action": "block", "message": blocked(tool_name)}


def _tools_of(toolsets: tuple[str, ...]) -> frozenset[str]:
    """Return the tools in these toolsets; unknown ones have none. Cached by the gateway."""
    from toolsets import resolve_toolset  # noqa: PLC0415 - slow import

    return frozenset(tool for name in toolsets for tool in resolve_toolset(name))
