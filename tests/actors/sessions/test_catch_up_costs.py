"""What a catch-up asks of the server: it follows what changed, not what exists."""

from collections import Counter
from dataclasses import replace

from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.tests.actors.sessions.gaps import (
    FOLLOW,
    INBOX,
    PAGE,
    QUICK,
    READ,
    ROOMS,
    SCRIPT,
    cut,
    live_again,
)

MANY_ROOMS = tuple(f"R{number}" for number in range(1, 201))
READING = (ROOMS, INBOX, READ, PAGE)

THREAD = """
    insert into threads (
        scope, session_key, room_id, room_kind, thread_root_id, state, frontier_id, frontier_at,
        ahead_ids, session_token, gap, created_at, updated_at
    )
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
    select 'default', 'key-' || i, 'room-' || (i % 200), 'channel', 'root-' || i, 'seeded',
           'last-' || i, '2026-01-01T00:00:00.000Z', '[]', 'token-' || i, 1,
           '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'
    from n
"""


async def cost_of_gap(colleague: Colleague, before: int, calls: Counter[str]) -> dict[str, int]:
    """Return what was read since the calls were counted, without what was not."""
    await live_again(colleague, before)
    spent = colleague.sandbox.calls - calls
    return {name: spent[name] for name in READING if spent[name]}


def calls_so_far(colleague: Colleague) -> Counter[str]:
    """Return how often each call was made."""
    return Counter(colleague.sandbox.calls)


async def test_nothing_missed_costs_two_calls(open_colleague: Open) -> None:
    """With 200 rooms and 10,000 known threads."""
    async with open_colleague(script=SCRIPT, rooms=MANY_ROOMS, is_started=False) as colleague:
        await colleague.starts()
        m1 = await colleague.says("alice", "@hermes one", room="R7")
        await colleague.until_state(m1, "answered")
        await colleague.until(lambda: colleague.sandbox.calls[FOLLOW] == 1)
        await colleague.stops()
        colleague.write(THREAD)
        calls = calls_so_far(colleague)
        await colleague.starts()

        spent = colleague.sandbox.calls - calls
        assert {name: spent[name] for name in READING if spent[name]} == {ROOMS: 1, INBOX: 1}
        assert spent[FOLLOW] == 0

        calls = calls_so_far(colleague)
        before = await cut(colleague)
        assert await cost_of_gap(colleague, before, calls) == {ROOMS: 1, INBOX: 1}


async def test_what_was_missed_costs_one_read_per_room(open_colleague: Open) -> None:
    """And one per direct conversation with something new, and one for open turns."""
    async with open_colleague(script=replace(SCRIPT, is_gate_open=False)) as colleague:
        dm = await colleague.opens_dm("alice")
        group = await colleague.opens_dm("alice", "bob")
        m1 = await colleague.says("alice", "@hermes waits", room="R2")
        await colleague.until_state(m1, "queued")
        calls = calls_so_far(colleague)
        before = await cut(colleague)
        for number in range(5):
            colleague.posts("alice", f"@hermes {number}")
            colleague.posts("bob", f"@hermes {number}")
        colleague.posts("alice", "psst", room=dm)
        spent = await cost_of_gap(colleague, before, calls)

        assert spent == {ROOMS: 1, INBOX: 1, READ: 2, PAGE: 1}
        assert len(colleague.rows("select 1 from turns where room_id = ?", group)) == 0
        assert len(colleague.rows("select 1 from turns")) == 12


async def test_rooms_that_need_no_mention_cost_a_page_each(open_colleague: Open) -> None:
    """Only those: the others are in the inbox."""
    policy = replace(POLICY, free_rooms=("R1",))
    async with open_colleague(script=Script(limits=QUICK, policy=policy)) as colleague:
        calls = calls_so_far(colleague)
        before = await cut(colleague)
        spent = await cost_of_gap(colleague, before, calls)

        assert spent == {ROOMS: 1, INBOX: 1, PAGE: 1}


async def test_a_message_that_was_passed_over_is_not_read_again(open_colleague: Open) -> None:
    """It stands in the inbox, and is not for the agent."""
    async with open_colleague(script=SCRIPT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        reads = colleague.sandbox.calls[READ]
        await colleague.says("bob", "@alice what do you think?", thread=m1)
        await colleague.until(lambda: colleague.sandbox.calls[READ] > reads)
        keeps = "select at from position"
        await colleague.until(lambda: colleague.rows(keeps) != [])
        calls = calls_so_far(colleague)
        before = await cut(colleague)
        spent = await cost_of_gap(colleague, before, calls)

        assert spent == {ROOMS: 1, INBOX: 1}
