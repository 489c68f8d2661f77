"""The tools as the gateway calls them: from other threads, with whatever a model thinks up."""

import json
import threading
from collections.abc import Mapping
from typing import Any

import anyio.to_thread
import pytest
from gateway.session_context import clear_session_vars, set_session_vars

from hermes_chatto.actors.hermes.settings import Settings
from hermes_chatto.actors.hermes.tool_bench import ToolBench
from hermes_chatto.actors.hermes.tools import register_tools
from hermes_chatto.actors.sessions.policy import RoomRules
from hermes_chatto.actors.sessions.ports import Desk
from hermes_chatto.actors.sessions.tool_port import (
    Caller,
    Member,
    Reading,
    Said,
    ToolRefusedError,
    Tools,
    Where,
)

KEY = "agent:main:chatto:thread:R1:T1"


class WritingTools:
    """Tools that write down what they are asked, and in which thread."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.threads: set[int] = set()

    def toolsets_of(self, room_id: str) -> tuple[str, ...] | None:
        """Give one room a list."""
        return ("web",) if room_id == "R1" else None

    def _note(self, *asked: object) -> None:
        self.threads.add(threading.get_ident())
        self.asked.append(asked)

    async def read_room(self, caller: Caller, where: Where, limit: int) -> Reading:
        """Read one line."""
        self._note(caller, where, limit)
        said = Said("m1", "2026-01-01T00:00:00.000Z", "- Ada: hello")
        return Reading("R1", "ops", None, (said,), None)

    read_thread = read_room

    async def search(self, caller: Caller, where: Where, words: str) -> Reading:
        """Find nothing."""
        self._note(caller, where, words)
        return Reading("R1", "ops", None, (), "nothing")

    async def members(self, caller: Caller, where: Where, name: str) -> tuple[Member, ...]:
        """Find one."""
        self._note(caller, where, name)
        return (Member("U1", "ada", "Ada", may_ask=True),)

    async def react(
        self, caller: Caller, where: Where, message_id: str, emoji: str, *, on: bool
    ) -> None:
        """Write it down."""
        self._note(caller, where, message_id, emoji, on)

    async def post(self, caller: Caller, where: Where, text: str) -> tuple[str, ...]:
        """Refuse."""
        self._note(caller, where, text)
        refusal = "no"
        raise ToolRefusedError(refusal)


class ToolDesk:
    """A desk that has tools and nothing else that is used."""

    def __init__(self, tools: Tools | None) -> None:
        self.tools = tools


class Gateway:
    """The gateway's end: registered handlers, called in threads with a session bound."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}
        self.bench = ToolBench()
        register_tools(self, self.bench)

    def register_tool(self, **entry: object) -> None:
        """Take it."""
        self.entries[str(entry["name"])] = entry

    async def call(
        self, name: str, arguments: Mapping[str, object], platform: str = "chatto"
    ) -> Any:  # noqa: ANN401 - JSON
        """Call a tool as a run would, and return what the model gets."""

        def in_thread() -> str:
            tokens = set_session_vars(platform=platform, session_key=KEY, message_id="m0")
            try:
                answer = self.entries[name]["handler"](arguments, task_id="t", session_id="s")
                return str(answer)
            finally:
                clear_session_vars(tokens)

        return json.loads(await anyio.to_thread.run_sync(in_thread))


def desk(tools: Tools | None) -> Desk:
    """Make a desk of tools."""
    return ToolDesk(tools)  # type: ignore[return-value] # the rest of it is not called


async def test_a_call_crosses_to_the_profiles_loop() -> None:
    """With who runs there, from the gateway's own words, and never from the arguments."""
    gateway, tools = Gateway(), WritingTools()
    gateway.bench.open(desk(tools), Settings())

    answer = await gateway.call("chatto_read_room", {"room": "#ops", "session_key": "another"})

    assert tools.asked == [(Caller(KEY, "m0"), Where("#ops"), 20)]
    assert tools.threads == {threading.get_ident()}
    assert answer["messages"] == [
        {"message_id": "m1", "at": "2026-01-01T00:00:00.000Z", "text": "- Ada: hello"}
    ]
    assert "data" in answer["note"]
    assert answer["room"] == {"id": "R1", "name": "ops"}


async def test_every_tool_passes_on_what_it_is_given() -> None:
    """Numbers may come as texts, and yes as a word."""
    gateway, tools = Gateway(), WritingTools()
    gateway.bench.open(desk(tools), Settings())

    await gateway.call("chatto_read_thread", {"thread": "T2", "limit": "7"})
    await gateway.call("chatto_search", {"words": "a b", "room": None})
    found = await gateway.call("chatto_members", {"name": "ad"})
    await gateway.call("chatto_react", {"message_id": "m1", "emoji": "tada", "remove": True})
    refused = await gateway.call("chatto_post", {"text": "hello"})

    assert [asked[1:] for asked in tools.asked] == [
        (Where(None, "T2"), 7),
        (Where(), "a b"),
        (Where(), "ad"),
        (Where(), "m1", "tada", False),
        (Where(), "hello"),
    ]
    assert found["members"] == [{"user_id": "U1", "login": "ada", "name": "Ada", "may_ask": True}]
    assert refused == {"error": "no"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("chatto_read_room", {"limit": "many"}),
        ("chatto_read_room", {"limit": True}),
        ("chatto_read_room", {"room": ["R1"]}),
        ("chatto_search", {}),
        ("chatto_search", {"words": "  "}),
        ("chatto_react", {"emoji": "tada"}),
    ],
)
async def test_junk_is_refused_in_a_sentence(name: str, arguments: Mapping[str, object]) -> None:
    """Nothing is asked of the sessions."""
    gateway, tools = Gateway(), WritingTools()
    gateway.bench.open(desk(tools), Settings())

    answer = await gateway.call(name, arguments)

    assert answer["error"].startswith("Refused: ")
    assert tools.asked == []


async def test_nothing_is_done_without_a_connection_or_a_run() -> None:
    """Before the start, after the stop, and for a run of another platform."""
    gateway, tools = Gateway(), WritingTools()
    assert "not connected" in (await gateway.call("chatto_read_room", {}))["error"]
    here = desk(tools)
    gateway.bench.open(here, Settings())
    elsewhere = await gateway.call("chatto_read_room", {}, platform="telegram")
    gateway.bench.close(desk(None))  # that of an adapter before: not this one
    assert (await gateway.call("chatto_read_room", {}))["messages"]
    gateway.bench.close(here)
    assert "not connected" in (await gateway.call("chatto_read_room", {}))["error"]
    gateway.bench.open(desk(None), Settings())

    assert "only while you answer somebody" in elsewhere["error"]
    assert "not connected" in (await gateway.call("chatto_read_room", {}))["error"]


async def test_posting_is_offered_by_its_setting() -> None:
    """In a toolset of its own."""
    gateway = Gateway()
    entry = gateway.entries["chatto_post"]
    assert entry["toolset"] == "chatto_post"
    assert not entry["check_fn"]()

    gateway.bench.open(desk(None), Settings(post_tool=True))

    assert entry["check_fn"]()
    assert {
        each["toolset"] for name, each in gateway.entries.items() if name != "chatto_post"
    } == {"chatto"}


async def test_a_room_without_a_connection_has_no_tools_where_some_have_lists() -> None:
    """A run that is being ended gets no more than its room has."""
    gateway = Gateway()
    listed = Settings(rooms=(("R1", RoomRules(toolsets=("web",))),))
    gateway.bench.open(desk(WritingTools()), listed)
    assert gateway.bench.toolsets_of("R1") == ("web",)
    assert gateway.bench.toolsets_of("R2") is None
    gateway.bench.open(desk(None), listed)
    assert gateway.bench.toolsets_of("R2") == ()
    gateway.bench.open(desk(None), Settings())

    assert gateway.bench.toolsets_of("R2") is None
