"""What people see of the account beside its messages: that it is there, and that it is typing."""

from ..sessions.facts import Place
from .session import Session

__all__ = ["Showing"]


class Showing:
    """Shows the account for a while; the server takes it back by itself."""

    def __init__(self, session: Session) -> None:
        """Show the account of a session."""
        self._session = session

    async def typing(self, place: Place) -> None:
        """Show it as typing for some seconds. Raises: ChatError."""
        wire = await self._session.wire()
        request = wire.pb.rooms.UpdateTypingIndicatorRequest(
            room_id=place.room_id, thread_root_event_id=place.thread_root_id or ""
        )
        await self._session.read(wire.services.rooms.update_typing_indicator, request)

    async def online(self) -> None:
        """Show it as online for a minute. Raises: ChatError.

        Nobody selected that: what somebody who is logged in as the account selects stays.
        Source: Chatto 0.4.20, cli/internal/core/presence_model.go.
        """
        wire = await self._session.wire()
        presence = wire.pb.presence
        request = presence.UpdatePresenceRequest(status=presence.PRESENCE_STATUS_ONLINE)
        await self._session.read(wire.services.account.update_presence, request)
