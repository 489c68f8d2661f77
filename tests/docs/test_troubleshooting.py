"""The lines README helps with are those the plugin really says."""

import errno
import logging
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path

import anyio
import pytest
from sqlite_utils import Database

from hermes_chatto.actors.bootstrap import open_state
from hermes_chatto.actors.chatto.address import parse_address
from hermes_chatto.actors.chatto.channel import foreign_protocol
from hermes_chatto.actors.chatto.client import ChattoServer
from hermes_chatto.actors.chatto.credential import Password, Token
from hermes_chatto.actors.hermes.known_toolsets import unknown_toolsets
from hermes_chatto.actors.hermes.listed_people import nobody_listed
from hermes_chatto.actors.hermes.room_lists import read_toolsets
from hermes_chatto.actors.hermes.settings import (
    Settings,
    SettingsError,
    missing_credential,
    resolve,
)
from hermes_chatto.actors.hermes.values import Secret
from hermes_chatto.actors.runtime.clock import ManualClock
from hermes_chatto.actors.runtime.outage import Outage
from hermes_chatto.actors.runtime.store_errors import explain
from hermes_chatto.actors.runtime.store_thread import StoreThread
from hermes_chatto.actors.sandbox.scripted_source import ScriptedSource
from hermes_chatto.actors.sandbox.server.inbox import Level
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Script, colleague
from hermes_chatto.actors.sessions.errors import (
    ChatError,
    NotChattoError,
    SettingsConflictError,
)
from hermes_chatto.actors.sessions.policy import Policy
from hermes_chatto.actors.sessions.ports import Outgoing
from hermes_chatto.actors.sessions.services import Limits
from hermes_chatto.actors.sessions.stream_events import MessageRetracted
from hermes_chatto.store.custody import Custodian
from hermes_chatto.store.database import FileLockedError, StoreError, open_database
from hermes_chatto.store.folder_lock import FolderLock, FolderTakenError, hold_folder
from hermes_chatto.store.state_errors import OverwrittenFileError, not_writable
from hermes_chatto.tests.docs.documents import text_of
from hermes_chatto.tests.store.samples import step, tell

NOW = datetime(2026, 1, 1, tzinfo=UTC)
URL = "https://chat.example.org"
POST = "MessageService/CreateMessage"
BY_THE_GATEWAY = frozenset(
    {
        "Platform 'Chatto' requirements not met",
        "the Chatto account … already in use …",  # tests/actors/hermes/test_account_lock.py
        "the account is not locked …",  # likewise
    }
)
"""Said by the gateway, or only with it."""


def patterns() -> list[str]:
    """Return the lines of README's table; `…` stands for anything."""
    _, _, rest = text_of("README.md").partition("\n## Troubleshooting\n")
    table, _, _ = rest.partition("\n## ")
    cells = re.findall(r"^\| (.*?) \|", table, re.MULTILINE)
    return [line for cell in cells for line in re.findall(r"`([^`]+)`", cell)]


def fits(pattern: str, line: str) -> bool:
    """Tell whether a line is the one a pattern is about."""
    pieces = [re.escape(piece.strip()) for piece in pattern.split("…")]
    return re.fullmatch(r".*".join(pieces) + ".*", line) is not None


def no_variable(name: str) -> None:
    """Be an environment without anything."""
    del name


def of_settings() -> Iterator[str]:
    """Say what is wrong with settings."""
    bare = Settings(url=URL)
    for settings in (
        Settings(),
        bare,
        Settings(url=URL, login="hermes"),
        Settings(url=URL, password=Secret("p")),
    ):
        yield missing_credential(settings) or ""
    misspelt = {"rooms": {"ops": {"folow_ups": "off"}}, "edit_windw": 5}
    yield from resolve(no_variable, {"read_timeout": "5m", **misspelt}).warnings
    for key, raw in (
        ("allowed_users", {"alice": True}),
        ("rooms", ["ops"]),
        ("room_toolsets", "ops web"),
    ):
        with pytest.raises(SettingsError) as malformed:
            resolve(no_variable, {key: raw})
        yield str(malformed.value)
    both = {"free_response_channels": "a", "rooms": {"a": {"require_mention": True}}}
    with pytest.raises(SettingsError) as contrary:
        resolve(no_variable, both)
    yield str(contrary.value)
    yield str(SettingsConflictError("rooms.a", "rooms.b"))
    yield nobody_listed(resolve(no_variable, {}).settings) or ""
    yield from unknown_toolsets(read_toolsets("CHATTO_ROOM_TOOLSETS", "ops=webb"))
    for address in ("chat.example.org", "https://"):
        with pytest.raises(NotChattoError) as unusable:
            parse_address(address)
        yield str(unusable.value)


def of_state(folder: Path, caplog: pytest.LogCaptureFixture) -> Iterator[str]:
    """Say what is wrong with a state file."""
    newer, foreign, damaged = (folder / f"{name}.db" for name in ("newer", "foreign", "damaged"))
    opened = open_database(newer, now=NOW)
    opened.db.execute("update _sqlite_migrations set name = 'm999' where name like 'm002%'")
    opened.db.conn.close()
    with sqlite3.connect(foreign) as connection:
        connection.execute("create table recipes (name text)")
    for path in (newer, foreign, folder / ("x" * 300) / "state.db"):
        with pytest.raises(StoreError) as error:
            open_database(path, now=NOW)
        yield str(error.value)
    open_database(damaged, now=NOW).db.conn.close()
    with sqlite3.connect(damaged) as connection:
        connection.execute("begin exclusive")
        with pytest.raises(StoreError) as locked:
            open_database(damaged, now=NOW, busy_timeout_s=0)
    connection.close()
    yield str(locked.value)
    with hold_folder(folder), pytest.raises(FolderTakenError) as taken:
        FolderLock(folder).acquire()
    yield str(taken.value)
    damaged.write_bytes(b"no database at all" * 100)
    with caplog.at_level(logging.WARNING):
        open_state(damaged).conn.close()
    yield caplog.messages[-1]


def of_stress(folder: Path, caplog: pytest.LogCaptureFixture) -> Iterator[str]:
    """Say what happens to a state file while it is in use."""
    path = folder / "stress" / "state.db"
    yield str(not_writable(path, OSError(errno.ENOSPC, "No space left on device")))
    outage = Outage(ManualClock())
    keeper = Custodian(lambda: open_database(path, now=NOW).db, lambda: NOW)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        outage.waits_for_lock(str(path), sqlite3.OperationalError("database is locked"))
        outage.notice(explain(full_disk(), str(path)))
        outage.end(str(path))
        keeper.open()
        path.unlink()
        keeper.look()
        path.rename(path.with_name("elsewhere.db"))
        open_database(path, now=NOW).db.close()
        keeper.look()
        older = path.read_bytes()
        tell(keeper.look(), step("turn: receive ->received"))
        keeper.leave()
        path.write_bytes(older)
        with pytest.raises(OverwrittenFileError) as overwritten:
            keeper.look()
        keeper.mend(sqlite3.DatabaseError("database disk image is malformed"))
        keeper.close()
    yield str(overwritten.value)
    yield from caplog.messages


def full_disk() -> sqlite3.Error:
    """Return what SQLite says when there is no room."""
    with closing(sqlite3.connect(":memory:")) as small:
        small.execute("pragma max_page_count = 1")
        with pytest.raises(sqlite3.OperationalError) as full:
            small.execute("create table a (b)")
    return full.value


async def of_start(caplog: pytest.LogCaptureFixture) -> AsyncIterator[str]:
    """Say that a start waits."""
    refusals = [FileLockedError("state.db is locked by another process")]

    def open_memory() -> Database:
        if refusals:
            raise refusals.pop()
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        return Database(connection, execute_plugins=False)

    caplog.clear()
    async with anyio.create_task_group() as tasks:
        store = StoreThread(open_memory, opening_patience_s=1.0, waits=lambda: repeat(0.0))
        with caplog.at_level(logging.WARNING):
            await tasks.start(store.serve)
        await store.close()
    for line in caplog.messages:
        yield line


async def of_server(folder: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[str]:
    """Say what is wrong with a server, or with what we know of it."""
    policy = Policy(
        allowed_user_entries=("alice", "bob", "carol", "nobody"), allowed_rooms=("nowhere",)
    )
    with caplog.at_level(logging.WARNING):
        async with colleague(folder, policy=policy, rooms=(), is_started=False) as profile:
            url = profile.url
            for room in profile.sandbox.world.rooms.all():
                room.is_universal = False
            await profile.starts()
            profile.cuts_stream()
            await profile.until(lambda: any("next attempt" in line for line in caplog.messages))
            await profile.stops()
            accounts = profile.sandbox.world.accounts
            accounts.rename(accounts.require(profile.ids["bob"]), "robert")
            accounts.forget(accounts.require(profile.ids["carol"]))
            await profile.starts()
            for server in (
                ChattoServer(url, Password("hermes", "wrong")),
                ChattoServer(url, Token("wrong")),
                ChattoServer(f"{url}/elsewhere", Password("hermes", "hermes-pass-1")),
            ):
                yield await error_of(server)
    for line in caplog.messages:
        yield line
    yield await error_of(ChattoServer(url, Password("hermes", "hermes-pass-1")))
    yield str(foreign_protocol("version 2"))


async def of_absences(folder: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[str]:
    """Say what cannot be known, or cannot be answered, of what was said meanwhile."""
    caplog.clear()
    limits = Limits(first_wait_s=0.02, outage_wait_s=0.05, reconnect_first_s=0.02)
    source = ScriptedSource(accepts=lambda _: False)
    script = Script(limits=limits, source=source)
    with caplog.at_level(logging.WARNING):
        async with colleague(folder, script=script, is_started=False) as profile:
            inbox, agent_id = profile.sandbox.world.inbox, profile.ids["hermes"]
            inbox.set_level(agent_id, None, Level.MUTED)
            inbox.set_level(agent_id, profile.sandbox.room("R2"), Level.MUTED)
            inbox.set_level(agent_id, profile.sandbox.room("R1"), Level.NORMAL)
            await profile.starts()
            source.plays(MessageRetracted(profile.rooms["R1"], "M0"), "c1")
            await profile.until(lambda: any("is muted" in line for line in caplog.messages))
            kept = "select resume_cursor from position"
            await profile.until(lambda: profile.rows(kept) == [("c1",)])
            await profile.stops()
            await profile.starts()  # the source refuses its cursor
            await profile.stops()
            profile.posts("alice", "@hermes hm?")
            profile.faults.refused["MessageService/BatchGetMessages"] = Code.UNAVAILABLE
            await profile.starts()
            await profile.stops()
            profile.faults.refused["NotificationService/ListNotifications"] = Code.NOT_FOUND
            profile.write("update position set account_id = 'other'")
            await profile.starts()
            await profile.stops()
            profile.faults.refused.clear()
            profile.write("update position set at = '2026-01-01T00:00:00.000Z'")
            profile.write("update position set account_id = ?", agent_id)
            await profile.starts()
    for line in caplog.messages:
        yield line


async def of_posts(folder: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[str]:
    """Say what may go wrong with an answer."""
    limits = Limits(first_wait_s=0.01, busy_wait_s=0.02, look_after_s=0.01)
    with caplog.at_level(logging.WARNING):
        async with colleague(folder, limits=limits) as profile:
            profile.faults.before = [Code.PERMISSION_DENIED, Code.INTERNAL]
            profile.faults.refused["UserService/GetUser"] = Code.UNAVAILABLE
            for _ in range(2):
                await profile.desk.deliver(
                    Outgoing(profile.rooms["R1"], None, "@carol", is_final=True)
                )
            profile.faults.refused[POST] = Code.RESOURCE_EXHAUSTED
            await profile.desk.deliver(Outgoing(profile.rooms["R1"], None, "hi", is_final=True))
    for line in caplog.messages:
        yield line


async def error_of(server: ChattoServer) -> str:
    """Return why a server gives no account."""
    with pytest.raises(ChatError) as error:
        await server.identify()
    return str(error.value)


async def test_readme_knows_what_the_plugin_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each line has its remedy there, and each line there is really said."""
    said = [*of_settings(), *of_state(tmp_path, caplog), *of_stress(tmp_path, caplog)]
    said += [line async for line in of_start(caplog)]
    caplog.clear()
    said += [line async for line in of_server(tmp_path, caplog)]
    caplog.clear()
    said += [line async for line in of_posts(tmp_path / "posts", caplog)]
    caplog.clear()
    said += [line async for line in of_absences(tmp_path / "absences", caplog)]
    known = patterns()

    unexplained = [line for line in said if not any(fits(pattern, line) for pattern in known)]
    unheard = [
        pattern
        for pattern in known
        if pattern not in BY_THE_GATEWAY and not any(fits(pattern, line) for line in said)
    ]

    assert unexplained == []
    assert unheard == []
