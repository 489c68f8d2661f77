"""Questions that are not the newest message when they are found: what follows them is told, too.

A gap hid them together with what was posted behind them, or an edit made a question of an older
message. Either way the session holds the thread up to the question, and not a line further.
"""

from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.policy import ContextLimits, FollowUps, Policy

from .test_context import asks, lines_of, reads

POLICY = Policy(allowed_user_entries=("alice", "bob"), follow_ups=FollowUps.OFF)
SHORT = ContextLimits(thread_lines=4)


def told(colleague: Colleague) -> list[str]:
    """Return Bob's lines as the agent was told them since the newest start, in order."""
    blocks = [lines_of(order.context) for order in colleague.gateway.orders]
    return [line for block in blocks for line in block if line.startswith("- Bob: ")]


def said(count: int, but: int) -> list[str]:
    """Return Bob's lines as they should be told, each once, without one that is a question."""
    return [f"- Bob: b{number}" for number in range(count) if number != but]


async def test_what_a_gap_hid_behind_a_question_comes_with_the_next_one(
    open_colleague: Open,
) -> None:
    """No stream has named it; then the thread is quiet again, without a read."""
    async with open_colleague(policy=POLICY) as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        await colleague.stops()
        colleague.posts("bob", "b0", thread=m1)
        m2 = colleague.posts("alice", "@hermes two", thread=m1)
        colleague.posts("bob", "b1", thread=m1)
        m3 = colleague.posts("alice", "@hermes three", thread=m1)
        colleague.posts("bob", "b2", thread=m1)
        await colleague.starts()
        await colleague.until_state(m2, "answered")
        await colleague.until_state(m3, "answered")
        await asks(colleague, "alice", "@hermes four", thread=m1)
        before = colleague.sandbox.calls.copy()
        await asks(colleague, "alice", "@hermes five", thread=m1)

        blocks = [lines_of(order.context) for order in colleague.gateway.orders]
        assert blocks == [["- Bob: b0"], ["- Bob: b1"], ["- Bob: b2"], []]
        assert reads(colleague, before) == 0


async def test_what_a_gap_hid_under_a_message_that_opens_a_session_comes_later(
    open_colleague: Open,
) -> None:
    """The room is told about with the question, the thread under it with the next one."""
    async with open_colleague(policy=POLICY) as colleague:
        await colleague.stops()
        m1 = colleague.posts("alice", "@hermes one")
        colleague.posts("bob", "b0", thread=m1)
        await colleague.starts()
        await colleague.until_state(m1, "answered")
        _, second = await asks(colleague, "alice", "@hermes two", thread=m1)

        assert lines_of(second) == ["- Bob: b0"]


async def test_a_question_by_an_edit_before_a_gap_leaves_what_follows_it(
    open_colleague: Open,
) -> None:
    """A session that begins with it has not read the rest of its thread."""
    async with open_colleague(policy=POLICY) as colleague:
        m1 = await colleague.says("alice", "root")
        ids = [await colleague.says("bob", f"b{number}", thread=m1) for number in range(6)]
        await colleague.stops()
        await colleague.starts()
        await colleague.edits("bob", ids[2], "@hermes b2?")
        await colleague.until_state(ids[2], "answered")
        await asks(colleague, "alice", "@hermes two", thread=m1)

        assert told(colleague) == said(6, but=2)


async def test_a_question_by_an_edit_within_a_backlog_repeats_and_loses_nothing(
    open_colleague: Open,
) -> None:
    """What was handed over ahead of the drain lies behind it, and stays known."""
    async with open_colleague(policy=POLICY, context=SHORT) as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        ids = [await colleague.says("bob", f"b{number}", thread=m1) for number in range(12)]
        await asks(colleague, "alice", "@hermes two", thread=m1)
        await colleague.edits("bob", ids[5], "@hermes b5?")
        await colleague.until_state(ids[5], "answered")
        _, third = await asks(colleague, "alice", "@hermes three", thread=m1)
        _, fourth = await asks(colleague, "alice", "@hermes four", thread=m1)

        assert sorted(told(colleague)) == sorted(said(12, but=5))
        assert lines_of(third) == ["- Bob: b6"]
        assert fourth is None
        assert colleague.rows("select ahead_ids from threads") == [("[]",)]


async def test_a_question_by_an_edit_within_a_backlog_that_a_gap_hid(
    open_colleague: Open,
) -> None:
    """Only the server knows of the rest: one read more, and nothing is missing."""
    async with open_colleague(policy=POLICY, context=SHORT) as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        ids = [await colleague.says("bob", f"b{number}", thread=m1) for number in range(12)]
        await colleague.stops()
        await colleague.starts()
        await asks(colleague, "alice", "@hermes two", thread=m1)
        await colleague.edits("bob", ids[5], "@hermes b5?")
        await colleague.until_state(ids[5], "answered")
        for number in range(3):
            await asks(colleague, "alice", f"@hermes {number}", thread=m1)

        assert sorted(told(colleague)) == sorted(said(12, but=5))


async def test_a_question_by_an_edit_before_where_a_blind_pass_is_brings_nothing(
    open_colleague: Open,
) -> None:
    """Everything before it was told already; the pass goes on where it was."""
    async with open_colleague(policy=POLICY, context=SHORT) as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        ids: list[str] = []
        for number in range(20):
            colleague.clock.ahead_s += 0.01
            ids.append(await colleague.says("bob", f"b{number}", thread=m1))
        await colleague.stops()
        colleague.write("delete from threads")
        await colleague.starts()
        await asks(colleague, "alice", "@hermes two", thread=m1)
        await colleague.edits("bob", ids[1], "@hermes b1?")
        await colleague.until_state(ids[1], "answered")
        assert colleague.gateway.orders[-1].context is None
        assert colleague.rows("select state from threads") == [("blind",)]
        for number in range(5):
            await asks(colleague, "alice", f"@hermes {number}", thread=m1)

        assert sorted(told(colleague)) == sorted(said(20, but=99))
        assert colleague.rows("select state from threads") == [("seeded",)]


async def test_a_question_by_an_edit_does_not_move_a_frontier_back(
    open_colleague: Open,
) -> None:
    """The time of a frontier among deleted lines is that of an older one; its place counts."""
    small = ContextLimits(thread_lines=1, page_rows=13)
    async with open_colleague(policy=POLICY, context=small) as colleague:
        m1, _ = await asks(colleague, "alice", "@hermes one")
        for number in range(3):
            await asks(colleague, "alice", f"@hermes one and {number}", thread=m1)
        ids: list[str] = []
        for number in range(9):
            colleague.clock.ahead_s += 0.01
            ids.append(await colleague.says("bob", f"b{number}", thread=m1))
        await asks(colleague, "alice", "@hermes two", thread=m1)
        for message_id in ids[1:4]:
            await colleague.deletes("bob", message_id)
        await asks(colleague, "alice", "@hermes three", thread=m1)
        assert colleague.rows("select frontier_id, state from threads") == [(ids[6], "behind")]
        await colleague.edits("bob", ids[5], "@hermes b5?")
        await colleague.until_state(ids[5], "answered")
        ((frontier, state),) = colleague.rows("select frontier_id, state from threads")
        last = colleague.answers()[-2].message_id
        await colleague.stops()
        await colleague.starts()
        _, four = await asks(colleague, "alice", "@hermes four", thread=m1)

        assert (frontier, state) == (last, "seeded")
        assert four is None
