"""Handed cases about edits at awkward moments: late, early, as a command, as an approval."""

import anyio

from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.policy import Policy, Revisions, Signs

from .test_edits import QUICK, SlowAgent, edits_ignored, texts

READ = "MessageService/BatchGetMessages"
UNREACT = "MessageService/RemoveReaction"
SIGNED = Policy(
    allowed_user_entries=("alice", "bob"), revisions=Revisions(pause_s=0.02), signs=Signs()
)


async def edited_too_late(colleague: Colleague, message_id: str, state: str) -> None:
    """Wait until an edit was put aside for the state it met."""
    await colleague.until(lambda: edits_ignored(colleague, message_id) == [f"too_late: {state}"])


async def test_a_typo_that_is_fixed_after_the_answer_changes_nothing(open_colleague: Open) -> None:
    """Handed S17: one turn, one message of the agent, no second sign."""
    async with open_colleague(policy=SIGNED) as colleague:
        m1 = await colleague.says("alice", "@hermes what is teh status")
        await colleague.until_state(m1, "answered")
        await colleague.until(lambda: colleague.reactions(m1) == [])
        await colleague.edits("alice", m1, "@hermes what is the status")
        await edited_too_late(colleague, m1, "answered")

        assert texts(colleague) == ["@hermes what is teh status"]
        assert len(colleague.answers()) == 1
        assert colleague.reactions(m1) == []


async def test_an_edit_while_the_sign_is_taken_away_comes_too_late(open_colleague: Open) -> None:
    """Handed S57: answered is what is in the room, whatever is still on its way besides."""
    async with open_colleague(policy=SIGNED) as colleague:
        colleague.faults.delays[UNREACT] = 0.3
        m1 = await colleague.says("alice", "@hermes quick")
        await colleague.until(lambda: len(colleague.answers()) == 1)
        await colleague.until(lambda: colleague.state_of(m1) == "answered")
        assert colleague.reactions(m1) == ["eyes"]
        await colleague.edits("alice", m1, "@hermes quick!")
        await edited_too_late(colleague, m1, "answered")
        await colleague.until(lambda: colleague.reactions(m1) == [])

        steps = [step for step in colleague.story(m1) if step.split(" -> ")[0] != "answered"]
        assert steps[-2:] == ["processing -> delivering", "delivering -> answered"]
        assert len(colleague.answers()) == 1


async def test_a_direct_message_is_edited_into_a_command(open_colleague: Open) -> None:
    """Handed S23: neither does the command run nor does its text reach the agent."""
    async with open_colleague(policy=QUICK) as colleague:
        dm = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "hello", room=dm)
        await colleague.until_state(m1, "answered")
        await colleague.edits("alice", m1, "/join ops")
        await edited_too_late(colleague, m1, "answered")
        await colleague.stops()
        m2 = await colleague.says("alice", "hm", room=dm)
        await colleague.edits("alice", m2, "/join ops")
        await colleague.starts()
        await colleague.until_state(m2, "refused")

        assert texts(colleague) == []
        assert colleague.gateway.commands == []
        assert len(colleague.answers()) == 1


async def test_a_command_leaves_the_backlog_of_its_thread(open_colleague: Open) -> None:
    """Handed S24: the next question brings it."""
    async with open_colleague(policy=QUICK) as colleague:
        m1 = await colleague.says("alice", "@hermes hello")
        await colleague.until_state(m1, "answered")
        for number in range(3):
            await colleague.says("bob", f"line {number}", thread=m1)
        m5 = await colleague.says("alice", "@hermes /status", thread=m1)
        await colleague.until_state(m5, "bypassed")
        m6 = await colleague.says("alice", "please run @hermes /status for me", thread=m1)
        await colleague.until_state(m6, "answered")

        assert [order.text for order in colleague.gateway.commands] == ["/status"]
        *_, order = colleague.gateway.orders
        assert order.text == "please run @hermes /status for me"
        assert [f"line {number}" in (order.context or "") for number in range(3)] == [True] * 3


async def test_a_strangers_approval_is_not_even_read(open_colleague: Open) -> None:
    """Handed S38: gates and allowlist apply to approvals as to every message."""
    agent = SlowAgent()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("carol", "@hermes /approve", thread=m1)
        m3 = await colleague.says("alice", "@hermes /approve", thread=m1)
        await colleague.until_state(m3, "bypassed")
        agent.go.set()
        await colleague.until_state(m1, "answered")

        assert colleague.state_of(m2) is None
        assert [order.message_id for order in colleague.gateway.commands] == [m3]


async def test_an_edit_overtakes_the_slow_read_of_its_message(open_colleague: Open) -> None:
    """Handed S51: what was read first may run, but only the newest text is answered."""
    async with open_colleague(policy=QUICK) as colleague:
        colleague.faults.slow_answers[READ] = 0.3
        m1 = await colleague.says("alice", "@hermes slow v0")
        await anyio.lowlevel.checkpoint()
        await colleague.edits("alice", m1, "@hermes v1")
        await colleague.until_state(m1, "answered")

        assert texts(colleague)[-1] == "@hermes v1"
        (answer,) = colleague.answers()
        assert answer.in_reply_to == m1


async def test_an_edit_that_is_heard_before_its_message_makes_the_turn(
    open_colleague: Open,
) -> None:
    """Handed S51: the message itself is then a repetition."""
    async with open_colleague(policy=QUICK) as colleague:
        colleague.faults.withheld = {"message_posted"}
        m2 = await colleague.says("alice", "@hermes w0")
        await colleague.edits("alice", m2, "@hermes w1")
        await colleague.until_state(m2, "answered")
        colleague.faults.withheld.clear()
        colleague.tells_room("alice", "message_posted", message_event_id=m2)
        m3 = await colleague.says("alice", "@hermes next")
        await colleague.until_state(m3, "answered")

        assert texts(colleague) == ["@hermes w1", "@hermes next"]
        assert [answer.in_reply_to for answer in colleague.answers()] == [m2, m3]
