"""What `config.yaml` says of single rooms: a map from rooms to settings, read like all others."""

import difflib
from collections.abc import Mapping

from ..sessions.policy import Bots, FollowUps, RoomRules
from ..sessions.room_rules import FREE_ROOMS, written_at
from .room_lists import RoomBlocks, toolset_names
from .values import JunkError, Kind, MalformedError, Value, read_value

__all__ = ["BOTS", "FOLLOW_UPS", "RoomBlocks", "contradiction", "read_room_blocks"]

FOLLOW_UPS = tuple(each.value for each in FollowUps)
BOTS = tuple(each.value for each in Bots)

TOOLSETS = "toolsets"

KINDS: Mapping[str, tuple[Kind, tuple[str, ...]]] = {
    "require_mention": (Kind.BOOL, ()),
    "follow_ups": (Kind.CHOICE, FOLLOW_UPS),
    "allow_bots": (Kind.CHOICE, BOTS),
    "prompt": (Kind.TEXT, ()),
    "thread_context_message_limit": (Kind.INT, ()),
    "room_context_message_limit": (Kind.INT, ()),
}
"""What may be said of a room: kind and choices by key."""


def read_room_blocks(name: str, raw: object, warnings: list[str]) -> RoomBlocks:
    """Read the map.

    Args:
        name: where it stands, for the warnings.
        raw: what YAML made of it.
        warnings: gets a line for each value that is none of its kind and each unknown key; the
            setting then is as it is everywhere.

    Raises:
        MalformedError: it has another structure, or says two things of one room.
    """
    if raw is None:
        return ()
    if not isinstance(raw, Mapping):
        message = "a map from rooms to their settings"
        raise MalformedError(message)
    blocks: dict[str, tuple[str, RoomRules]] = {}
    for written, block in raw.items():
        room = "" if written is None else str(written).strip()
        if not room or not isinstance(block, Mapping):
            message = f"a map from rooms to their settings (the entry {room!r})"
            raise MalformedError(message)
        rules = _read_block(f"{name}.{room}", block, warnings)
        if room.lower() in blocks and blocks[room.lower()][1] != rules:
            message = f"of one mind about the room {room!r}, which it names twice"
            raise MalformedError(message)
        blocks[room.lower()] = (room, rules)
    return tuple(blocks.values())


def contradiction(free_rooms: tuple[str, ...], blocks: RoomBlocks) -> tuple[str, str] | None:
    """Return the block of a room that the list frees from mentions, and the list; None: none."""
    free = {room.lower() for room in free_rooms}
    for room, rules in blocks:
        if rules.require_mention and room.lower() in free:
            return written_at(room, rules), FREE_ROOMS
    return None


def _read_block(name: str, block: Mapping[object, object], warnings: list[str]) -> RoomRules:
    values: dict[str, Value] = {}
    toolsets: tuple[str, ...] | None = None
    for written, raw in block.items():
        key = str(written)
        if key == TOOLSETS:
            toolsets = toolset_names(raw, f"{name}.{key}")
            continue
        if key not in KINDS:
            near = difflib.get_close_matches(key, (*KINDS, TOOLSETS), n=1, cutoff=0.0)
            warnings.append(f"{name}.{key} is no setting of a room; the nearest is {near[0]}")
            continue
        try:
            values[key] = read_value(KINDS[key][0], raw, KINDS[key][1])
        except JunkError as junk:
            warnings.append(f"{name}.{key}: {raw!r} is not {junk}; the default applies")
    return RoomRules(
        require_mention=_bool(values.get("require_mention")),
        follow_ups=FollowUps(values["follow_ups"]) if "follow_ups" in values else None,
        allow_bots=Bots(values["allow_bots"]) if "allow_bots" in values else None,
        toolsets=toolsets,
        prompt=_text(values.get("prompt")),
        thread_lines=_int(values.get("thread_context_message_limit")),
        room_lines=_int(values.get("room_context_message_limit")),
        written=(name,),
    )


def _text(value: Value) -> str | None:
    return None if value is None else str(value).strip() or None


def _int(value: Value) -> int | None:
    return value if isinstance(value, int) else None


def _bool(value: Value) -> bool | None:
    return None if value is None else bool(value)
