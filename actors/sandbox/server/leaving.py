"""Leaving: the end of sessions, and of whole accounts.

Source: Chatto 0.4.20, cli/internal/core/auth_revocation.go, cli/internal/core/users.go.
"""

from .accounts import Account
from .editing import Editing
from .frames import Event
from .membership import Membership
from .world import World


class Leaving:
    """Signs accounts out everywhere and deletes them."""

    def __init__(self, world: World, membership: Membership, editing: Editing) -> None:
        """Work on this world."""
        self._world = world
        self._membership = membership
        self._editing = editing

    def end_sessions(self, account: Account, reason: str) -> None:
        """End every token and every stream of an account.

        Args:
            account: whose.
            reason: what its streams are told (`password_changed`, `account_deleted`).
        """
        self._world.credentials.revoke_all(account)
        self._world.feed.terminate(account.id, reason)

    def delete(self, actor: Account, account: Account) -> None:
        """Delete an account: its messages become tombstones, its DMs stay.

        Others hear of it as `user_left_room` in each channel and `server_member_deleted`
        twice; no message is announced as retracted.
        """
        self._membership.remove_everywhere(account)
        for message in self._world.log.messages_by(account.id):
            if not message.is_deleted:
                self._editing.retract(message)
        self._world.accounts.forget(account)
        self._world.inbox.forget(account.id)
        self.end_sessions(account, "account_deleted")
        for _ in range(2):
            event = Event("server_member_deleted", actor.id, {"user_id": account.id})
            self._world.feed.tell_everybody(event)
