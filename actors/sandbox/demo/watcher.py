"""Sees what appears on the server, as the people's clients would, and shows it as a chat log."""

from collections.abc import Callable, Mapping

import anyio

from ...sessions.facts import Message
from ...sessions.stream_events import MessagePosted, StreamOpened
from .people import Participant
from .screen import Screen

__all__ = ["Watcher"]

LOOK_EVERY_S = 0.2  # for the seconds that are shown meanwhile


class Watcher:
    """Follows the realtime streams of several people at once."""

    def __init__(self, screen: Screen) -> None:
        """Watch nobody yet."""
        self._screen = screen
        self._seen: dict[str, Message | None] = {}
        self._names: dict[str, str] = {}
        self._rooms: dict[str, str] = {}
        self._news = anyio.Event()

    @property
    def seen(self) -> Mapping[str, Message]:
        """Everything that appeared, by ID, in the order of appearance."""
        return {each: message for each, message in self._seen.items() if message is not None}

    def call(self, room_id: str, label: str) -> None:
        """Say what a room is called in the log."""
        self._rooms[room_id] = label

    async def follow(
        self,
        person: Participant,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Follow somebody's stream until cancelled; started once nothing is missed any more.

        Raises:
            StreamLostError: the server ended it.
        """
        async for event in person.stream():
            match event:
                case StreamOpened():
                    task_status.started()
                case MessagePosted():
                    await self._see(person, event)
                case _:
                    pass  # who came, who left, who typed: nothing of the conversation

    async def until(self, wanted: Callable[[Message], bool], within_s: float) -> Message | None:
        """Wait until a message like this has appeared; None: it did not in time."""
        with anyio.move_on_after(within_s):
            while True:
                found = next(filter(wanted, self.seen.values()), None)
                if found is not None:
                    return found
                await self._tick()
        return None

    async def _tick(self) -> None:
        self._screen.tick()
        news = self._news
        with anyio.move_on_after(LOOK_EVERY_S):
            await news.wait()

    async def _see(self, person: Participant, event: MessagePosted) -> None:
        """Read and show a message, once however many people saw it."""
        if event.message_id in self._seen:
            return
        self._seen[event.message_id] = None
        message = await person.read(event.room_id, event.message_id)
        if message is None or message.echo_of_id is not None:
            return
        if message.author_id not in self._names:
            self._names |= await person.names([message.author_id])
        self._seen[event.message_id] = message
        self._show(message)
        self._news.set()
        self._news = anyio.Event()

    def _show(self, message: Message) -> None:
        room = self._rooms.get(message.room_id, message.room_id)
        indent = "    " if message.thread_root_id else ""
        name = self._names.get(message.author_id, message.author_id)
        head = f"{room:<12} {indent}{name}: "
        first, *others = message.body.splitlines() or [""]
        margin = " " * len(head)
        self._screen.say("\n".join([head + first, *(margin + line for line in others)]))
