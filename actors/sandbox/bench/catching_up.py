"""What a catch-up asks of the server, among many rooms and known threads."""

from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from ..stage import Colleague
from .figures import Figure, at_most
from .filling import fill, state_file_in
from .rig import ours, stage

__all__ = ["catching_up"]

ROOMS = tuple(f"R{number}" for number in range(1, 201))
ASKED_IN = ROOMS[:5]
AWAY_S = 180.0  # beyond the two minutes that every catch-up looks at again
LISTS = ("RoomDirectoryService/ListRooms", "NotificationService/ListNotifications")
READS = ("MessageService/BatchGetMessages", "RoomService/GetRoomEvents")
"""Calls that a catch-up may make; following a thread and the like come beside it."""


async def catching_up(folder: Path, rounds: int, threads: int) -> list[Figure]:
    """Start a profile after nothing was missed, and after some questions were, in turns."""
    await anyio.to_thread.run_sync(fill, state_file_in(folder), threads)
    nothing, something = list[float](), list[float]()
    async with stage(folder, rooms=ROOMS) as opened:
        dm = await opened.opens_dm("alice")
        async with ours(opened) as rig:
            await rig.ask("@hermes hi")
        for number in range(rounds):
            nothing.append(await _calls_of_start(opened, []))
            asked = [
                opened.posts("alice", f"@hermes question {number}", room=room)
                for room in (*ASKED_IN, dm)
            ]
            something.append(await _calls_of_start(opened, asked))
            opened.posts("hermes", "done", room=dm)  # while it is unread it is looked at each time
    place = f"{len(ROOMS)} rooms, {threads:,} known threads"
    reads = len(ASKED_IN) + 1
    return [
        Figure("calls of a catch-up, nothing missed", "", nothing, at_most(len(LISTS)), place),
        Figure(
            f"calls of a catch-up, asked in {len(ASKED_IN)} rooms and a direct conversation",
            "",
            something,
            at_most(len(LISTS) + reads),
            place,
        ),
    ]


async def _calls_of_start(opened: Colleague, missed: Sequence[str]) -> float:
    """Count the calls until everything missed is decided; then have it answered."""
    opened.clock.ahead_s += AWAY_S
    calls = opened.sandbox.calls
    before = sum(calls[name] for name in (*LISTS, *READS))
    async with ours(opened, is_gate_open=False) as rig:
        spent = sum(calls[name] for name in (*LISTS, *READS)) - before
        rig.open_gate()
        for message_id in missed:
            await rig.until_ended(message_id)
    return float(spent)
