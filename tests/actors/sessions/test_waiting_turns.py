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
