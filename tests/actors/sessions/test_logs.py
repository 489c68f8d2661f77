"""Logs and rows tell what happened, never what was said, and no secret."""

import logging
from collections.abc import Iterator

import anyio
import pytest

from hermes_chatto.actors.chatto.credential import Password, Token
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.actors.sessions.services import Limits

QUESTION, ANSWER, NOISE, COMMAND = "canaryquestion", "canaryanswer", "canarynoise", "canaryword"
PASSWORD = "hermes-pass-1"  # noqa: S105 - of a server that lives for one test
QUICK = Limits(reconnect_first_s=0.05, reconnect_longest_s=0.1, first_wait_s=0.01)


@pytest.fixture(autouse=True)
def _everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Listen to all of it, libraries included."""
    caplog.set_level(logging.DEBUG)


async def moody(order: TurnOrder) -> str:
    """Answer with a canary, or fail."""
    if "fail" in order.text:
        message = "the agent fell over"
        raise ValueError(message)
    return f"{ANSWER} " * 2_000


async def everything_that_can_happen(colleague: Colleague) -> None:
    """Let messages come and go in as many ways as there are log lines."""
    colleague.posts("alice", f"{NOISE} not for the agent")
    colleague.posts("carol", f"@hermes {NOISE} by a stranger")
    m1 = colleague.posts("alice", f"@hermes {QUESTION}")
    await colleague.until_state(m1, "answered")
    colleague.posts("alice", f"@hermes /think {COMMAND}", thread=m1)
    await colleague.until(lambda: len(colleague.gateway.commands) == 1)
    m2 = colleague.posts("alice", f"@hermes fail {QUESTION}", thread=m1)
    await colleague.until_state(m2, "failed")
    for refusals in (colleague.faults.before, colleague.faults.after):
        refusals.append(Code.INTERNAL)
    m3 = colleague.posts("bob", f"@hermes {QUESTION}", room="R2")
    await colleague.until_state(m3, "answered")
    colleague.faults.before.append(Code.PERMISSION_DENIED)
    m4 = colleague.posts("bob", f"@hermes {QUESTION}", room="R2")
    await colleague.until_state(m4, "failed")
    await colleague.restarts_server()
    await colleague.until(
        lambda: len(colleague.rows("select 1 from transitions where event = 'go_live'")) == 2
    )


def logged(caplog: pytest.LogCaptureFixture) -> Iterator[str]:
    """Return every line as a file would have it, tracebacks included."""
    formatter = logging.Formatter("%(name)s %(message)s")
    return (formatter.format(line) for line in caplog.records)


def bare(colleague: Colleague) -> str:
    """Return everything that stands in the state file."""
    tables = colleague.rows("select name from sqlite_master where type = 'table'")
    return "".join(
        repr(colleague.rows(f"select * from {table}"))  # noqa: S608 - names from the file itself
        for (table,) in tables
        if not str(table).startswith("sqlite_")
    )


async def test_no_line_repeats_what_was_said(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever reads logs reads no conversations."""
    async with open_colleague(script=Script(agent=moody, limits=QUICK)) as colleague:
        await everything_that_can_happen(colleague)

    words = (QUESTION, ANSWER, NOISE, COMMAND)
    lines = list(logged(caplog))
    assert len([line for line in lines if line.startswith("hermes_chatto.")]) > 50
    assert not [line for line in lines if any(word in line for word in words)]


async def test_no_line_and_no_row_holds_a_secret(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the password nor the token, of no library and at no level."""
    async with open_colleague(is_started=False) as colleague:
        token = await colleague.token_of("hermes")
        for credential in (Password("hermes", PASSWORD), Token(token)):
            await colleague.starts(Script(agent=moody, limits=QUICK, credential=credential))
            m1 = colleague.posts("alice", f"@hermes {QUESTION}")
            await colleague.until_state(m1, "answered")
            colleague.cuts_stream()
            await anyio.wait_all_tasks_blocked()
            await colleague.stops()
        rows = bare(colleague)

    secrets = (PASSWORD, token, "cht_AT")
    assert not [line for line in logged(caplog) if any(secret in line for secret in secrets)]
    assert not [secret for secret in secrets if secret in rows]


async def test_the_state_file_forgets_words_that_nothing_needs(open_colleague: Open) -> None:
    """What was answered, was a command or was not meant leaves no words behind."""
    async with open_colleague(script=Script(agent=moody, limits=QUICK)) as colleague:
        colleague.posts("alice", f"{NOISE} not for the agent")
        m1 = colleague.posts("alice", f"@hermes {QUESTION}")
        await colleague.until_state(m1, "answered")
        c1 = colleague.posts("alice", f"@hermes /think {COMMAND}", thread=m1)
        await colleague.until_state(c1, "bypassed")
        await colleague.until(lambda: len(colleague.answers()) == 4)
        await colleague.stops()
        rows = bare(colleague)

    assert not [word for word in (QUESTION, ANSWER, NOISE, COMMAND) if word in rows]
