"""Turns that wait for their run although they were posted before one that had it."""

from dataclasses import dataclass, field

import anyio

from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.policy import Policy, Revisions
from hermes_chatto.actors.sessions.ports import TurnOrder

QUICK = Policy(allowed_user_entries=("alice", "bob"), revisions=Revisions(pause_s=0.02))


@dataclass
class Gates:
    """An agent that answers each slow question once it is let go."""

    first: anyio.Event = field(default_factory=anyio.Event)
    second: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self, order: TurnOrder) -> str:
        """Wait for the gate that the text names."""
        if "first" in order.text:
            await self.first.wait()
        if "second" in order.text:
            await self.second.wait()
        return f"ok: {order.text}"


async def overtaken(colleague: Colleague, agent: Gates) -> str:
    """Let Bob's words become a question after Alice asked her second one; return its ID.

    The second one is running when this returns.
    """
    m1 = await colleague.says("alice", "@hermes first")
    await colleague.until_state(m1, "processing")
    m2 = await colleague.says("bob", "pears?", thread=m1)
    m3 = await colleague.says("alice", "@hermes second", thread=m1)
    await colleague.until_state(m3, "queued")
    await colleague.edits("bob", m2, "@hermes pears?")
    await colleague.until_state(m2, "queued")
    agent.first.set()
    await colleague.until_state(m3, "processing")
    return m2


def told(colleague: Colleague) -> str:
    """Return everything the agent was ever told."""
    return "\n".join(f"{order.context}\n{order.text}" for order in colleague.gateway.orders)


async def test_what_waits_is_told_as_itself_alone(open_colleague: Open) -> None:
    """Not as something that was said before another question, too."""
    agent = Gates()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m2 = await overtaken(colleague, agent)
        agent.second.set()
        await colleague.until_state(m2, "answered")

        assert [order.text for order in colleague.gateway.orders][-1] == "@hermes pears?"
        assert told(colleague).count("pears") == 1


async def test_what_is_deleted_while_it_waits_was_told_to_nobody(open_colleague: Open) -> None:
    """Its words would stay in the transcript, as part of the other question."""
    agent = Gates()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m2 = await overtaken(colleague, agent)
        await colleague.deletes("bob", m2)
        await colleague.until_state(m2, "retracted")
        agent.second.set()
        await colleague.until(lambda: not colleague.rows("select 1 from open_turns"))

        assert "pears" not in told(colleague)


async def test_what_a_command_ends_while_it_waits_is_heard_all_the_same(
    open_colleague: Open,
) -> None:
    """As something that was said, before the next question."""
    agent = Gates()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m1 = await colleague.says("alice", "@hermes first")
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("bob", "@hermes pears?", thread=m1)
        await colleague.until_state(m2, "queued")
        await colleague.says("bob", "@hermes /stop", thread=m1)
        await colleague.until_state(m2, "cancelled")
        m3 = await colleague.says("alice", "@hermes and now", thread=m1)
        await colleague.until_state(m3, "answered")

        assert "pears" in str(colleague.gateway.orders[-1].context)


async def cancelled_while_it_waited(colleague: Colleague, m2: str, command: str = "/stop") -> str:
    """Let Bob take back what was overtaken; return the thread's root."""
    ((root,),) = colleague.rows("select thread_root_id from turns where message_id = ?", m2)
    await colleague.says("bob", f"@hermes {command}", thread=str(root))
    await colleague.until_state(m2, "cancelled")
    await colleague.until(lambda: not colleague.rows("select 1 from open_turns"))
    return str(root)


async def test_what_was_overtaken_and_then_cancelled_is_heard_once(open_colleague: Open) -> None:
    """It lies before what the session was told up to, where no block would bring it again."""
    agent = Gates()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m2 = await overtaken(colleague, agent)
        m1 = await cancelled_while_it_waited(colleague, m2)
        await colleague.says("carol", "plums", thread=m1)
        m4 = await colleague.says("alice", "@hermes and now", thread=m1)
        await colleague.until_state(m4, "answered")
        m5 = await colleague.says("alice", "@hermes and then", thread=m1)
        await colleague.until_state(m5, "answered")

        context = str(colleague.gateway.orders[-2].context)
        assert context.startswith("[Earlier in this thread]\n- Bob: @hermes pears?\n")
        assert context.count("[Earlier in this thread]") == 1
        assert context.index("pears") < context.index("plums")
        assert told(colleague).count("pears") == 1


async def test_what_was_overtaken_comes_again_with_a_correction(open_colleague: Open) -> None:
    """The hand-over that told it did not happen."""
    agent = Gates()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m2 = await overtaken(colleague, agent)
        m1 = await cancelled_while_it_waited(colleague, m2)
        agent.second = anyio.Event()
        m4 = await colleague.says("alice", "@hermes the second again", thread=m1)
        await colleague.until_state(m4, "processing")
        await colleague.edits("alice", m4, "@hermes the other one")
        await colleague.until_state(m4, "answered")

        assert "pears" in str(colleague.gateway.orders[-2].context)
        assert "pears" in str(colleague.gateway.orders[-1].context)


async def test_a_clean_slate_hears_nothing_of_it(open_colleague: Open) -> None:
    """Who asks for one gets one."""
    agent = Gates()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m2 = await overtaken(colleague, agent)
        m1 = await cancelled_while_it_waited(colleague, m2, "/new")
        m4 = await colleague.says("alice", "@hermes and now", thread=m1)
        await colleague.until_state(m4, "answered")

        assert "pears" not in told(colleague)


async def test_what_was_overtaken_cancelled_and_deleted_is_heard_by_nobody(
    open_colleague: Open,
) -> None:
    """Deleted words are in no block."""
    agent = Gates()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m2 = await overtaken(colleague, agent)
        m1 = await cancelled_while_it_waited(colleague, m2)
        await colleague.deletes("bob", m2)
        m4 = await colleague.says("alice", "@hermes and now", thread=m1)
        await colleague.until_state(m4, "answered")

        assert "pears" not in told(colleague)
        assert colleague.rows("select owed_ids from threads") == [("[]",)]
