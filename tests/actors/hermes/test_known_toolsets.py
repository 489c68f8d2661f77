"""Names of toolsets that are none, found at the start by the gateway's own lists."""

import json
from pathlib import Path

import pytest

from hermes_chatto.actors.hermes.known_toolsets import unknown_toolsets
from hermes_chatto.actors.hermes.room_lists import read_toolsets


@pytest.mark.usefixtures("home")
def test_a_name_that_is_no_toolset_is_named_with_its_place_and_neighbour() -> None:
    """A misspelt one would leave the room without tools, and nobody would know why."""
    blocks = read_toolsets("CHATTO_ROOM_TOOLSETS", "ops=webb,todo; help=quite_other")

    said = "the gateway knows no toolset {!r}, so it gives no tools"
    assert unknown_toolsets(blocks) == [
        f"CHATTO_ROOM_TOOLSETS.ops: {said.format('webb')}; the nearest is web",
        f"CHATTO_ROOM_TOOLSETS.help: {said.format('quite_other')}",
    ]


def test_servers_count_by_their_name(home: Path) -> None:
    """Whether or not they are connected yet."""
    config = {"mcp_servers": {"tickets": {"url": "https://tickets.example.org/mcp"}}}
    (home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    blocks = read_toolsets("room_toolsets", {"ops": ["tickets", "mcp-tickets", "no_mcp", "web"]})

    assert unknown_toolsets(blocks) == []
    assert unknown_toolsets(()) == []
