"""How many turns may be at the gateway at once; whoever finds no place waits in line."""

from collections.abc import Callable

__all__ = ["Slots"]


class Slots:
    """Places at the gateway, one per lane that has something there.

    A lane asks before it hands a turn over and reports, whenever something happened in it,
    whether it still has one there. The next in line gets its place before it is told, so that
    nobody who comes later overtakes it.
    """

    def __init__(self, limit: int, call: Callable[[str], None]) -> None:
        """Start with every place free.

        Args:
            limit: how many lanes may have a turn at the gateway.
            call: tells a lane, by its key, that a place is kept for it.
        """
        self._limit = limit
        self._call = call
        self._held: set[str] = set()
        self._waiting: dict[str, None] = {}

    def take(self, key: str) -> bool:
        """Take a place for a lane; False: there is none, and it is in line now."""
        if key not in self._held and len(self._held) >= self._limit:
            self._waiting.setdefault(key)
            return False
        self._waiting.pop(key, None)
        self._held.add(key)
        return True

    def settle(self, key: str, *, is_busy: bool) -> None:
        """Learn whether a lane has something at the gateway.

        What the gateway began by itself, after a restart, counts beyond the limit.
        """
        if is_busy:
            self._waiting.pop(key, None)
            self._held.add(key)
            return
        self._held.discard(key)
        while self._waiting and len(self._held) < self._limit:
            following = next(iter(self._waiting))
            del self._waiting[following]
            self._held.add(following)
            self._call(following)
