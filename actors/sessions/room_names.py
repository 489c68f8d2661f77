"""Which rooms the operator's settings name, found out when the list of rooms is read."""

import logging

from .errors import SettingsConflictError
from .room_rules import resolve_rooms
from .services import Services

__all__ = ["RoomNames"]

log = logging.getLogger(__name__)


class RoomNames:
    """Puts IDs in the place of names; says of each that is no room, once."""

    def __init__(self, services: Services) -> None:
        """Resolve the names in the policy of a profile."""
        self._services = services
        self._said: set[tuple[str, str]] = set()

    def resolve(self) -> None:
        """Look the names up that are not resolved yet.

        Raises:
            SettingsConflictError: two entries say different things of one room.
        """
        resolved = resolve_rooms(self._services.policy, list(self._services.directory.rooms))
        if resolved.conflict is not None:
            raise SettingsConflictError(*resolved.conflict)
        self._services.policy = resolved.policy
        for setting, entry in resolved.unknown:
            if (setting, entry) not in self._said:
                self._said.add((setting, entry))
                log.warning(
                    "%s: the account sees no room %r; correct or remove the entry, or add the "
                    "account to the room",
                    setting,
                    entry,
                )
