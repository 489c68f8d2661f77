"""What holds in one room: the operator's rules, and which rooms their names mean."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from .facts import Room, RoomKind
from .policy import Bots, ContextLimits, FollowUps, Policy, RoomRules

__all__ = [
    "FREE_ROOMS",
    "Resolved",
    "Rules",
    "answers_room",
    "context_of",
    "lets_programs_in",
    "needs_no_mention",
    "resolve_rooms",
    "rules_of",
    "said_of",
    "together",
    "written_at",
]

FREE_ROOMS = "free_response_channels (CHATTO_FREE_RESPONSE_CHANNELS)"
"""As an operator may have written it."""

ROOM_ID = re.compile(r"R[0-9A-Za-z]{14}")
"""Source: Chatto 0.4.20, docs/adr/ADR-022: a prefix letter and 14 characters."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is decided for one room, its own rules and the general ones together."""

    needs_mention: bool
    follow_ups: FollowUps
    allow_bots: Bots


@dataclass(frozen=True, slots=True)
class Resolved:
    """A policy whose rooms are IDs, as far as there are such rooms."""

    policy: Policy
    unknown: tuple[tuple[str, str], ...]
    """Setting and entry of what names no room."""
    conflict: tuple[str, str] | None
    """Two entries that say different things of one room; None: there are none."""


def rules_of(room: Room, policy: Policy) -> Rules:
    """Return what holds in a room: what is said of it alone wins."""
    is_free = not policy.require_mention or _is_named(room, policy.free_rooms)
    rules = Rules(not is_free, policy.follow_ups, policy.allow_bots)
    own = said_of(room, policy)
    return Rules(
        needs_mention=rules.needs_mention if own.require_mention is None else own.require_mention,
        follow_ups=own.follow_ups or rules.follow_ups,
        allow_bots=own.allow_bots or rules.allow_bots,
    )


def needs_no_mention(room: Room, policy: Policy) -> bool:
    """Tell whether what is said in a room is for the agent unless it says otherwise."""
    return not rules_of(room, policy).needs_mention


def said_of(room: Room, policy: Policy) -> RoomRules:
    """Return what the operator said of a room alone."""
    return next((own for entry, own in policy.rooms if _is_named(room, (entry,))), RoomRules())


def context_of(room: Room | None, policy: Policy, everywhere: ContextLimits) -> ContextLimits:
    """Return how much is told before a question in a room; None: nothing is known of it."""
    own = said_of(room, policy) if room is not None else RoomRules()
    lines = everywhere.thread_lines if own.thread_lines is None else own.thread_lines
    room_lines = everywhere.room_lines if own.room_lines is None else own.room_lines
    return replace(everywhere, thread_lines=lines, room_lines=room_lines)


def together(first: RoomRules, second: RoomRules) -> RoomRules | None:
    """Return what two entries say of one room; None: one says otherwise than the other."""
    values: dict[str, Any] = {"written": first.written + second.written}
    for each in fields(RoomRules):
        if each.name in values:
            continue
        said = [getattr(rules, each.name) for rules in (first, second)]
        told = [value for value in said if value is not None]
        if len(told) > 1 and told[0] != told[1]:
            return None
        values[each.name] = told[0] if told else None
    return RoomRules(**values)


def written_at(entry: str, rules: RoomRules) -> str:
    """Return where an operator finds what is said of a room."""
    return " and ".join(dict.fromkeys(rules.written)) or f"rooms.{entry}"


def lets_programs_in(policy: Policy) -> bool:
    """Tell whether there is a room in which programs count at all."""
    said = [policy.allow_bots, *(rules.allow_bots for _, rules in policy.rooms)]
    return any(each not in (None, Bots.NONE) for each in said)


def answers_room(room: Room, policy: Policy) -> bool:
    """Tell whether the agent answers in a room at all.

    Direct conversations are not subject to the list of rooms.
    """
    if not room.is_member:
        return False
    if room.kind is RoomKind.DIRECT or policy.allowed_rooms is None:
        return True
    return _is_named(room, policy.allowed_rooms)


def resolve_rooms(policy: Policy, rooms: Sequence[Room]) -> Resolved:
    """Put IDs in the place of names: a name that is given to another room later opens nothing.

    An entry that names no room stays as it is, for a room that is made, or joined, later.

    Args:
        policy: as the operator wrote it.
        rooms: all that the account sees.
    """
    ids = {room.room_id for room in rooms}
    by_name = {room.name.lower(): room.room_id for room in rooms if room.name}
    unknown: list[tuple[str, str]] = []

    def looked_up(setting: str) -> Callable[[str], str]:
        def look_up(entry: str) -> str:
            found = entry if entry in ids else by_name.get(entry.lower())
            if found is None or (found != entry and ROOM_ID.fullmatch(entry)):
                unknown.append((setting, entry))
                return entry
            return found

        return look_up

    allowed = policy.allowed_rooms
    new = replace(
        policy,
        allowed_rooms=allowed and tuple(map(looked_up("allowed_channels"), allowed)),
        free_rooms=tuple(map(looked_up("free_response_channels"), policy.free_rooms)),
    )
    said: dict[str, RoomRules] = {}
    first: dict[str, str] = {}
    conflict: tuple[str, str] | None = None
    for entry, rules in policy.rooms:
        place = written_at(entry, rules)
        room_id = looked_up(place)(entry)
        first.setdefault(room_id, place)
        both = together(said.get(room_id, RoomRules()), rules)
        if both is None:
            conflict = conflict or (first[room_id], place)
        elif room_id in new.free_rooms and rules.require_mention:
            conflict = conflict or (place, FREE_ROOMS)
        said[room_id] = both or rules
    return Resolved(replace(new, rooms=tuple(said.items())), tuple(unknown), conflict)


def _is_named(room: Room, entries: tuple[str, ...]) -> bool:
    """Tell whether a list of rooms names this one, by its ID or its name in any case.

    What looks like an ID is one: a room may be called like the ID of another.
    """
    name = room.name.lower()
    return any(
        entry == room.room_id
        or (bool(name) and entry.lower() == name and not ROOM_ID.fullmatch(entry))
        for entry in entries
    )
