"""A profile that lives until it is killed, on a server of somebody else.

Usage: killed_profile.py URL STATE_FILE. Its agent answers with three parts, and takes for ever
over a question with `slow` in it. Run by `test_recovery.py`.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

import anyio

from hermes_chatto.actors.chatto.client import ChattoServer
from hermes_chatto.actors.chatto.credential import Password
from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.scripted_gateway import ScriptedGateway
from hermes_chatto.actors.sessions.desk import Equipment, SessionsDesk
from hermes_chatto.actors.sessions.policy import ContextLimits, Policy
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.actors.sessions.services import Limits
from hermes_chatto.store.database import open_database


async def answer(order: TurnOrder) -> str:
    """Answer in three parts, or never."""
    if "slow" in order.text:
        await anyio.sleep_forever()
    return "\n".join(letter * 9_000 for letter in "abc")


async def live(url: str, state_path: Path) -> None:
    """Run the profile, and say when it is live."""
    async with anyio.create_task_group() as tasks:
        gateway = ScriptedGateway(tasks, answer)
        server = ChattoServer(url, Password("hermes", "hermes-pass-1"))
        equipment = Equipment(
            scope="default",
            server_url=url,
            server=server,
            rooms=server.rooms,
            policy=Policy(allowed_user_entries=("alice", "bob")),
            context=ContextLimits(),
            limits=Limits(),
            open_state=lambda: open_database(state_path, now=datetime.now(UTC)).db,
            clock=SystemClock(),
        )
        desk = SessionsDesk(equipment, gateway)
        gateway.serve(desk)
        await desk.start()
        print("live", flush=True)  # noqa: T201 - whoever started it waits for the line
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(live, sys.argv[1], Path(sys.argv[2]))
