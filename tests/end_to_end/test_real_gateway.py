"""Plugin, sessions, real gateway and server together; what counts is what the server holds."""

import pytest

from .conftest import RealGateway

pytestmark = pytest.mark.timeout(150)  # the first one waits for the gateway


async def test_a_mention_is_answered_in_its_thread(real_gateway: RealGateway) -> None:
    """The answer points at the message that caused it, and the row tells how it came about."""
    m1 = await real_gateway.says("alice", "@hermes {{say seven}}")
    a1 = await real_gateway.answer_to(m1)

    assert (a1.thread_root_id, a1.body) == (m1, "seven")
    assert [each.message_id for each in await real_gateway.thread(m1)] == [m1, a1.message_id]


async def test_questions_of_one_thread_wait_for_each_other(real_gateway: RealGateway) -> None:
    """One run at a time, in order, each answered by itself; the gateway has nothing to say."""
    m1 = await real_gateway.says("alice", "@hermes {{wait 1}} {{say first}}")
    m2 = await real_gateway.says("bob", "@hermes {{say second}}", thread=m1)
    m3 = await real_gateway.says("alice", "{{say third}}", thread=m1)
    await real_gateway.answer_to(m3)

    posts = await real_gateway.thread(m1)
    assert [(each.in_reply_to, each.body) for each in posts[3:]] == [
        (m1, "first"),
        (m2, "second"),
        (m3, "third"),
    ]


async def test_a_long_answer_arrives_whole(real_gateway: RealGateway) -> None:
    """More than the server takes in one message comes in parts, in order."""
    m1 = await real_gateway.says("alice", "@hermes {{length 21000}}")
    await real_gateway.answer_to(m1)
    await real_gateway.until_idle()

    _, *parts = await real_gateway.thread(m1)
    assert [each.in_reply_to for each in parts] == [m1, None, None]
    assert all(len(each.body.encode()) <= 9_900 for each in parts)
    assert sum(len(each.body) for each in parts) >= 20_990  # line ends between parts go


@pytest.mark.parametrize("words", ["/new@hermes", "@url:about:blank\n/new"])
async def test_a_command_only_the_gateway_would_read_is_said_to_the_agent(
    real_gateway: RealGateway, words: str
) -> None:
    """It would get past the rules for commands: from edits, and of whose run it may end."""
    m1 = await real_gateway.says_alone(f"{words} {{{{say only words}}}}")
    a1 = await real_gateway.answer_to(m1)

    assert a1.body == "only words"


async def test_a_command_ends_the_run_and_is_answered(real_gateway: RealGateway) -> None:
    """What the stopped run would have said never appears; who waited comes next."""
    m1 = await real_gateway.says("alice", "@hermes {{wait 20}} {{say too late}}")
    await real_gateway.until_at(m1, "handed -> processing")
    m2 = await real_gateway.says("alice", "/stop", thread=m1)
    a2 = await real_gateway.answer_to(m2)
    m3 = await real_gateway.says("alice", "@hermes {{say and now}}", thread=m1)
    await real_gateway.answer_to(m3)

    bodies = [each.body for each in await real_gateway.thread(m1)]
    assert a2.thread_root_id == m1
    assert "too late" not in bodies
    assert real_gateway.story(m1)[-1] == "stopping -> cancelled"


async def test_what_is_not_for_the_agent_leaves_no_row(real_gateway: RealGateway) -> None:
    """Neither a run nor a row, although it is read; the next question is answered as ever."""
    m1 = await real_gateway.says("bob", "@alice lunch?")
    m2 = await real_gateway.says("alice", "@hermes {{say here}}")
    await real_gateway.answer_to(m2)

    assert real_gateway.story(m1) == []
    assert [each.message_id for each in await real_gateway.thread(m1)] == [m1]


async def test_a_direct_message_is_answered_flat(real_gateway: RealGateway) -> None:
    """Without a mention and without a thread."""
    m1 = await real_gateway.says_alone("{{say just between us}}")
    a1 = await real_gateway.answer_to(m1)

    assert (a1.thread_root_id, a1.body) == (None, "just between us")


async def test_the_plugin_complains_of_nothing(real_gateway: RealGateway) -> None:
    """Everyday life leaves no warning of ours in the gateway's log, and nothing open."""
    m1 = await real_gateway.says("alice", "@hermes {{say fine}}")
    await real_gateway.answer_to(m1)
    await real_gateway.until_idle()

    assert real_gateway.complaints() == []
    assert real_gateway.rows("select connection from health") == [("live",)]
