"""What the table of edits and deletions says is what happens, for every state of a turn."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import pytest

from hermes_chatto.actors.sandbox.server.frames import Event
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import Policy, Revisions, Signs
from hermes_chatto.actors.sessions.ports import HandOver, TurnOrder
from hermes_chatto.actors.sessions.remains import Remains
from hermes_chatto.machines.turn import TurnChart
from hermes_chatto.machines.turn_edits import AFTER_DELETION, AFTER_EDIT, cells

PAUSE_S = 0.3
"""Long enough for something to happen in it."""
POLICY = Policy(
    allowed_user_entries=("alice", "bob"),
    revisions=Revisions(pause_s=PAUSE_S),
    signs=Signs(waiting="hourglass"),
)
POST = "MessageService/CreateMessage"
THREAD = "ThreadService/GetThreadEventsAround"
EDITED = "@hermes changed"


@dataclass
class Agent:
    """Does what the words of a message say."""

    go: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self, order: TurnOrder) -> str | None:
        """Wait, be stubborn, fail, say nothing, or answer."""
        if "stubborn" in order.text:
            with anyio.CancelScope(shield=True):
                await self.go.wait()
        if "slow" in order.text:
            await self.go.wait()
        if "bad" in order.text:
            message = "planned"
            raise ValueError(message)
        return None if "quiet" in order.text else f"ok: {order.text}"


async def asked(colleague: Colleague, words: str, state: str) -> str:
    """Let somebody ask, and wait until the turn stands there."""
    message = await colleague.says("alice", f"@hermes {words}")
    await colleague.until_state(message, state)
    return message


async def received(colleague: Colleague) -> str:
    """Its receipt is written; its lane still reads what the one before is told."""
    first = await asked(colleague, "first", "answered")
    await colleague.says("bob", "pears", thread=first)
    colleague.faults.delays[THREAD] = 0.5
    second = await colleague.says("alice", "@hermes slow second", thread=first)
    await colleague.until_state(second, "received")
    message = await colleague.says("alice", "@hermes third", thread=first)
    await colleague.until_state(message, "received")
    return message


async def retracted(colleague: Colleague) -> str:
    """It was deleted while it waited; what is told of it now comes late, or again."""
    message = await queued(colleague)
    colleague.retracts(message)
    await colleague.until_state(message, "retracted")
    return message


async def expired(colleague: Colleague) -> str:
    """Nothing expires by itself today: an operator's tool wrote it."""
    message = await asked(colleague, "bad", "failed")
    colleague.write(
        "update turns set state = 'expired', reason = 'too_old' where message_id = ?", message
    )
    return message


async def refused(colleague: Colleague) -> str:
    """Its words changed before they were read, and nobody said by whom."""
    message = colleague.posts("alice", "@hermes first")
    colleague.rewrites(message, "@hermes second")
    await colleague.until_state(message, "refused")
    return message


async def held(colleague: Colleague) -> str:
    """A command that came while the gateway was starting."""
    colleague.gateway.shut_gate()
    return await asked(colleague, "/status", "held")


async def queued(colleague: Colleague) -> str:
    """Somebody else's question runs."""
    first = await asked(colleague, "slow", "processing")
    message = await colleague.says("alice", "@hermes first", thread=first)
    await colleague.until_state(message, "queued")
    return message


async def handed(colleague: Colleague) -> str:
    """The gateway took it, and no run began yet."""
    colleague.gateway.planned = [HandOver.TAKEN]
    return await asked(colleague, "first", "handed")


async def folded(colleague: Colleague) -> str:
    """The gateway took it into a run of its own."""
    colleague.gateway.planned = [HandOver.FOLDED]
    return await asked(colleague, "first", "folded")


async def delivering(colleague: Colleague) -> str:
    """The server takes its time to post the answer."""
    colleague.faults.delays[POST] = 0.5
    return await asked(colleague, "first", "delivering")


async def correcting(colleague: Colleague) -> str:
    """Its run was stopped for another edit."""
    message = await asked(colleague, "slow", "processing")
    await colleague.edits("alice", message, "@hermes between")
    await colleague.until_state(message, "correcting")
    return message


async def stopping(colleague: Colleague) -> str:
    """Its run does not look for the command that stops it."""
    message = await asked(colleague, "stubborn", "processing")
    await colleague.says("bob", "@hermes /stop", thread=message)
    await colleague.until_state(message, "stopping")
    return message


async def cancelled(colleague: Colleague) -> str:
    """A command stopped it."""
    message = await asked(colleague, "slow", "processing")
    await colleague.says("bob", "@hermes /stop", thread=message)
    await colleague.until_state(message, "cancelled")
    return message


async def interrupted(colleague: Colleague) -> str:
    """The process died under it, and the gateway is still starting."""
    message = await asked(colleague, "slow", "processing")
    await settled_signs(colleague, message)
    await colleague.dies()
    for session in colleague.sessions.values():
        session.remains = Remains.RESUMES
    await colleague.starts(replace(colleague.script, is_gate_open=False))
    await colleague.until_state(message, "interrupted")
    return message


PLAYED: Mapping[str, Callable[[Colleague], Awaitable[str]]] = {
    "received": received,
    "refused": refused,
    "held": held,
    "queued": queued,
    "handed": handed,
    "processing": lambda colleague: asked(colleague, "slow", "processing"),
    "delivering": delivering,
    "answered": lambda colleague: asked(colleague, "first", "answered"),
    "silent": lambda colleague: asked(colleague, "quiet", "silent"),
    "failed": lambda colleague: asked(colleague, "bad", "failed"),
    "cancelled": cancelled,
    "bypassed": lambda colleague: asked(colleague, "/status", "bypassed"),
    "folded": folded,
    "correcting": correcting,
    "stopping": stopping,
    "interrupted": interrupted,
    "retracted": retracted,
    "expired": expired,
}
STATES = [state for state in TurnChart.states_map if state != "admitted"]
"""All that an edit can meet: what is admitted is queued in the same transaction, so no mail finds
a turn there."""
PASSING = {"received"}
"""States that a turn leaves by itself while an edit of it is on its way."""
OPEN_STATES = [state for state in STATES if state in PLAYED and state in AFTER_DELETION]


def seen(colleague: Colleague, message: str, events: tuple[str, ...]) -> int:
    """Count what the rows say of an event."""
    marks = ", ".join("?" * len(events))
    sql = f"select 1 from transitions where message_id = ? and event in ({marks})"  # noqa: S608
    return len(colleague.rows(sql, message, *events))


async def is_noted(colleague: Colleague, message: str, *events: str) -> Callable[[], bool]:
    """Return what tells whether one of these events came from now on."""
    before = seen(colleague, message, events)
    return lambda: seen(colleague, message, events) > before


def targets(state: str, event: str) -> set[str]:
    """Return where the chart lets an event lead."""
    return {arrow.target for arrow in cells()[state, event]}


@asynccontextmanager
async def played(open_colleague: Open) -> AsyncIterator[Colleague]:
    """Open a stage with an agent of its own, which does not outlast it."""
    agent = Agent()
    async with open_colleague(script=Script(agent=agent, policy=POLICY)) as colleague:
        try:
            yield colleague
        finally:
            agent.go.set()


@pytest.mark.parametrize("state", STATES)
async def test_an_edit_does_what_the_table_says(open_colleague: Open, state: str) -> None:
    """E-01..E-50 by where the turn stands; what is past costs no call and no reaction (S22)."""
    async with played(open_colleague) as colleague:
        message = await PLAYED[state](colleague)
        await settled_signs(colleague, message)
        calls, signs = dict(colleague.sandbox.calls), colleague.reactions(message)
        taken = "admit" if state == "refused" else "edit"
        noted = await is_noted(colleague, message, taken, "ignore_edit")
        if state == "retracted":  # the server lets nobody edit it: the event comes late
            colleague.tells_room("alice", "message_edited", message_event_id=message)
        else:
            await colleague.edits("alice", message, EDITED)
        await colleague.until(noted)

        if state == "refused":
            await colleague.until_state(message, "answered")
            assert colleague.gateway.orders[-1].text == EDITED
            return
        (target,) = targets(state, "edit")
        if target != state:
            assert f"{state} -> {target}" in colleague.story(message)
        elif state not in PASSING:
            assert colleague.state_of(message) == state
        if AFTER_EDIT.get(state, "ignored").startswith("ignored"):
            assert dict(colleague.sandbox.calls) == calls
            assert colleague.reactions(message) == signs
        else:
            body = colleague.rows("select body from turns where message_id = ?", message)
            assert body == [(EDITED,)]


@pytest.mark.parametrize("state", STATES)
async def test_a_deletion_does_what_the_table_says(open_colleague: Open, state: str) -> None:
    """What waits never runs, what runs is stopped, the rest is past."""
    async with played(open_colleague) as colleague:
        message = await PLAYED[state](colleague)
        orders = list(colleague.gateway.orders)
        noted = await is_noted(colleague, message, "retract")
        if state == "retracted":  # told once more
            colleague.tells_room("alice", "message_retracted", message_event_id=message)
        else:
            colleague.retracts(message)
        await colleague.until(noted)

        (target,) = targets(state, "retract")
        if target != state and state not in PASSING:
            assert f"{state} -> {target}" in colleague.story(message)
        if AFTER_DELETION.get(state, "ignored").startswith("ignored"):
            assert colleague.state_of(message) == state
        else:
            agent = colleague.script.agent
            assert isinstance(agent, Agent)
            colleague.gateway.open_gate()
            agent.go.set()
            await colleague.until_state(message, "retracted")
            assert [o for o in colleague.gateway.orders if o.message_id == message] == [
                o for o in orders if o.message_id == message
            ]
            assert message not in {answer.in_reply_to for answer in colleague.answers()}
            sql = "select body from turns where message_id = ?"
            assert colleague.rows(sql, message) == [(None,)]


@pytest.mark.parametrize("state", OPEN_STATES)
async def test_the_deletion_of_an_account_is_one_of_its_open_questions(
    open_colleague: Open, state: str
) -> None:
    """No message of the account is announced as deleted; what is past stays as it is."""
    async with played(open_colleague) as colleague:
        message = await PLAYED[state](colleague)
        sql = "select closed_at from turns where message_id = ?"
        is_open = colleague.rows(sql, message) == [(None,)]
        noted = await is_noted(colleague, message, "retract")
        world = colleague.sandbox.world
        gone = {"user_id": colleague.ids["alice"]}
        world.feed.tell_everybody(Event("server_member_deleted", colleague.ids["alice"], gone))
        last = await colleague.says("bob", "@hermes /status")
        if is_open:
            await colleague.until(noted)
        agent = colleague.script.agent
        assert isinstance(agent, Agent)
        colleague.gateway.open_gate()
        agent.go.set()
        await colleague.until_state(last, "bypassed")

        if AFTER_DELETION[state].startswith("ignored"):
            is_ignored = colleague.state_of(message) not in {"stopping", "retracted"}
            assert is_ignored
            return
        await colleague.until_state(message, "retracted")
        sql = "select distinct reason from transitions where message_id = ? and event = 'retract'"
        assert colleague.rows(sql, message) == [("author_gone",)]
        assert message not in {answer.in_reply_to for answer in colleague.answers()}


async def settled_signs(colleague: Colleague, message: str) -> None:
    """Wait until the sign on a message is what its row says, and nothing more is posted."""
    before, quiet = dict[str, int](), 0
    while quiet < 3:
        await anyio.sleep(0.02)
        now = dict(colleague.sandbox.calls)
        shown = colleague.rows("select sign from turns where message_id = ?", message)
        is_shown = colleague.reactions(message) == [sign for (sign,) in shown if sign]
        quiet = quiet + 1 if now == before and is_shown else 0
        before = now
