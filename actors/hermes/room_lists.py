"""Maps from rooms to one thing: toolsets and prompts; and how they join with the rooms' blocks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from ..sessions.policy import RoomRules
from ..sessions.room_rules import together, written_at
from .values import MalformedError

__all__ = ["RoomBlocks", "joined_blocks", "read_prompts", "read_toolsets", "toolset_names"]

RoomBlocks: TypeAlias = tuple[tuple[str, RoomRules], ...]
"""Rules by room, as it is written: an ID or a name."""


def read_toolsets(name: str, raw: object) -> RoomBlocks:
    """Read toolsets by room: a map, or the text of a variable, `R1=web,chatto; R2=web`.

    Args:
        name: where it stands.
        raw: what YAML made of it, or the text.

    Raises:
        MalformedError: it has another structure, or a list is empty. An empty list would give a
            room everything, where nothing was meant.
            Source: Hermes 0.22, gateway/run_turn.py:_resolve_enabled_toolsets_for_source.
    """
    entries = _pairs(raw) if isinstance(raw, str) else _entries(raw)
    return tuple(
        (room, RoomRules(toolsets=toolset_names(names, place), written=(place,)))
        for room, names in entries
        for place in [f"{name}.{room}"]
    )


def read_prompts(name: str, raw: object) -> RoomBlocks:
    """Read extra instructions by room.

    Raises:
        MalformedError: it is no map from rooms to texts.
    """
    blocks: list[tuple[str, RoomRules]] = []
    for room, prompt in _entries(raw):
        place = f"{name}.{room}"
        if not isinstance(prompt, str):
            message = f"a map from rooms to texts (the entry {place})"
            raise MalformedError(message)
        blocks.append((room, RoomRules(prompt=prompt.strip() or None, written=(place,))))
    return tuple(blocks)


def toolset_names(raw: object, where: str) -> tuple[str, ...]:
    """Read the names of toolsets; whether there are such toolsets the gateway knows.

    Args:
        raw: a list of texts, or a text with commas.
        where: the entry, for the error.

    Raises:
        MalformedError: it is something else, or empty.
    """
    items: Sequence[object] = ()
    if isinstance(raw, str):
        items = re.split(r"[,\n]", raw)
    elif isinstance(raw, Sequence):
        items = raw
    names = [item.strip() for item in items if isinstance(item, str)]
    if not names or not all(names) or len(names) < len(items):
        message = f"a list of toolset names with at least one in it (the entry {where})"
        raise MalformedError(message)
    return tuple(dict.fromkeys(names))


def joined_blocks(*maps: RoomBlocks) -> tuple[RoomBlocks, tuple[str, str] | None]:
    """Put together what several settings say of rooms.

    Returns:
        The rules, and two entries that say different things of one room; None: there are none.
    """
    joined: dict[str, tuple[str, RoomRules]] = {}
    for room, rules in (entry for each in maps for entry in each):
        written, before = joined.get(room.lower(), (room, RoomRules()))
        both = together(before, rules)
        if both is None:
            return (), (written_at(written, before), written_at(room, rules))
        joined[room.lower()] = (written, both)
    return tuple(joined.values()), None


def _entries(raw: object) -> Iterable[tuple[str, object]]:
    if not isinstance(raw, Mapping):
        message = "a map from rooms to their entries"
        raise MalformedError(message)
    for written, entry in raw.items():
        room = "" if written is None else str(written).strip()
        if not room:
            message = "a map from rooms to their entries (an entry names no room)"
            raise MalformedError(message)
        yield room, entry


def _pairs(text: str) -> Iterable[tuple[str, object]]:
    """Read `R1=a,b; R2=c`; blanks and empty pieces do not matter."""
    for piece in filter(str.strip, re.split(r"[;\n]", text)):
        room, equals, names = piece.partition("=")
        if not room.strip() or not equals:
            message = f"rooms with their toolsets, R1=web,chatto; R2=web (the piece {piece!r})"
            raise MalformedError(message)
        yield room.strip(), names
