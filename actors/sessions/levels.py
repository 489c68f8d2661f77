"""Of which rooms the account is told nothing, by its own settings: a catch-up is blind there."""

import logging
from functools import partial

from ...store import levels
from .facts import Level
from .services import Services

__all__ = ["note_levels"]

log = logging.getLogger(__name__)


def note_levels(services: Services) -> None:
    """Look at the levels, say which rooms are muted, and keep them as rows.

    Nothing depends on it but what an operator reads.
    """
    known = services.server.notification_levels()
    if known.everywhere is Level.MUTED:
        log.warning(
            "the account has notifications muted for the whole server: what is asked while the "
            "plugin is not connected is lost; set another level in the account's settings"
        )
    for room_id in sorted(id_ for id_, level in known.own.items() if level is Level.MUTED):
        room = services.directory.known_room(room_id)
        log.warning(
            "room %s (%s) is muted in the account's notification settings: what is asked there "
            "while the plugin is not connected is lost; set another level there",
            room.name if room else "?",
            room_id,
        )
    rows = {room_id: level.value for room_id, level in known.own.items()}
    if known.everywhere is not Level.NORMAL:
        rows[""] = known.everywhere.value
    write = partial(
        levels.replace_all, scope=services.journal.scope, levels=rows, at=services.journal.now()
    )
    services.alongside.put("levels", write)
