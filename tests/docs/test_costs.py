"""What CONCEPTS says a turn costs is what it costs."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, colleague
from hermes_chatto.actors.sessions.policy import Signs
from hermes_chatto.tests.docs.documents import text_of

CLAIM = re.compile(r"costs (\d+) transitions, the first of a session in a room (\d+)")
READ = "MessageService/BatchGetMessages"
POST = "MessageService/CreateMessage"
BESIDE = {"FollowThread", "GetRoom"}  # once per session and per new room, on no turn's way
REMOVED = "MessageService/RemoveReaction"
MOST_BYTES = 8_000  # of the file per turn; CONCEPTS says about 5 KB


async def question(profile: Colleague, body: str, thread: str | None = None) -> tuple[str, int]:
    """Ask, and return the message and how many steps are about it."""
    message_id = await profile.says("alice", body, thread=thread)
    await profile.until_state(message_id, "answered")
    steps = profile.rows("select count(*) from transitions where message_id = ?", message_id)
    return message_id, int(str(steps[0][0]))


async def test_a_turn_costs_as_many_steps_as_concepts_says(tmp_path: Path) -> None:
    """A follow-up in a quiet thread, and the first question of a session."""
    claimed = CLAIM.search(" ".join(text_of("CONCEPTS.md").split()))
    assert claimed

    async with colleague(tmp_path) as profile:
        m1, first = await question(profile, "@hermes one")
        _, follow_up = await question(profile, "@hermes two", thread=m1)

    assert (str(follow_up), str(first)) == claimed.groups()


async def test_a_quiet_turn_costs_one_read_and_one_post(tmp_path: Path) -> None:
    """The question is read, its answer posted; nothing else is asked of the server.

    People on the stage post without a call, so every call is the agent's.
    """
    async with colleague(tmp_path) as profile:
        m1, _ = await question(profile, "@hermes one")
        before = profile.sandbox.calls.copy()
        await question(profile, "@hermes two", thread=m1)
        calls = profile.sandbox.calls - before

    assert calls == {"MessageService/BatchGetMessages": 1, "MessageService/CreateMessage": 1}


async def test_context_costs_as_many_reads_as_concepts_says(tmp_path: Path) -> None:
    """Beyond the question: what is missing, and a reply's target.

    Nobody's name is read: names come with the pages, those who may ask are known from the start.
    """
    spent: list[dict[str, int]] = []
    async with colleague(tmp_path) as profile:

        async def asks(body: str, login: str = "alice", **where: str) -> str:
            before = profile.sandbox.calls.copy()
            message_id = await profile.says(login, body, **where)
            await profile.until_state(message_id, "answered")
            calls = profile.sandbox.calls - before
            calls -= Counter({READ: 1, POST: 1})
            named = {name.rpartition("/")[2]: count for name, count in calls.items()}
            spent.append({name: named[name] for name in named.keys() - BESIDE})
            return message_id

        await profile.says("carol", "by the way")
        m1 = await asks("@hermes a fresh room message")
        await asks("@hermes a quiet thread", thread=m1)
        x1 = await profile.says("bob", "news", thread=m1)
        await asks("@hermes it is behind, and this is a reply", thread=m1, reply_to=x1)
        await asks("@hermes somebody else asks", "bob", thread=m1)
        m2 = await profile.says("bob", "a thread that is there")
        await asks("@hermes a session that begins in it", thread=m2)
        d1 = await profile.opens_dm("alice")
        await asks("a direct conversation", room=d1)
        await asks("a quiet one", room=d1)

    around_in_room, around_in_thread = "GetRoomEventsAround", "GetThreadEventsAround"
    assert spent == [
        {around_in_room: 1},
        {},
        {around_in_thread: 1, "BatchGetMessages": 1},
        {},
        {around_in_thread: 1},
        {around_in_room: 1},
        {},
    ]


async def test_a_sign_costs_two_calls_a_turn(tmp_path: Path) -> None:
    """The eyes are put on and taken off again."""
    policy = replace(POLICY, signs=Signs())
    async with colleague(tmp_path, policy=policy) as profile:
        m1, _ = await question(profile, "@hermes one")
        await profile.until(lambda: profile.sandbox.calls[REMOVED] == 1)
        before = profile.sandbox.calls.copy()
        await question(profile, "@hermes two", thread=m1)
        await profile.until(lambda: profile.sandbox.calls[REMOVED] == 2)
        calls = profile.sandbox.calls - before

    assert (calls["MessageService/AddReaction"], calls[REMOVED]) == (1, 1)


async def test_a_turn_takes_as_much_of_the_file_as_concepts_says(tmp_path: Path) -> None:
    """Rows, indexes and the empty part of pages, over thirty turns."""
    turns = 30
    async with colleague(tmp_path) as profile:
        m1, _ = await question(profile, "@hermes begin")
        path = profile.state_path
        before = sum(file.stat().st_size for file in path.parent.iterdir())
        for number in range(turns):
            await question(profile, f"@hermes {number}", thread=m1)
    after = sum(file.stat().st_size for file in path.parent.iterdir())

    assert after - before < turns * MOST_BYTES
