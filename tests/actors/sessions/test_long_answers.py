"""Long answers, whole conversations and what they call, as people in the room see them."""

import anyio

from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Posted
from hermes_chatto.actors.sessions.mentions import mentioned_handles
from hermes_chatto.actors.sessions.ports import Outgoing, TurnOrder

POST = "MessageService/CreateMessage"
GET_USER = "UserService/GetUser"
LINES = [f"{number:04}: a line of the report" for number in range(860)]
REPORT = "\n".join(LINES)  # 25,000 characters


async def report(order: TurnOrder) -> str:
    """Answer M1 at length, everything else shortly."""
    return REPORT if "report" in order.text else "ok"


def in_thread(colleague: Colleague, root_id: str) -> list[Posted]:
    """Return what the agent posted in a thread."""
    return [answer for answer in colleague.answers() if answer.thread_root_id == root_id]


async def test_a_report_comes_in_three_pieces_whoever_posts_it(open_colleague: Open) -> None:
    """Handed S27: in order, in one thread, every line once, and both paths cut alike."""
    async with open_colleague(agent=report) as colleague:
        m1 = await colleague.says("alice", "@hermes full report")
        await colleague.until_state(m1, "answered")
        answer = colleague.answers()
        again = Outgoing(colleague.rooms["R1"], m1, REPORT, is_final=False)
        await colleague.desk.deliver(again)
        tool = colleague.answers()[len(answer) :]

        assert len(answer) == 3
        assert [part.body for part in tool] == [part.body for part in answer]
        assert {part.thread_root_id for part in answer + tool} == {m1}
        assert "\n".join(part.body for part in answer).split("\n") == LINES
        assert [part.in_reply_to for part in answer] == [m1, "", ""]
        ids = colleague.rows("select answered_with from turn_overview")
        assert ids == [(" ".join(part.message_id for part in answer),)]


async def test_conversations_at_once_do_not_mix(open_colleague: Open) -> None:
    """Handed S07: where a turn is answered is decided when it starts."""
    async with open_colleague(agent=report) as colleague:
        colleague.faults.delays[POST] = 0.2
        m4 = await colleague.says("carol", "a thread of its own")
        m1 = await colleague.says("alice", "@hermes full report")
        await colleague.until(lambda: len(colleague.answers()) == 1)
        m5 = await colleague.says("bob", "@hermes hi", room="R2")
        m6 = await colleague.says("bob", "@hermes hi", thread=m4)
        for message_id in (m1, m5, m6):
            await colleague.until_state(message_id, "answered")

        assert "\n".join(each.body for each in in_thread(colleague, m1)) == REPORT
        assert [each.body for each in in_thread(colleague, m5)] == ["ok"]
        assert [each.body for each in in_thread(colleague, m4)] == ["ok"]
        assert {each.room_id for each in in_thread(colleague, m5)} == {colleague.rooms["R2"]}
        assert len(colleague.sessions) == 3


async def test_an_answer_in_back_off_holds_up_no_other_thread(open_colleague: Open) -> None:
    """Its room is free while it waits."""
    async with open_colleague(agent=report) as colleague:
        colleague.faults.before = [None, Code.RESOURCE_EXHAUSTED]
        m1 = await colleague.says("alice", "@hermes full report")
        await colleague.until(
            lambda: colleague.rows("select 1 from transitions where event = 'postpone'") == [(1,)]
        )
        m2 = await colleague.says("bob", "@hermes hi")
        await colleague.until_state(m2, "answered")

        assert colleague.state_of(m1) == "delivering"
        assert len(in_thread(colleague, m1)) == 1
        await colleague.until_state(m1, "answered")
        assert "\n".join(each.body for each in in_thread(colleague, m1)) == REPORT


async def test_code_comes_in_complete_blocks(open_colleague: Open) -> None:
    """Handed S28."""
    code = [f"    value_{number} = compute({number})  # with a remark" for number in range(400)]
    code[3] = code[250] = ""

    async def show(order: TurnOrder) -> str:
        del order
        return "\n".join(["```python", *code, "```"])

    async with open_colleague(agent=show) as colleague:
        m1 = await colleague.says("alice", "@hermes show code")
        await colleague.until_state(m1, "answered")

        bodies = [answer.body.split("\n") for answer in colleague.answers()]
        assert len(bodies) >= 2
        assert all(body[0] == "```python" and body[-1] == "```" for body in bodies)
        assert all(sum(line.startswith("```") for line in body) == 2 for body in bodies)
        assert [line for body in bodies for line in body[1:-1]] == code


async def test_halves_of_a_character_at_a_cut_are_joined(open_colleague: Open) -> None:
    """Handed S29: around the 9,900th byte."""
    text = "x" * 9_897 + "\ud83c\udfa9" + "y" * 10 + "\udfa9"

    async def hat(order: TurnOrder) -> str:
        del order
        return text

    async with open_colleague(agent=hat) as colleague:
        m1 = await colleague.says("alice", "@hermes hat")
        await colleague.until_state(m1, "answered")

        bodies = [answer.body for answer in colleague.answers()]
        assert bodies == ["x" * 9_897, "🎩" + "y" * 10 + "\ufffd"]


async def test_an_answer_calls_people_and_nobody_else(open_colleague: Open) -> None:
    """Handed S16: everybody, whoever is here and roles are words, alice is called."""

    async def announce(order: TurnOrder) -> str:
        del order
        return "done, @all and @here and @moderator, thanks @alice"

    async with open_colleague(agent=announce) as colleague:
        m1 = await colleague.says("bob", "@hermes announce it")
        await colleague.until_state(m1, "answered")

        (a1,) = colleague.answers()
        assert mentioned_handles(a1.body) == ("alice",)
        assert a1.body.replace("\u2060", "") == (
            "done, @all and @here and @moderator, thanks @alice"
        )


async def test_texts_on_the_way_and_scheduled_ones_are_shaped_alike(open_colleague: Open) -> None:
    """One function for all; a role of the server is no person."""
    text = "![chart](https://a.b/c.png) for @all, @oncall and @Carol"
    async with open_colleague() as colleague:
        room_id = colleague.rooms["R1"]
        interim = Outgoing(room_id, None, text, is_final=False)
        scheduled = Outgoing(room_id, None, text, is_final=True, job_id="j1")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(colleague.desk.deliver, interim)
            tasks.start_soon(colleague.desk.deliver, scheduled)

        expected = "[chart](https://a.b/c.png) for @\u2060all, @\u2060oncall and @Carol"
        assert [answer.body for answer in colleague.answers()] == [expected, expected]


async def test_whoever_cannot_be_looked_up_is_not_called(open_colleague: Open) -> None:
    """The answer goes out all the same."""
    async with open_colleague() as colleague:
        colleague.faults.refused[GET_USER] = Code.UNAVAILABLE
        await colleague.desk.deliver(
            Outgoing(colleague.rooms["R1"], None, "@carol and @bob", is_final=True)
        )

        (said,) = colleague.answers()
        assert "@\u2060carol" in said.body
