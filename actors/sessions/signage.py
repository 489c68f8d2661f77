"""Which reaction a turn's state asks for on its message."""

from collections.abc import Mapping

from .policy import Signs

__all__ = ["EDITED_UNSEEN", "asks_for", "sign_of"]

EDITED_UNSEEN = "edited_unseen"

SEEN_REFUSALS = frozenset(
    {EDITED_UNSEEN, "editor_is_not_author", "too_many_waiting", "too_many_this_hour"}
)
"""Refusals that whoever was meant to get an answer has to see."""

ASKED: Mapping[str, str] = {
    "held": "waiting",
    "queued": "waiting",
    "handed": "seen",
    "processing": "seen",
    "delivering": "seen",
    "correcting": "seen",
    "stopping": "seen",
    "folded": "seen",
    "interrupted": "seen",
    "cancelled": "cancelled",
    "failed": "failed",
    "expired": "failed",
}
"""By state; the others ask for none."""


def asks_for(state: str, reason: str | None) -> str | None:
    """Return the name of the sign a turn asks for; None: none."""
    if state == "refused" and reason in SEEN_REFUSALS:
        return "failed"
    return ASKED.get(state)


def sign_of(state: str, reason: str | None, signs: Signs) -> str | None:
    """Return the reaction for a turn; None: none, or that sign is off."""
    name = asks_for(state, reason)
    if name is None:
        return None
    emoji: str | None = getattr(signs, name)
    return emoji
