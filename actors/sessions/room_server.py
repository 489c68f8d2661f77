"""What tools and commands need of the server's rooms beside `ports.ChatServer`."""

from collections.abc import Collection, Sequence
from typing import Protocol

from .facts import Page, Person, Place

__all__ = ["RoomServer"]


class RoomServer(Protocol):
    """The rooms of the server, as the agent's account may use them. Each is one call."""

    async def newest_page(self, place: Place, limit: int) -> Page:
        """Read the newest rows of a place, after a thread's root; 1 to 500. Raises: ChatError."""
        ...

    async def members_among(self, room_id: str, user_ids: Collection[str]) -> frozenset[str]:
        """Return which of these accounts, at most 100, are in a room. Raises: ChatError."""
        ...

    async def find_members(self, room_id: str, words: str, limit: int) -> Sequence[Person]:
        """Look members up by what their login or name holds. Raises: ChatError."""
        ...

    async def join(self, room_id: str) -> None:
        """Go into a channel; being in already is fine. Raises: ChatError."""
        ...

    async def leave(self, room_id: str) -> None:
        """Go out of a channel; being out already is fine. Raises: ChatError."""
        ...
