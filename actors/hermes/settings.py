# ruff: noqa: E501, FBT003, RUF009 - one line per setting is what makes the class a table
"""The operator's settings: one table, read from the environment, `config.yaml` and defaults.

A setting is one line of `Settings`. Its key is the attribute (without the unit), its variable
`CHATTO_` and the key in capitals. `plugin.yaml` and README's table are made from it
(`settings_pages`).
"""

import dataclasses
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..sessions.errors import SettingsConflictError
from ..sessions.policy import (
    NO_SIGNS,
    Bots,
    ContextLimits,
    EditedUnseen,
    FollowUps,
    Policy,
    Revisions,
    Signs,
)
from .room_blocks import BOTS, FOLLOW_UPS, contradiction, read_room_blocks
from .room_lists import RoomBlocks, joined_blocks, read_prompts, read_toolsets
from .values import JunkError, Kind, MalformedError, Secret, Value, read_value

__all__ = [
    "Row",
    "Settings",
    "SettingsError",
    "admission_policy",
    "context_limits",
    "missing_credential",
    "resolve",
    "settings_rows",
    "split_home",
]

T = TypeVar("T")

ACCOUNT = "Account"
WHO = "Who"
WHERE = "Where and when"
CONTEXT = "Context"
EDITS = "Edits and signs"
LIMITS = "Connection and limits"
TOOLS = "Tools and rooms"

GATEWAY_KEYS = frozenset(
    {
        "allow_admin_from", "allow_from", "cron_continuable_surface",
        "dm_policy", "exclusive_bot_mentions", "gateway_restart_notification",
        "group_allow_admin_from", "group_allow_from", "group_policy", "group_sessions_per_user",
        "group_user_allowed_commands", "mention_patterns", "notice_delivery", "reply_in_thread",
        "reply_prefix", "reply_to_mode", "send_read_receipts", "thread_sessions_per_user",
        "typing_indicator", "typing_status_text", "user_allowed_commands",
    }
)  # fmt: skip
"""What the gateway itself reads under a platform's `extra`, or copies into it."""


class SettingsError(Exception):
    """The settings cannot be used; the text is one line that names the entry and the remedy."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    attribute: str
    key: str
    kind: Kind
    default: Value
    meaning: str
    section: str
    variable: str | None
    """None: only `config.yaml` has it."""
    choices: tuple[str, ...] = ()
    is_required: bool = False


def setting(  # noqa: PLR0913 - the columns of the table
    kind: Kind,
    default: T,
    section: str,
    meaning: str,
    *,
    choices: Sequence[str] = (),
    is_required: bool = False,
    has_variable: bool = True,
) -> T:
    """Describe one setting; the dataclass keeps the description beside the field."""
    facts = {
        "kind": kind,
        "section": section,
        "meaning": meaning,
        "choices": tuple(choices),
        "is_required": is_required,
        "has_variable": has_variable,
    }
    described: T = field(default=default, metadata=facts)
    return described


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator decided, read once per start. Secrets show themselves nowhere."""

    # fmt: off
    url: str | None = setting(Kind.TEXT, None, ACCOUNT, "address of the server as in the browser, `https://chat.example.org`", is_required=True)
    token: Secret | None = setting(Kind.SECRET, None, ACCOUNT, "bearer token of the agent's account; used before login and password")
    login: str | None = setting(Kind.TEXT, None, ACCOUNT, "login or e-mail address of the account")
    password: Secret | None = setting(Kind.SECRET, None, ACCOUNT, "its password; a new token is fetched when the old one is refused")
    allowed_users: tuple[str, ...] = setting(Kind.LIST, (), WHO, "people who may talk to the agent: logins or user IDs; `*` = everybody. The gateway's own means (`GATEWAY_ALLOWED_USERS`, pairing) let in too")
    allow_all_users: bool = setting(Kind.BOOL, False, WHO, "everybody on the server may talk to the agent")
    unauthorized_dm_behavior: str = setting(Kind.CHOICE, "ignore", WHO, "a stranger's direct message: `ignore` (silence), `decline`, `pair`", choices=("ignore", "decline", "pair"), has_variable=False)
    allow_bots: str = setting(Kind.CHOICE, "none", WHO, "other programs: `none`, `mentions` (their mentions of the agent), `all`; they must be allowed users besides", choices=BOTS)
    bot_users: tuple[str, ...] = setting(Kind.LIST, (), WHO, "accounts that are programs, logins or user IDs (servers before 0.5 do not tell)")
    loop_budget: int = setting(Kind.INT, 5, WHO, "turns that programs may cause in one thread, or one program anywhere, until a person writes there")
    max_waiting_per_person: int = setting(Kind.INT, 0, WHO, "questions of one person that may wait, those put by a command (`/queue`) included; a further one is refused, and its author told; 0 = no limit")
    max_turns_per_hour: int = setting(Kind.INT, 0, WHO, "questions of one person within an hour, those put by a command (`/queue`, `/bg`, a skill) included; a further one is refused, and its author told; 0 = no limit")
    allowed_channels: tuple[str, ...] | None = setting(Kind.LIST, None, WHERE, "rooms to answer in, by ID or name; not set = every room the account is in. Direct messages are not affected")
    require_mention: bool = setting(Kind.BOOL, True, WHERE, "false: no room needs a mention")
    free_response_channels: tuple[str, ...] = setting(Kind.LIST, (), WHERE, "rooms that need no mention, by ID or name; a message that is addressed to somebody else is left alone there too")
    role_mentions: bool = setting(Kind.BOOL, True, WHERE, "the mention of a role the account holds counts")
    broadcast_mentions: bool = setting(Kind.BOOL, False, WHERE, "`@all` and `@here` count")
    answer_replies: bool = setting(Kind.BOOL, True, WHERE, "a reply to a message of the agent counts")
    follow_ups: str = setting(Kind.CHOICE, "asker", WHERE, "messages without a mention in a thread where the agent answered: `off`, `asker` (whose question runs, waits or was answered last), `anyone`; never one that is addressed to somebody else", choices=FOLLOW_UPS)
    rooms: RoomBlocks = setting(Kind.ROOM_MAP, (), WHERE, "settings of single rooms, by ID or name: `toolsets`, `require_mention`, `follow_ups`, `allow_bots`, `prompt`, `thread_context_message_limit`, `room_context_message_limit`; they win over those above, and the same thing said twice and differently stops the start", has_variable=False)
    home_channel: str | None = setting(Kind.TEXT, None, WHERE, "room, or ROOM/THREAD, for scheduled results and notices")
    thread_context_message_limit: int = setting(Kind.INT, 20, CONTEXT, "lines in a slice of `[Earlier in this thread]`, the five newest besides; 0 = no block, no read, the frontier moves to the trigger")
    room_context_message_limit: int = setting(Kind.INT, 20, CONTEXT, "lines in `[Earlier in this room]`; 0 = no block")
    context_char_limit: int = setting(Kind.INT, 20_000, CONTEXT, "characters of one block")
    edit_dispatch: bool = setting(Kind.BOOL, True, EDITS, "edits correct, add or withdraw questions; false: edits are ignored")
    edit_window_s: int = setting(Kind.SECONDS, 300, EDITS, "oldest edit that counts, by the server's times of message and edit")
    edit_debounce_ms: int = setting(Kind.INT, 1_000, EDITS, "pause after an edit before a stopped run starts again, in milliseconds")
    edited_unseen: str = setting(Kind.CHOICE, "refuse", EDITS, "a message edited while nobody watched, so that its editor is unknown: `refuse` (failed sign), `answer`", choices=("refuse", "answer"))
    reactions: bool = setting(Kind.BOOL, True, EDITS, "false: no reactions at all")
    reaction_seen: str | None = setting(Kind.EMOJI, "eyes", EDITS, "the turn has started; `off` = no such sign, here and below")
    reaction_waiting: str | None = setting(Kind.EMOJI, None, EDITS, "the message waits for its turn (`dotted_line_face` where the server knows it)")
    reaction_cancelled: str | None = setting(Kind.EMOJI, "no_entry_sign", EDITS, "the run was stopped")
    reaction_failed: str | None = setting(Kind.EMOJI, "x", EDITS, "no answer could be given")
    resume_window_s: int = setting(Kind.SECONDS, 900, LIMITS, "how old (by the server's clock) a missed message may be and still be answered")
    presence: bool = setting(Kind.BOOL, True, LIMITS, "show the account online while it is connected (`@here` reaches nobody who is offline)")
    read_timeout_s: int = setting(Kind.SECONDS, 10, LIMITS, "longest wait for a read")
    send_timeout_s: int = setting(Kind.SECONDS, 30, LIMITS, "longest wait for a post; then it is read back")
    rate_limit_wait_s: int = setting(Kind.SECONDS, 30, LIMITS, 'longest wait when the server says "later"; then the answer has failed')
    max_parallel_turns: int = setting(Kind.INT, 16, LIMITS, "turns at the gateway at once, commands apart; others wait in order, nobody is refused; 0 counts as 1")
    retention_days: int = setting(Kind.INT, 30, LIMITS, "how long finished turns and their transitions are kept; never shorter than edits and redeliveries reach back, a day")
    post_tool: bool = setting(Kind.BOOL, False, TOOLS, "give the agent a tool that posts elsewhere")
    cross_session_tools: bool = setting(Kind.BOOL, False, TOOLS, "the agent may look into its other conversations in every room and direct conversation (the gateway's `session_search`); false: only in a room whose list of toolsets names `session_search`")
    room_toolsets: RoomBlocks = setting(Kind.ROOM_MAP, (), TOOLS, "toolsets that *replace* `platform_toolsets.chatto` in a room and its threads: list every one the room keeps, `chatto` too if the agent keeps its tools there. As a variable: `R1=web,chatto; R2=web`")
    channel_prompts: RoomBlocks = setting(Kind.ROOM_MAP, (), TOOLS, "extra instructions for a room and its threads; they hold from a session's beginning", has_variable=False)
    # fmt: on


@dataclass(frozen=True, slots=True)
class Resolution:
    """What came out, and what the operator should hear about it."""

    settings: Settings
    warnings: tuple[str, ...]
    """One line each, fit for the log."""


def settings_rows() -> tuple[Row, ...]:
    """Return the table, in the order of `Settings`."""
    return tuple(_row(described) for described in dataclasses.fields(Settings))


def _row(described: "dataclasses.Field[Value]") -> Row:
    facts = described.metadata
    kind: Kind = facts["kind"]
    key = described.name.removesuffix("_s") if kind is Kind.SECONDS else described.name
    return Row(
        attribute=described.name,
        key=key,
        kind=kind,
        default=described.default if described.default is not dataclasses.MISSING else None,
        meaning=facts["meaning"],
        section=facts["section"],
        variable=f"CHATTO_{key.upper()}" if facts["has_variable"] else None,
        choices=facts["choices"],
        is_required=facts["is_required"],
    )


def resolve(variable: Callable[[str], str | None], extra: Mapping[str, object]) -> Resolution:
    """Read every setting: its variable, else its key, else its default.

    Args:
        variable: gives the value of a variable in the profile's scope; None: not set.
        extra: `platforms.chatto.extra` of `config.yaml`.

    Raises:
        SettingsError: an entry has another structure than its kind.
    """
    warnings: list[str] = []
    values: dict[str, Any] = {}  # the readers give what the fields say; a test compares them
    rows = settings_rows()
    for row in rows:
        values[row.attribute] = _resolve_row(row, variable, extra, warnings)
    warnings += _unknown_keys(extra, [row.key for row in rows])
    settings = dataclasses.replace(Settings(), **values)
    conflict = contradiction(settings.free_response_channels, settings.rooms)
    conflict = conflict or _joined_rooms(settings)[1]
    if conflict is not None:
        raise SettingsError(str(SettingsConflictError(*conflict)))
    return Resolution(settings, tuple(warnings))


def _joined_rooms(settings: Settings) -> tuple[RoomBlocks, tuple[str, str] | None]:
    return joined_blocks(settings.rooms, settings.room_toolsets, settings.channel_prompts)


def _resolve_row(
    row: Row,
    variable: Callable[[str], str | None],
    extra: Mapping[str, object],
    warnings: list[str],
) -> Value | RoomBlocks:
    written = _written(row, variable, extra)
    if written is None:
        return row.default
    name, raw = written
    try:
        if row.kind is Kind.ROOM_MAP:
            return _room_map(row.key, name, raw, warnings)
        value = read_value(row.kind, raw, row.choices)
    except JunkError as junk:
        shown = "the value" if row.kind is Kind.SECRET else repr(raw)
        warnings.append(f"{name}: {shown} is not {junk}; the default applies")
        return row.default
    except MalformedError as malformed:
        message = f"{name} is not {malformed}. Correct it and restart the gateway."
        raise SettingsError(message) from malformed
    if value == ():
        warnings.append(f"{name} is written but empty: that means none, not all")
    return value


def _room_map(key: str, name: str, raw: object, warnings: list[str]) -> RoomBlocks:
    match key:
        case "room_toolsets":
            return read_toolsets(name, raw)
        case "channel_prompts":
            return read_prompts(name, raw)
        case _:
            return read_room_blocks(name, raw, warnings)


def _written(
    row: Row, variable: Callable[[str], str | None], extra: Mapping[str, object]
) -> tuple[str, object] | None:
    """Return where a setting is written and what; None where it is not."""
    if row.variable is not None:
        text = variable(row.variable)
        if text is not None and text.strip():
            return row.variable, text
    raw = extra.get(row.key)
    is_blank = raw is None or (isinstance(raw, str) and not raw.strip())
    if row.key not in extra or (is_blank and row.kind is not Kind.LIST):
        return None
    return f"platforms.chatto.extra.{row.key}", raw


def _unknown_keys(extra: Mapping[str, object], known: Sequence[str]) -> Iterator[str]:
    for key in extra:
        if key in known or key in GATEWAY_KEYS or str(key).startswith("_"):
            continue
        near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.0)
        yield f"platforms.chatto.extra.{key} is no setting; the nearest is {near[0]}"


def missing_credential(settings: Settings) -> str | None:
    """Return in one line what is missing to connect, and the remedy; None: nothing is."""
    if settings.url is None:
        return (
            "CHATTO_URL is not set: give the address of the Chatto server as in the browser, "
            "for example https://chat.example.org (or url under platforms.chatto.extra)."
        )
    if settings.token is not None or (settings.login and settings.password):
        return None
    if settings.login:
        return "CHATTO_PASSWORD is not set: give the password of the account in CHATTO_LOGIN."
    if settings.password:
        return "CHATTO_LOGIN is not set: give the login of the account CHATTO_PASSWORD belongs to."
    return (
        "No credential for Chatto: set CHATTO_TOKEN, or CHATTO_LOGIN and CHATTO_PASSWORD, "
        "of the agent's own account."
    )


def _revisions(settings: Settings) -> Revisions:
    return Revisions(
        count=settings.edit_dispatch,
        window_s=settings.edit_window_s,
        pause_s=settings.edit_debounce_ms / 1_000,
        unseen=EditedUnseen(settings.edited_unseen),
    )


def _signs(settings: Settings) -> Signs:
    if not settings.reactions:
        return NO_SIGNS
    return Signs(
        waiting=settings.reaction_waiting,
        seen=settings.reaction_seen,
        cancelled=settings.reaction_cancelled,
        failed=settings.reaction_failed,
    )


def context_limits(settings: Settings) -> ContextLimits:
    """Return how much of what was said before a turn is told."""
    return ContextLimits(
        thread_lines=settings.thread_context_message_limit,
        room_lines=settings.room_context_message_limit,
        characters=settings.context_char_limit,
    )


def admission_policy(settings: Settings) -> Policy:
    """Return what admission reads of the settings."""
    return Policy(
        allowed_user_entries=settings.allowed_users,
        allow_all=settings.allow_all_users,
        strangers_reach_gateway=settings.unauthorized_dm_behavior != "ignore",
        require_mention=settings.require_mention,
        free_rooms=settings.free_response_channels,
        allowed_rooms=settings.allowed_channels,
        role_mentions=settings.role_mentions,
        broadcast_mentions=settings.broadcast_mentions,
        answer_replies=settings.answer_replies,
        follow_ups=FollowUps(settings.follow_ups),
        rooms=_joined_rooms(settings)[0],
        allow_bots=Bots(settings.allow_bots),
        bot_entries=settings.bot_users,
        loop_budget=settings.loop_budget,
        max_waiting=settings.max_waiting_per_person,
        max_turns_per_hour=settings.max_turns_per_hour,
        revisions=_revisions(settings),
        signs=_signs(settings),
        post_tool=settings.post_tool,
    )


def split_home(home: str) -> tuple[str, str | None]:
    """Split `ROOM/THREAD` into room and thread root; None: the room itself."""
    room, _, thread = home.partition("/")
    return room.strip(), thread.strip() or None
