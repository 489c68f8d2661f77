"""One small day of a profile, whose state file the documents' claims are held against."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import colleague


@dataclass(frozen=True)
class Day:
    """What is left of it."""

    state: Path
    message_id: str
    """A question that was answered; it roots a thread."""
    failed_id: str
    """A question whose answer the server refused."""

    def texts(self) -> set[tuple[str, str]]:
        """Return every text of the file, each with its table and column."""
        connection = sqlite3.connect(f"file:{self.state}?mode=ro", uri=True)
        try:
            tables = connection.execute("select name from sqlite_master where type = 'table'")
            found: set[tuple[str, str]] = set()
            for (table,) in tables.fetchall():
                rows = connection.execute(f"select * from {table}")  # noqa: S608 - its own names
                columns = [column[0] for column in rows.description]
                found |= {
                    (f"{table}.{column}", value)
                    for row in rows
                    for column, value in zip(columns, row, strict=True)
                    if isinstance(value, str)
                }
            return found
        finally:
            connection.close()


@pytest.fixture(scope="module")
async def day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    """Play it: a thread, a remark in it, a command, a stranger, small talk, a failure."""
    async with colleague(tmp_path_factory.mktemp("day")) as profile:
        m1 = await profile.says("alice", "@hermes tulip: which build is red?")
        await profile.until_state(m1, "answered")
        await profile.says("bob", "rose: the linux one", thread=m1)
        m2 = await profile.says("alice", "@hermes lily: is he right?", thread=m1)
        await profile.until_state(m2, "answered")
        await profile.says("alice", "@hermes /status aster", thread=m1)
        await profile.until(lambda: len(profile.answers()) == 3)
        await profile.says("carol", "@hermes violet, please")
        await profile.says("alice", "daisy: lunch at noon?")
        profile.faults.before = [Code.PERMISSION_DENIED]
        failed = await profile.says("bob", "@hermes orchid: anything else?")
        await profile.until_state(failed, "failed")
        state = profile.state_path
    return Day(state, m1, failed)
