"""A value that somebody outside the actors waits for."""

from typing import Generic, TypeVar

import anyio

__all__ = ["Promise"]

T = TypeVar("T")


class Promise(Generic[T]):
    """Is kept once; whoever waits gets the value, before or after."""

    def __init__(self) -> None:
        """Start open."""
        self._event = anyio.Event()
        self._value: list[T] = []

    def keep(self, value: T) -> None:
        """Give the value; a second one is dropped, since the first was passed on already."""
        if not self._value:
            self._value.append(value)
            self._event.set()

    @property
    def is_kept(self) -> bool:
        """Whether the value was given."""
        return bool(self._value)

    async def wait(self) -> T:
        """Wait for the value."""
        await self._event.wait()
        return self._value[0]
