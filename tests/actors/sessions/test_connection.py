"""One stream at a time, opened again whatever happens, until no retry can help."""

import logging
from dataclasses import replace

import anyio
import httpx
import pytest

from hermes_chatto.actors.chatto.credential import Password, Token
from hermes_chatto.actors.chatto.limits import Limits as EdgeLimits
from hermes_chatto.actors.sandbox.server.realtime import Timing
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.ports import ConnectionReport
from hermes_chatto.actors.sessions.services import Limits

QUICK = Limits(
    reconnect_first_s=0.05, reconnect_longest_s=0.2, connect_wait_s=2, first_wait_s=0.05
)
READ = "MessageService/BatchGetMessages"
ROOMS = "RoomDirectoryService/ListRooms"
POST = "MessageService/CreateMessage"


def steps(colleague: Colleague) -> list[str]:
    """Return what happened to the connection, with reasons."""
    found = colleague.rows(
        "select event, reason from transitions where machine = 'connection' order by seq"
    )
    return [f"{event} {reason}" if reason else str(event) for event, reason in found]


def state(colleague: Colleague) -> str:
    """Return how the connection is; empty before it has a row."""
    found = colleague.rows("select state from connection")
    return str(found[0][0]) if found else ""


def open_streams(colleague: Colleague) -> int:
    """Return how many streams of the agent the server serves."""
    return len(colleague.sandbox.world.feed.of_user(colleague.ids["hermes"]))


async def until_live_again(colleague: Colleague, times: int) -> None:
    """Wait until the connection has become live so often."""
    await colleague.until(lambda: steps(colleague).count("go_live") == times)


async def until_told(colleague: Colleague, *expected: ConnectionReport) -> None:
    """Wait until these are the newest reports to the gateway; the row is written before them."""
    count = len(expected)
    await colleague.until(
        lambda: [what for what, _ in colleague.gateway.reports][-count:] == [*expected]
    )


async def still_answers(colleague: Colleague) -> None:
    """Ask a question and wait for its answer."""
    m1 = await colleague.says("alice", "@hermes still there?")
    await colleague.until_state(m1, "answered")


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged for the operator to act on."""
    return [line.getMessage() for line in caplog.records if line.levelno >= logging.ERROR]


# --- drops ----------------------------------------------------------------------------------


async def test_a_first_start_is_told_in_steps(open_colleague: Open) -> None:
    """What the row says, and what the gateway is told."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        assert steps(colleague) == ["start", "identify", "subscribe", "go_live"]
        assert [what for what, _ in colleague.gateway.reports] == [ConnectionReport.LIVE]
        account = colleague.rows("select account_id, attempt, reason from connection")
        assert account == [(colleague.ids["hermes"], 0, None)]
        await colleague.stops()
        assert steps(colleague)[-1] == "stop stopped"
        assert state(colleague) == "stopped"


async def test_a_server_that_is_started_again_is_found_again(open_colleague: Open) -> None:
    """A server that stops in order says so; the thread stands where it stood."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        thread = colleague.rows("select state, frontier_id from threads")
        await colleague.restarts_server()
        await until_live_again(colleague, 2)

        assert steps(colleague)[4:] == [
            "lose stream_closed",
            "retry",
            "identify",
            "subscribe",
            "go_live",
        ]
        expected = [ConnectionReport.LIVE, ConnectionReport.LOST, ConnectionReport.LIVE]
        await colleague.until(lambda: [what for what, _ in colleague.gateway.reports] == expected)
        assert open_streams(colleague) == 1
        assert colleague.rows("select state, frontier_id from threads") == thread
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "answered")


async def test_a_stream_that_breaks_without_a_word_is_opened_again(open_colleague: Open) -> None:
    """However often; there is never more than one."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        for times in (2, 3, 4):
            colleague.cuts_stream()
            await until_live_again(colleague, times)
            assert open_streams(colleague) == 1
        await still_answers(colleague)

        assert steps(colleague).count("lose closed_1006") == 3
        assert colleague.rows("select gap, attempt from connection") == [(4, 3)]


async def test_a_drop_in_the_middle_of_a_turn_costs_nothing(open_colleague: Open) -> None:
    """The answer goes out while the stream is opened again."""
    started, go_on = anyio.Event(), anyio.Event()

    async def slow(order: object) -> str:
        del order
        started.set()
        await go_on.wait()
        return "here it is"

    async with open_colleague(script=Script(agent=slow, limits=QUICK)) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await started.wait()
        colleague.cuts_stream()
        await colleague.until(lambda: "lose closed_1006" in steps(colleague))
        go_on.set()
        await colleague.until_state(m1, "answered")

        assert [answer.body for answer in colleague.answers()] == ["here it is"]


async def test_a_server_that_says_nothing_any_more_is_left(open_colleague: Open) -> None:
    """Without heartbeats nobody knows whether the stream still delivers."""
    edge = EdgeLimits(missed_heartbeats=1)
    script = Script(limits=QUICK, edge=edge)
    timing = Timing(heartbeat_s=0.5)  # the hello says one second, the least it can say
    async with open_colleague(script=script, timing=timing) as colleague:
        colleague.faults.withheld = {"heartbeat"}
        await colleague.until(lambda: "lose silent" in steps(colleague))
        colleague.faults.withheld.clear()
        await until_live_again(colleague, 2)
        await still_answers(colleague)

        # Half a second of load is silence, too: by now it may be open once more.
        await colleague.until(lambda: open_streams(colleague) == 1)


async def test_a_stable_stream_lets_the_next_loss_wait_briefly(open_colleague: Open) -> None:
    """Losses are counted in a row, not for ever."""
    limits = replace(QUICK, steady_after_s=0.1)
    async with open_colleague(script=Script(limits=limits)) as colleague:
        colleague.cuts_stream()
        await until_live_again(colleague, 2)
        assert colleague.rows("select attempt from connection") == [(1,)]
        await colleague.until(lambda: steps(colleague)[-1] == "settle")

        assert colleague.rows("select attempt from connection") == [(0,)]


async def test_no_wait_is_longer_than_the_longest(open_colleague: Open) -> None:
    """Neither after many losses nor when the server asks for it."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        await colleague.restarts_server()  # it asks for a second, five times the longest
        await until_live_again(colleague, 2)
        for times in range(3, 8):
            colleague.cuts_stream()
            await until_live_again(colleague, times)

        waits = [
            text.rpartition(" in ")[2]
            for what, text in colleague.gateway.reports
            if what is ConnectionReport.LOST
        ]
        assert waits == ["0 s"] * 6


async def test_a_stream_that_cannot_read_the_rooms_is_opened_again(open_colleague: Open) -> None:
    """Live means that the rooms are known."""
    async with open_colleague(script=Script(limits=QUICK), is_started=False) as colleague:
        colleague.faults.refused[ROOMS] = Code.UNAVAILABLE
        await colleague.starts()
        assert steps(colleague)[:3] == ["start", "identify", "lose unreachable"]
        colleague.faults.refused.clear()
        await until_live_again(colleague, 1)

        assert open_streams(colleague) == 1


# --- starts ---------------------------------------------------------------------------------


async def test_a_server_that_is_down_at_the_start_is_waited_for(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Backing off, with one warning that names the setting, then live."""
    async with open_colleague(script=Script(limits=QUICK), is_started=False) as colleague:
        await colleague.sandbox.__aexit__(None, None, None)
        await colleague.starts()
        await colleague.until(lambda: steps(colleague).count("lose unreachable") >= 2)
        assert colleague.gateway.reports[0][0] is ConnectionReport.LOST
        await colleague.sandbox.__aenter__()
        await until_live_again(colleague, 1)
        await still_answers(colleague)

        warnings = [
            line.getMessage()
            for line in caplog.records
            if line.levelno == logging.WARNING and line.name.endswith("connection")
        ]
        assert len(warnings) == 1
        assert "CHATTO_URL" in warnings[0]
        assert colleague.url in warnings[0]


async def test_a_wrong_password_is_refused_once_with_one_line(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither a loop of logins nor a traceback: the setting and the remedy."""
    script = Script(limits=QUICK, credential=Password("hermes", "wrong-pass-1"))
    async with open_colleague(script=script) as colleague:
        assert steps(colleague) == ["start", "refuse CredentialRefusedError"]
        ((what, text),) = colleague.gateway.reports
        assert what is ConnectionReport.REFUSED
        assert "CHATTO_PASSWORD" in text
        assert errors(caplog) == [f"the connection to the Chatto server is given up: {text}"]
        await colleague.stops()

        assert state(colleague) == "refused"
        assert "wrong-pass-1" not in caplog.text


async def test_a_refused_connection_is_tried_again_by_a_new_start(open_colleague: Open) -> None:
    """With another password it comes up."""
    wrong = Script(limits=QUICK, credential=Password("hermes", "wrong-pass-1"))
    async with open_colleague(script=wrong) as colleague:
        await colleague.stops()
        await colleague.starts(Script(limits=QUICK))

        assert state(colleague) == "live"
        assert colleague.rows("select reason from connection") == [(None,)]
        await still_answers(colleague)


async def test_an_account_in_no_room_is_live_with_a_warning(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever forgot to invite the agent reads why it is silent."""
    async with open_colleague(rooms=(), is_started=False) as colleague:
        world = colleague.sandbox.world
        hermes = world.accounts.require(colleague.ids["hermes"])
        for room in list(world.rooms.all()):
            if room.is_universal:
                room.is_universal = False
        await colleague.starts()

        assert not [
            room for room in world.rooms.all() if world.permissions.is_member(hermes, room)
        ]
        assert state(colleague) == "live"
        assert "is in no room" in caplog.text
        d1 = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "hi", room=d1)
        await colleague.until_state(m1, "answered")


# --- credentials ----------------------------------------------------------------------------


async def test_a_logout_elsewhere_costs_one_reconnect(open_colleague: Open) -> None:
    """The stream ends; with a password there is another token."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        token = await colleague.token_of("hermes")
        async with httpx.AsyncClient(base_url=colleague.url) as http:
            await http.post("/auth/logout", headers={"authorization": f"Bearer {token}"})
        await until_live_again(colleague, 2)

        assert "lose session_terminated:logout" in steps(colleague)
        await still_answers(colleague)


async def change_password(colleague: Colleague) -> None:
    """Give the account another password, which ends its sessions."""
    world = colleague.sandbox.world
    account = world.accounts.require(colleague.ids["hermes"])
    account.password = "another-pass-1"  # noqa: S105 - of a server that lives for one test
    world.credentials.revoke_all(account)
    world.feed.terminate(account.id, "password_changed")
    await anyio.lowlevel.checkpoint()


async def test_a_changed_password_ends_in_refused(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """One login is tried, then the operator is told."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        await change_password(colleague)
        await until_told(colleague, ConnectionReport.REFUSED)

        assert steps(colleague)[4:] == [
            "lose session_terminated:password_changed",
            "retry",
            "refuse CredentialRefusedError",
        ]
        assert state(colleague) == "refused"
        assert len(errors(caplog)) == 1
        await colleague.until(lambda: open_streams(colleague) == 0)


async def test_a_revoked_token_is_noticed_at_the_next_call(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream goes on delivering: the call that fails says it (handed S34)."""
    async with open_colleague(script=Script(limits=QUICK), is_started=False) as colleague:
        token = await colleague.token_of("hermes")
        await colleague.starts(Script(limits=QUICK, credential=Token(token)))
        assert state(colleague) == "live"
        async with httpx.AsyncClient(base_url=colleague.url) as http:
            await http.post("/auth/revoke-token", json={"token": token})
        await colleague.says("alice", "@hermes anybody?")
        await until_told(colleague, ConnectionReport.REFUSED)

        ((_, _), (what, text)) = colleague.gateway.reports
        assert what is ConnectionReport.REFUSED
        assert "CHATTO_TOKEN" in text
        assert len(errors(caplog)) == 1
        assert token not in caplog.text
        assert not [line for line in caplog.records if line.exc_info]
        await colleague.until(lambda: open_streams(colleague) == 0)


async def test_a_token_that_dies_under_an_answer_refuses_the_answer(open_colleague: Open) -> None:
    """Nothing was posted, and the turn says why."""
    started, go_on = anyio.Event(), anyio.Event()

    async def slow(order: object) -> str:
        del order
        started.set()
        await go_on.wait()
        return "too late"

    async with open_colleague(is_started=False) as colleague:
        token = await colleague.token_of("hermes")
        script = Script(agent=slow, limits=QUICK, credential=Token(token))
        await colleague.starts(script)
        m1 = await colleague.says("alice", "@hermes slow")
        await started.wait()
        colleague.sandbox.world.credentials.revoke(token)
        go_on.set()
        await colleague.until_state(m1, "failed")

        assert colleague.rows("select reason from turns") == [("not_connected",)]
        await until_told(colleague, ConnectionReport.REFUSED)


async def test_a_revoked_token_of_a_password_is_replaced(open_colleague: Open) -> None:
    """A login is all it takes; nobody notices."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        world = colleague.sandbox.world
        world.credentials.revoke_all(world.accounts.require(colleague.ids["hermes"]))
        await still_answers(colleague)

        assert state(colleague) == "live"
