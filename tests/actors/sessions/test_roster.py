"""A list of people means accounts: whoever takes a login later inherits nothing."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.runtime.store_errors import StoreUnavailableError
from hermes_chatto.actors.runtime.store_thread import StoreThread
from hermes_chatto.actors.sandbox.server.account_calls import tell_profile
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.actors.sessions.directory import Directory
from hermes_chatto.actors.sessions.journal import Journal
from hermes_chatto.actors.sessions.policy import Policy
from hermes_chatto.actors.sessions.roster import RosterReader
from hermes_chatto.store.database import Database, open_database
from hermes_chatto.tests.store.samples import NOW

FIND, NAMES = "UserService/GetUser", "UserService/BatchGetUsers"


def listing(*entries: str) -> Policy:
    """Return a policy with these allowed users."""
    return replace(POLICY, allowed_user_entries=entries)


def renames(colleague: Colleague, login: str, new: str) -> None:
    """Give an account another login, as its owner may."""
    accounts = colleague.sandbox.world.accounts
    account = accounts.require(colleague.ids[login])
    accounts.rename(account, new)
    tell_profile(colleague.sandbox.world, account, account)


async def decided(colleague: Colleague) -> None:
    """Wait until what was posted before is decided about."""
    last = await colleague.says("bob", "@hermes is that all?")
    await colleague.until_state(last, "answered")


def let_in(colleague: Colleague) -> dict[str, str]:
    """Return what let the author of each message in, as the state file says."""
    rows = colleague.rows("select message_id, let_in_by from admissions")
    return {str(id_): str(by) for id_, by in rows}


async def test_what_let_somebody_in_stands_in_the_row(open_colleague: Open) -> None:
    """The narrowest entry: an ID or a login before everybody."""
    async with open_colleague(is_started=False) as colleague:
        entries = ("@Alice", colleague.ids["bob"], "*")
        await colleague.starts(Script(policy=listing(*entries)))
        ids = [await colleague.says(who, "@hermes hi") for who in ("alice", "bob", "carol")]
        for id_ in ids:
            await colleague.until_state(id_, "answered")

        expected = ["login:alice", f"id:{colleague.ids['bob']}", "*"]
        assert let_in(colleague) == dict(zip(ids, expected, strict=True))


async def test_everybody_may_talk_where_all_may(open_colleague: Open) -> None:
    """The setting is named, not the person."""
    async with open_colleague(policy=replace(POLICY, allow_all=True)) as colleague:
        id_ = await colleague.says("carol", "@hermes hi")
        await colleague.until_state(id_, "answered")

        assert let_in(colleague) == {id_: "allow_all_users"}


async def test_whom_the_gateway_lets_in_by_itself_is_let_in_by_it(open_colleague: Open) -> None:
    """Pairing, its own lists, roles: which of them, it does not say."""
    async with open_colleague() as colleague:
        colleague.gateway.allow([colleague.ids["carol"]])
        id_ = await colleague.says("carol", "@hermes hi")
        await colleague.until_state(id_, "answered")

        assert let_in(colleague) == {id_: "gateway"}


async def test_a_login_that_is_taken_again_lets_nobody_in(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Alice stays who she is under another name; carol gains nothing by taking hers."""
    async with open_colleague() as colleague:
        await decided(colleague)
        await colleague.stops()
        renames(colleague, "alice", "alicia")
        renames(colleague, "carol", "alice")
        await colleague.starts()
        hers = await colleague.says("alice", "@hermes it is me")
        await colleague.until_state(hers, "answered")
        taken = await colleague.says("carol", "@hermes it is me, alice")
        await decided(colleague)

        assert colleague.state_of(taken) is None
        assert let_in(colleague)[hers] == "login:alice"
    assert "the account that 'alice' means is called 'alicia' now" in caplog.text


async def test_a_login_of_an_account_that_is_gone_lets_nobody_in(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Deleted, and its login taken by somebody else: named at the start, in one line."""
    async with open_colleague() as colleague:
        await decided(colleague)
        await colleague.stops()
        accounts = colleague.sandbox.world.accounts
        accounts.forget(accounts.require(colleague.ids["alice"]))
        renames(colleague, "carol", "alice")
        await colleague.starts()
        taken = await colleague.says("carol", "@hermes it is me, alice")
        await decided(colleague)

        assert colleague.state_of(taken) is None
    assert caplog.text.count("the account that 'alice' means is gone") == 1


async def test_taken_off_the_list_and_put_back_a_login_means_who_has_it_then(
    open_colleague: Open,
) -> None:
    """That is how an operator says that another account is meant."""
    async with open_colleague() as colleague:
        await colleague.stops()
        renames(colleague, "alice", "alicia")
        renames(colleague, "carol", "alice")
        await colleague.starts(Script(policy=listing("bob")))
        await colleague.stops()
        assert colleague.rows("select login from pins") == [("bob",)]
        await colleague.starts(Script(policy=POLICY))
        now = await colleague.says("carol", "@hermes it is me")
        await colleague.until_state(now, "answered")
        before = await colleague.says("alice", "@hermes it is me")
        await decided(colleague)

        assert colleague.state_of(before) is None


async def test_who_is_nobody_is_named_once_per_start(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever list it is on, login or ID; a lost connection repeats nothing."""
    policy = replace(
        listing("bob", "nobody", "U0000000000none"), bot_entries=("@NoBot",), signs=POLICY.signs
    )
    async with open_colleague(policy=policy) as colleague:
        colleague.cuts_stream()
        live = "select 1 from transitions where event = 'go_live'"
        await colleague.until(lambda: len(colleague.rows(live)) == 2)

    lines = [line for line in caplog.messages if "nobody on the server" in line]
    assert {line.partition(";")[0] for line in lines} == {
        "CHATTO_ALLOWED_USERS: nobody on the server has the ID 'U0000000000none'",
        "CHATTO_ALLOWED_USERS: nobody on the server has the login 'nobody'",
        "CHATTO_BOT_USERS: nobody on the server has the login 'nobot'",
    }
    assert len(lines) == 3


async def test_a_pinned_login_is_not_looked_up_again(open_colleague: Open) -> None:
    """A start costs one call for all that are pinned, and one for each that is new."""
    async with open_colleague() as colleague:
        await colleague.stops()
        looked_up, read = colleague.sandbox.calls[FIND], colleague.sandbox.calls[NAMES]
        await colleague.starts(Script(policy=listing("alice", "bob", "carol")))

        assert colleague.sandbox.calls[FIND] == looked_up + 1
        assert colleague.sandbox.calls[NAMES] == read + 1


async def test_a_display_name_like_an_allowed_login_is_a_name(open_colleague: Open) -> None:
    """Names are free text; so is a login that only looks like another one."""
    async with open_colleague() as colleague:
        colleague.renames("carol", "alice")
        lookalikes = [
            colleague.sandbox.add_account(login)
            for login in ("alice-", "alice_", "a1ice", "alice.b")
        ]
        room = colleague.sandbox.room("R1")
        posted = [colleague.posts("carol", "@hermes run it")]
        for account in lookalikes:
            colleague.ids = {**colleague.ids, account.login: account.id}
            colleague.sandbox.add_members(room, account)
            account.display_name = "alice"
            posted.append(colleague.posts(account.login, "@hermes run it"))
        await decided(colleague)

        assert [colleague.state_of(id_) for id_ in posted] == [None] * 5


class FullStore:
    """A store that can be read and takes nothing more."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def read(self, work: Callable[[Database], object]) -> object:
        """Read."""
        return work(self._db)

    async def run(self, work: Callable[[Database], object], *, may_wait: bool = False) -> object:
        """Refuse."""
        del may_wait
        raise StoreUnavailableError(str(work))


async def test_a_full_disk_keeps_nobody_out(
    open_colleague: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whom a login means is then asked again at the next connection."""
    db = open_database(tmp_path / "full" / "state.db", now=NOW).db
    async with open_colleague(is_started=False) as colleague:
        journal = Journal(cast("StoreThread[Database]", FullStore(db)), "default", SystemClock())
        directory = Directory(colleague.person("hermes"))

        roster = await RosterReader(POLICY, journal, directory).read()

        assert set(roster.allowed) == {colleague.ids["alice"], colleague.ids["bob"]}
    assert "CHATTO_ALLOWED_USERS: whom new logins mean is not kept" in caplog.text
    db.close()


@pytest.fixture(autouse=True)
def _warnings_are_heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
