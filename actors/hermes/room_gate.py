"""The boundary around a room's tools: a call of any other is blocked, whoever offered it.

The list a room is given at the beginning of a turn is none by itself: tools of plugins and of
servers that the list does not name may be offered all the same. And what one person said to the
agent is not told to another by a tool that reads the gateway's record of all conversations.
Source: Hermes 0.22, hermes_cli/tools_config.py: _get_platform_tools.
"""

from collections.abc import Mapping
from typing import Protocol

from ..sessions.model_texts import blocked, reads_others

__all__ = ["RoomGate", "RoomLists"]

CATALOGUE = frozenset({"tool_search", "tool_describe"})
"""They look tools up and call none. A call through the bridge arrives under the tool's own name.
Source: Hermes 0.22, agent/tool_executor.py: _unwrap_tool_search_call."""

ACROSS_CONVERSATIONS = frozenset({"session_search"})
"""They read what was said to the agent by anybody, anywhere in the profile. Each is the one tool
of a toolset of its name. Source: Hermes 0.22, toolsets.py, tools/session_search_tool.py."""


class RoomLists(Protocol):
    """Knows where a run takes place, and which toolsets a room has."""

    @property
    def may_read_across(self) -> bool:
        """Whether the operator lets tools read other conversations everywhere."""
        ...

    def is_heard(self) -> bool:
        """Tell whether what the calling run finds out is posted by us."""
        ...

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
        if self._tells_of_others(tool_name, toolsets or ()):
            return {"action": "block", "message": reads_others(tool_name)}
        if toolsets is None or tool_name in CATALOGUE or tool_name in _tools_of(toolsets):
            return None
        return {"action": "block", "message": blocked(tool_name)}

    def _tells_of_others(self, tool_name: str, toolsets: tuple[str, ...]) -> bool:
        """Tell whether a call would bring other conversations here, where nobody wants that.

        A room's list has to name the toolset itself: a bundle brings it along unasked.
        """
        if tool_name not in ACROSS_CONVERSATIONS or tool_name in toolsets:
            return False
        return not self._lists.may_read_across and self._lists.is_heard()


def _tools_of(toolsets: tuple[str, ...]) -> frozenset[str]:
    """Return the tools in these toolsets; unknown ones have none. Cached by the gateway."""
    from toolsets import resolve_toolset  # noqa: PLC0415 - slow import

    return frozenset(tool for name in toolsets for tool in resolve_toolset(name))
