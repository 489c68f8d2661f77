"""A second profile on the same server: another account, another state file, the same process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from ..chatto.credential import Password
from .stage import Colleague, Script

__all__ = ["second_profile"]


@asynccontextmanager
async def second_profile(
    first: Colleague, folder: Path, script: Script, *, is_started: bool = True
) -> AsyncIterator[Colleague]:
    """Give the agent of a second profile an account, let it into all rooms, and start it.

    Args:
        first: the profile that is there.
        folder: the second one's state file is made there.
        script: names its account, the password being that of every account here, and its scope.
        is_started: whether it runs from the start.
    """
    account = first.sandbox.add_account(script.login)
    for name in first.rooms:
        first.sandbox.add_members(first.sandbox.room(name), account)
    second = Colleague(
        sandbox=first.sandbox,
        url=first.url,
        state_path=folder / "chatto" / "state.db",
        script=replace(script, credential=Password(script.login, f"{script.login}-pass-1")),
        faults=first.faults,
        clock=first.clock,
        tasks=first.tasks,
        ids={**first.ids, script.login: account.id},
        rooms=first.rooms,
    )
    try:
        if is_started:
            await second.starts()
        yield second
    finally:
        await second.stops()
