"""What the operator decides for one room: how much is told there, what besides, which tools."""

from dataclasses import replace
from functools import partial

from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import RoomRules
from hermes_chatto.actors.sessions.ports import TurnOrder

OPS = RoomRules(toolsets=("web",), prompt="Be brief.", thread_lines=2, room_lines=1)
POLICY_OF_R2 = replace(POLICY, rooms=(("R2", OPS),))


async def asks(colleague: Colleague, room: str, thread: str | None = None) -> TurnOrder:
    """Let Alice ask, and return what the agent was given."""
    m1 = await colleague.says("alice", "@hermes well?", room=room, thread=thread)
    await colleague.until_state(m1, "answered")
    return colleague.gateway.orders[-1]


def has_commands(colleague: Colleague, number: int) -> bool:
    """Tell whether the gateway has so many commands."""
    return len(colleague.gateway.commands) == number


async def test_a_room_has_a_prompt_and_sizes_of_its_own(open_colleague: Open) -> None:
    """Everywhere else all is as it is everywhere."""
    async with open_colleague(policy=POLICY_OF_R2) as colleague:
        for room in ("R1", "R2"):
            for number in range(4):
                colleague.posts("bob", f"line {number}", room=room)
        plain, special = await asks(colleague, "R1"), await asks(colleague, "R2")
        root = special.place.thread_root_id
        for number in range(9):
            colleague.posts("bob", f"reply {number}", room="R2", thread=root or "")
        behind = await asks(colleague, "R2", root)

    assert (plain.prompt, special.prompt) == (None, "Be brief.")
    assert str(plain.context).count("line ") == 4
    assert str(special.context).splitlines()[1:] == ["- Bob: line 3"]
    assert str(behind.context).count("reply ") == 2 + 5  # the five newest besides


async def test_a_room_and_its_threads_have_toolsets_by_id(open_colleague: Open) -> None:
    """By name they are those of the room that had the name at the start (S-81)."""
    async with open_colleague(policy=POLICY_OF_R2) as colleague:
        tools, world = colleague.desk.tools, colleague.sandbox.world
        assert tools is not None
        r1, r2 = colleague.rooms["R1"], colleague.rooms["R2"]
        assert (tools.toolsets_of(r1), tools.toolsets_of(r2)) == (None, ("web",))

        world.rooms.require(r2).name = "old"
        world.rooms.require(r1).name = "R2"
        colleague.tells_room("alice", "room_updated", room="R1")
        await asks(colleague, r1)

        assert (tools.toolsets_of(r1), tools.toolsets_of(r2)) == (None, ("web",))
        assert tools.toolsets_of("unknown") is None


async def test_no_file_is_read_into_a_question_past_the_toolsets_of_a_room(
    open_colleague: Open,
) -> None:
    """The gateway expands such references by itself, for commands as well."""
    asks_for = "compare @file:notes.txt @folder:. @diff"
    async with open_colleague(policy=POLICY_OF_R2) as colleague:
        for number, room in enumerate(("R1", "R2"), start=1):
            m1 = await colleague.says("alice", f"@hermes {asks_for}", room=room)
            await colleague.until_state(m1, "answered")
            m2 = await colleague.says("alice", f"@hermes /bg {asks_for}", room=room, thread=m1)
            await colleague.until_state(m2, "bypassed")
            await colleague.until(partial(has_commands, colleague, number))
        given = [*colleague.gateway.orders, *colleague.gateway.commands]

    broken = "compare @ file:notes.txt @ folder:. @ diff"
    assert [order.text for order in given] == [
        f"@hermes {asks_for}",
        f"@hermes {broken}",
        f"/bg {asks_for}",
        f"/bg {broken}",
    ]


async def test_no_room_has_tools_before_its_name_is_known(open_colleague: Open) -> None:
    """The gateway may resume a run while the server is down."""
    async with open_colleague(is_started=False) as colleague:
        r2 = colleague.rooms["R2"]
        await colleague.sandbox.__aexit__(None, None, None)
        try:
            await colleague.starts(Script(policy=POLICY_OF_R2))
            tools = colleague.desk.tools
            assert tools is not None
            assert tools.toolsets_of(r2) == ()
            await colleague.stops()
            by_id = replace(POLICY, rooms=((r2, OPS),))
            await colleague.starts(Script(policy=by_id))
            tools = colleague.desk.tools
            assert tools is not None
            assert tools.toolsets_of(r2) == ("web",)
        finally:
            await colleague.sandbox.__aenter__()
