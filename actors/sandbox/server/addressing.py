"""Addressing: which accounts of a room a text means.

Which handles a text holds is read by the same reader the agent's side uses; what is decided
here is whom they reach.
Source: Chatto 0.4.20, cli/internal/core/mentions.go.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...sessions.mentions import mentioned_handles
from .accounts import PINGABLE_ROLES, ROLES, Account
from .presence import Status
from .rooms import Room
from .world import World


@dataclass(frozen=True, slots=True)
class Meant:
    """Accounts a text means, in the order of their handles."""

    user_ids: tuple[str, ...] = ()
    by_name: frozenset[str] = frozenset()
    """Those meant by their own login, not only by a group."""


def meant_by(world: World, room: Room, body: str) -> Meant:
    """Return the members of a room that a text means.

    A login in any case means its account, `@all` every member, `@here` those whose presence
    is not offline, a pingable role its holders, `@everyone` and unknown handles nobody.
    """
    handles = mentioned_handles(body) if "@" in body else ()
    if not handles:
        return Meant()
    members = {account.id: account for account in world.permissions.members(room)}
    user_ids: dict[str, None] = {}
    by_name: set[str] = set()
    for handle in handles:
        reached = [one.id for one in _reached(world, handle.lower(), members.values())]
        user_ids.update(dict.fromkeys(one for one in reached if one in members))
        if not _is_group(handle.lower()):
            by_name.update(reached)
    return Meant(tuple(user_ids), frozenset(by_name))


def _is_group(handle: str) -> bool:
    return handle in ROLES or handle in {"all", "here"}


def _reached(world: World, handle: str, members: Iterable[Account]) -> list[Account]:
    if handle == "all":
        return list(members)
    if handle == "here":
        return [one for one in members if world.presence.of(one.id) is not Status.OFFLINE]
    if handle in ROLES:
        return world.accounts.with_role(handle) if handle in PINGABLE_ROLES else []
    account = world.accounts.by_login(handle)
    return [account] if account else []
