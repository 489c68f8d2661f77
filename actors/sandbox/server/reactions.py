"""Reactions: emoji shortcodes on messages.

They belong to an event ID, whether or not a message has it; a deleted message keeps them.
Source: Chatto 0.4.20, cli/internal/core/reactions.go, docs/fdr/FDR-005.
"""

from .emoji import SHORTCODES
from .refusals import Reason, refused

PREVIEW = 5  # user IDs shown with a reaction


class Reactions:
    """Who reacted to what with which emoji, in the order of first use."""

    def __init__(self) -> None:
        """Start without any."""
        self._by_target: dict[str, dict[str, set[str]]] = {}

    def on(self, target_id: str) -> dict[str, set[str]]:
        """Return the emoji on a message and who used each; empty if nobody did."""
        return self._by_target.get(target_id, {})

    def add(self, target_id: str, emoji: str, user_id: str) -> bool:
        """Add a reaction; tell whether it is new."""
        users = self._by_target.setdefault(target_id, {}).setdefault(emoji, set())
        is_new = user_id not in users
        users.add(user_id)
        return is_new

    def remove(self, target_id: str, emoji: str, user_id: str) -> bool:
        """Take a reaction back; tell whether it was there."""
        on_target = self._by_target.get(target_id, {})
        users = on_target.get(emoji, set())
        if user_id not in users:
            return False
        users.remove(user_id)
        if not users:
            del on_target[emoji]
        return True


def require_shortcode(emoji: str) -> None:
    """Pass a known emoji name; characters, colons and capitals are none.

    Raises:
        RefusedError: it is not one of `SHORTCODES`.
    """
    if emoji not in SHORTCODES:
        raise refused(Reason.UNSUPPORTED_EMOJI)
