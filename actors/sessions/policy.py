"""What the operator decided about who may talk to the agent, and when it is meant."""

from dataclasses import dataclass, field
from enum import Enum

__all__ = [
    "NO_SIGNS",
    "Bots",
    "ContextLimits",
    "EditedUnseen",
    "FollowUps",
    "Policy",
    "Revisions",
    "RoomRules",
    "Signs",
]


class FollowUps(Enum):
    """Whose messages count without a mention in a thread where the agent answered."""

    OFF = "off"
    ASKER = "asker"
    """The person whose question runs, waits or was answered last there."""
    ANYONE = "anyone"


class Bots(Enum):
    """Which words of other programs count, if they may talk to the agent at all."""

    NONE = "none"
    MENTIONS = "mentions"
    """Those that mention the agent."""
    ALL = "all"


class EditedUnseen(Enum):
    """What becomes of a message that was edited while nobody watched, so by nobody knows whom."""

    REFUSE = "refuse"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Revisions:
    """What edits may do."""

    count: bool = True
    """Whether they correct, add or withdraw questions; False: they are ignored."""
    window_s: int = 300
    """Oldest edit that counts, by the server's times of message and edit."""
    pause_s: float = 1.0
    """Pause after an edit before a stopped run starts again."""
    unseen: EditedUnseen = EditedUnseen.REFUSE


@dataclass(frozen=True, slots=True)
class Signs:
    """Reactions on a message that say how its turn stands; None: no such sign."""

    waiting: str | None = None
    seen: str | None = "eyes"
    cancelled: str | None = "no_entry_sign"
    failed: str | None = "x"


NO_SIGNS = Signs(waiting=None, seen=None, cancelled=None, failed=None)


@dataclass(frozen=True, slots=True)
class RoomRules:
    """What the operator decided about one room; None: nothing, so what holds everywhere does."""

    require_mention: bool | None = None
    follow_ups: FollowUps | None = None
    allow_bots: Bots | None = None
    toolsets: tuple[str, ...] | None = None
    """Toolsets of its runs, in place of the platform's; never empty."""
    prompt: str | None = None
    """What the agent is told besides, in this room."""
    thread_lines: int | None = None
    room_lines: int | None = None
    written: tuple[str, ...] = field(default=(), compare=False)
    """Where it is written, as the operator finds it again; nothing follows from it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that admission reads."""

    allowed_user_entries: tuple[str, ...] = ()
    """Logins or user IDs, as written; `*` is everybody."""
    allow_all: bool = False
    strangers_reach_gateway: bool = False
    """Whether a stranger's direct message goes to the gateway (pairing, decline)."""
    require_mention: bool = True
    free_rooms: tuple[str, ...] = ()
    """Rooms that need no mention: IDs or names."""
    allowed_rooms: tuple[str, ...] | None = None
    """Rooms to answer in: IDs or names; None: every room the account is in."""
    role_mentions: bool = True
    broadcast_mentions: bool = False
    answer_replies: bool = True
    follow_ups: FollowUps = FollowUps.ASKER
    rooms: tuple[tuple[str, RoomRules], ...] = ()
    """Rules of single rooms, by ID or name; they win over what is said above."""
    allow_bots: Bots = Bots.NONE
    bot_entries: tuple[str, ...] = ()
    """Accounts that are programs: logins or user IDs, as written."""
    loop_budget: int = 5
    """Turns programs may cause in a thread, or one of them anywhere, until a person writes."""
    max_waiting: int = 0
    """Questions of one person that may wait; 0: no limit."""
    max_turns_per_hour: int = 0
    """Turns of one person within an hour; 0: no limit."""
    revisions: Revisions = Revisions()
    signs: Signs = Signs()
    post_tool: bool = False
    """Whether the agent's tool that posts elsewhere is on."""


@dataclass(frozen=True, slots=True)
class ContextLimits:
    """How much of what was said before a turn is told."""

    thread_lines: int = 20
    """Lines of one slice of a thread, the five newest besides; 0: no block and no read."""
    room_lines: int = 20
    """Lines of a room; 0: no block and no read."""
    characters: int = 20_000
    """Of one block."""
    pointer_wait_s: float = 5.0
    """Longest wait for the message a trigger points at."""
    page_rows: int = 101
    """Rows of a page around a frontier, 13 or more: an answer of some 50 KB."""
