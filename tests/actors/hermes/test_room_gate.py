"""The boundary around a room's tools, with the gateway's own toolsets."""

import json
from collections.abc import Iterator
from contextvars import copy_context

import pytest
from gateway.session_context import _VAR_MAP, clear_session_vars, set_session_vars
from tools.registry import registry

from hermes_chatto.actors.hermes.room_gate import RoomGate
from hermes_chatto.actors.hermes.tool_bench import ToolBench

LISTS = {
    "R1": ("web",),
    "R2": ("web", "chatto_test"),
    "R3": (),
    "R5": ("web", "session_search"),
    "R6": ("hermes-telegram",),
}


delivers_to = _VAR_MAP["HERMES_CRON_AUTO_DELIVER_PLATFORM"]
"""As the scheduler sets it for the run of a job."""


@pytest.fixture(autouse=True)
def plugin_tool() -> Iterator[None]:
    """Have a tool of a plugin's toolset."""
    registry.register(
        name="chatto_try",
        toolset="chatto_test",
        schema={"name": "chatto_try", "parameters": {"type": "object"}},
        handler=json.dumps,
    )
    yield
    registry.deregister("chatto_try")


class Bench(ToolBench):
    """A bench that is told the lists."""

    def toolsets_of(self, room_id: str) -> tuple[str, ...] | None:
        """Return what the test says."""
        return LISTS.get(room_id)


def is_blocked(tool: str, room_id: str, platform: str = "chatto") -> bool:
    """Ask as the gateway does, from within a run in a room."""
    gate = RoomGate(Bench())
    tokens = set_session_vars(platform=platform, chat_id=room_id, session_key="k")
    try:
        answer = gate.ask(tool_name=tool, args={}, session_id="s", task_id="t")
    finally:
        clear_session_vars(tokens)
    if answer is None:
        return False
    assert answer["action"] == "block"
    assert tool in answer["message"]
    return True


def test_a_room_has_the_tools_of_its_list() -> None:
    """Built in or of a plugin; an unlisted room has no opinion (S-80)."""
    assert not is_blocked("web_search", "R1")
    assert is_blocked("terminal", "R1")
    assert is_blocked("chatto_try", "R1")
    assert not is_blocked("chatto_try", "R2")
    assert not is_blocked("terminal", "R4")


def test_an_unknown_room_has_none_of_them() -> None:
    """An empty list is none here, whatever it is to the gateway."""
    assert is_blocked("web_search", "R3")


def test_the_catalogue_of_the_bridge_is_open() -> None:
    """It calls nothing; the bridge itself is never what is asked about."""
    assert not is_blocked("tool_search", "R1")
    assert is_blocked("tool_call", "R1")


def test_other_platforms_are_none_of_its_business() -> None:
    """Also where a room of theirs has the same ID, and where there is no session."""
    assert not is_blocked("terminal", "R1", platform="telegram")
    assert RoomGate(Bench()).ask(tool_name="terminal") is None


def test_a_run_in_the_background_stays_in_its_room() -> None:
    """The gateway binds no session to its threads; what was set up with it goes along."""
    bench = Bench()
    gate = RoomGate(bench)

    def runs() -> bool:
        bench.begin_in("R1")
        thread = copy_context()
        return thread.run(lambda: gate.ask(tool_name="terminal")) is not None

    assert copy_context().run(runs)
    assert gate.ask(tool_name="terminal") is None


def test_other_conversations_are_not_read_from_here() -> None:
    """Not in a room without a list, nor in a direct conversation, nor by a bundle that has it."""
    assert is_blocked("session_search", "R4")
    assert is_blocked("session_search", "R1")
    assert is_blocked("session_search", "R6")
    assert not is_blocked("session_search", "R5")
    assert not is_blocked("session_search", "R4", platform="telegram")


def test_the_refusal_names_the_setting_and_what_to_do() -> None:
    """In one sentence, since the model reads it in place of a result."""
    tokens = set_session_vars(platform="chatto", chat_id="R4", session_key="k")
    try:
        answer = RoomGate(Bench()).ask(tool_name="session_search")
    finally:
        clear_session_vars(tokens)

    assert answer is not None
    assert "CHATTO_CROSS_SESSION_TOOLS" in answer["message"]
    assert answer["message"].count(".") == 1


def test_the_operator_may_let_them_be_read() -> None:
    """Everywhere, but where a room's list does not have the tool."""
    bench = Bench()
    bench.may_read_across = True
    gate = RoomGate(bench)

    def says(room_id: str) -> bool:
        tokens = set_session_vars(platform="chatto", chat_id=room_id, session_key="k")
        try:
            return gate.ask(tool_name="session_search") is None
        finally:
            clear_session_vars(tokens)

    assert says("R4")
    assert says("R6")
    assert not says("R1")


def test_a_job_that_is_delivered_here_reads_none_either() -> None:
    """Else somebody in a room would schedule what they may not ask."""
    gate = RoomGate(Bench())

    def asks(platform: str) -> bool:
        delivers_to.set(platform)
        return gate.ask(tool_name="session_search") is None

    assert not copy_context().run(asks, "chatto")
    assert copy_context().run(asks, "telegram")
