"""The agent's tools as the gateway knows them: names, schemas, arguments in and JSON out."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Protocol, TypeAlias

from ..sessions import model_texts as texts
from ..sessions.tool_port import Caller, Reading, ToolRefusedError, Tools, Where
from .tool_bench import ToolBench

__all__ = ["POST_TOOLSET", "TOOLSET", "ToolRegistrar", "register_tools"]

TOOLSET = "chatto"
"""Named like the platform: so the gateway's bundle `hermes-chatto` has it."""
POST_TOOLSET = "chatto_post"
"""Of its own, so that a room's list, or the bundle, never brings it along unasked."""

DEFAULT_LINES = 20
TRUE_WORDS = frozenset({"true", "yes", "1"})

Arguments: TypeAlias = Mapping[str, object]
Outcome: TypeAlias = Mapping[str, object]
Use: TypeAlias = Callable[[Tools, Caller, Arguments], Awaitable[Outcome]]


class ToolRegistrar(Protocol):
    """The part of the gateway's plugin context that tools need."""

    def register_tool(self, **entry: object) -> object:
        """Register a tool."""
        ...


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what it takes, and what is done with it."""

    name: str
    use: Use
    parameters: Mapping[str, str]
    """What each is, by name. All are text but `limit` and `remove`."""
    required: tuple[str, ...] = ()
    toolset: str = TOOLSET


def register_tools(registrar: ToolRegistrar, bench: ToolBench) -> None:
    """Register all of them; they say no by themselves as long as nothing is connected."""
    for tool in TOOLS:
        registrar.register_tool(
            name=tool.name,
            toolset=tool.toolset,
            schema=_schema(tool),
            handler=_handler(tool, bench),
            # The gateway asks now and then, in whose room it cannot say: only settings count.
            check_fn=(lambda: bench.may_post) if tool.toolset == POST_TOOLSET else None,
            description=texts.TOOLS[tool.name],
            emoji="\N{SPEECH BALLOON}",
        )


def _schema(tool: Tool) -> Mapping[str, object]:
    kinds = {"limit": "integer", "remove": "boolean"}
    properties = {
        name: {"type": kinds.get(name, "string"), "description": meaning}
        for name, meaning in tool.parameters.items()
    }
    return {
        "name": tool.name,
        "description": texts.TOOLS[tool.name],
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": list(tool.required),
        },
    }


def _handler(tool: Tool, bench: ToolBench) -> Callable[..., str]:
    """Return what the gateway calls, in a thread of its own; it gets JSON whatever happens."""

    def handle(arguments: Arguments, **more: object) -> str:
        del more
        try:
            outcome = bench.call(lambda tools, caller: tool.use(tools, caller, arguments))
        except ToolRefusedError as refusal:
            outcome = {"error": str(refusal)}
        return json.dumps(outcome, ensure_ascii=False)

    return handle


# --- each tool --------------------------------------------------------------------------------


async def _read_thread(tools: Tools, caller: Caller, arguments: Arguments) -> Outcome:
    limit = _number(arguments, "limit", DEFAULT_LINES)
    return _shown(await tools.read_thread(caller, _where(arguments), limit))


async def _read_room(tools: Tools, caller: Caller, arguments: Arguments) -> Outcome:
    limit = _number(arguments, "limit", DEFAULT_LINES)
    return _shown(await tools.read_room(caller, _where(arguments), limit))


async def _search(tools: Tools, caller: Caller, arguments: Arguments) -> Outcome:
    words = _needed(arguments, "words")
    return _shown(await tools.search(caller, _where(arguments), words))


async def _members(tools: Tools, caller: Caller, arguments: Arguments) -> Outcome:
    found = await tools.members(caller, _where(arguments), _needed(arguments, "name"))
    return {"note": texts.DATA, "members": [asdict(each) for each in found]}


async def _react(tools: Tools, caller: Caller, arguments: Arguments) -> Outcome:
    message_id, emoji = _needed(arguments, "message_id"), _needed(arguments, "emoji")
    on = str(arguments.get("remove", "")).strip().lower() not in TRUE_WORDS
    await tools.react(caller, _where(arguments), message_id, emoji, on=on)
    return {"done": True}


async def _post(tools: Tools, caller: Caller, arguments: Arguments) -> Outcome:
    ids = await tools.post(caller, _where(arguments), _needed(arguments, "text"))
    return {"posted": list(ids)}


def _shown(reading: Reading) -> Outcome:
    return {
        "note": texts.DATA,
        "room": {"id": reading.room_id, "name": reading.room},
        "thread": reading.thread,
        "messages": [asdict(said) for said in reading.said],
        "not_shown": reading.note,
    }


def _where(arguments: Arguments) -> Where:
    return Where(_text(arguments, "room"), _text(arguments, "thread"))


def _text(arguments: Arguments, name: str) -> str | None:
    """Return an argument as text; None: it was left out."""
    value = arguments.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ToolRefusedError(texts.not_a(name, "a text"))
    return str(value).strip() or None


def _needed(arguments: Arguments, name: str) -> str:
    value = _text(arguments, name)
    if value is None:
        raise ToolRefusedError(texts.not_a(name, "given"))
    return value


def _number(arguments: Arguments, name: str, default: int) -> int:
    value = _text(arguments, name)
    if value is None:
        return default
    if not value.isdecimal():
        raise ToolRefusedError(texts.not_a(name, "a whole number"))
    return int(value)


TOOLS: tuple[Tool, ...] = (
    Tool(
        "chatto_read_thread",
        _read_thread,
        {"room": texts.ROOM, "thread": texts.THREAD, "limit": texts.LIMIT},
    ),
    Tool("chatto_read_room", _read_room, {"room": texts.ROOM, "limit": texts.LIMIT}),
    Tool(
        "chatto_search",
        _search,
        {"words": "words to look for", "room": texts.ROOM, "thread": texts.THREAD},
        ("words",),
    ),
    Tool(
        "chatto_members",
        _members,
        {"name": "a part of a name or a login", "room": texts.ROOM},
        ("name",),
    ),
    Tool(
        "chatto_react",
        _react,
        {
            "message_id": "ID of the message",
            "emoji": "shortcode without colons, such as thumbsup",
            "remove": "true takes the reaction back",
            "room": texts.ROOM,
        },
        ("message_id", "emoji"),
    ),
    Tool(
        "chatto_post",
        _post,
        {
            "text": "what to post, in Markdown",
            "room": texts.ROOM,
            "thread": "ID of the message whose thread it goes into; left out: the room itself",
        },
        ("text",),
        POST_TOOLSET,
    ),
)
