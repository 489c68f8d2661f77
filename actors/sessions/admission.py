"""Whether a message concerns the agent, and why: one pure function for every way in.

Posted, caught-up and recovered messages meet here. The order of the questions is the order
of their cost and of what may be told to whom: nothing is asked about the words of somebody
who may not speak to the agent at all.
"""

import re
from dataclasses import dataclass
from enum import Enum

from .characters import trim
from .facts import Message, Room, RoomKind
from .mentions import leading_mention_end, mentioned_handles
from .policy import FollowUps, Policy
from .stream_events import Target, TargetKind

__all__ = [
    "Addressed",
    "Admitted",
    "Bypassed",
    "Cause",
    "Expired",
    "Inbound",
    "NotForUs",
    "Path",
    "Refused",
    "Verdict",
    "admit",
    "answers_room",
    "command_in",
    "needs_no_mention",
]

BROADCASTS = frozenset({"all", "here"})
"""Handles that mean everybody. Source: Chatto 0.4.20, cli/internal/core/mentions.go."""

COMMAND = re.compile(r"/[A-Za-z][\w-]*(?=\s|$)")
"""A command as the gateway reads it: a slash, a name, and nothing stuck to it."""


class Path(Enum):
    """How a message came to us."""

    POSTED = "posted"
    EDITED = "edited"
    """Its author changed it within the window."""
    RECOVERED = "recovered"
    """Its receipt was written, then the process ended."""
    CAUGHT_UP = "caught_up"
    """It was posted while nobody listened."""
    REPLAYED = "replayed"
    """Likewise, and the stream brought it all the same."""


class Cause(Enum):
    """Why a message concerns the agent; the values stand in the store."""

    DIRECT = "direct"
    MENTION = "mention"
    ROLE = "role"
    BROADCAST = "broadcast"
    REPLY = "reply"
    FOLLOW_UP = "follow_up"
    OPEN_ROOM = "open_room"
    STRANGER = "stranger"
    """A stranger's direct message, for the gateway to decline or to pair with."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message and everything the decision about it rests on."""

    message: Message
    room: Room
    path: Path
    own_id: str
    own_login: str
    author_may_speak: bool
    is_pair: bool
    """Whether it is a direct conversation of the author with the agent alone."""
    server_says_mentioned: bool
    """Whether the server notified the account of it as a mention."""
    replies_to_own: bool
    """Whether it points at a message of the agent's account."""
    answered_here: bool
    """Whether the agent has a session in the thread it was posted in."""
    author_is_asker: bool
    """Whether a question of its author runs, waits or was answered last in that thread."""
    targets: tuple[Target, ...] | None = None
    """Whom the server says it mentions; None: it does not, the text has to."""
    is_too_old: bool = False
    """Whether it was found so late that nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class Addressed:
    """Whom a message is addressed to, whoever said so."""

    is_named: bool
    """Whether it mentions the account by its name."""
    has_role: bool
    """Whether it mentions a role the account holds."""
    is_broadcast: bool
    """Whether it calls everybody, the account among them."""
    names_others: bool
    """Whether it mentions somebody else, or a role."""


@dataclass(frozen=True, slots=True)
class NotForUs:
    """Leaves no row; counted by its cause."""

    cause: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Meant for the agent, and will not run."""

    cause: Cause
    reason: str


@dataclass(frozen=True, slots=True)
class Expired:
    """Meant for the agent, and found too late."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class Bypassed:
    """Goes past the lane: a command, or what the gateway itself is to see of a stranger."""

    cause: Cause
    command: str
    """What the gateway gets as the message; a command from its slash on."""

    @property
    def is_command(self) -> bool:
        """Whether the gateway runs it."""
        return self.cause is not Cause.STRANGER and self.command.startswith("/")


@dataclass(frozen=True, slots=True)
class Admitted:
    """Becomes a run of the agent."""

    cause: Cause


Verdict = NotForUs | Refused | Expired | Bypassed | Admitted


def admit(inbound: Inbound, policy: Policy) -> Verdict:
    """Decide what becomes of a message."""
    if stopped := _not_for_us(inbound, policy):
        return stopped
    if not inbound.author_may_speak:
        return Bypassed(Cause.STRANGER, trim(inbound.message.body))
    cause = _cause(inbound, policy)
    if isinstance(cause, NotForUs):
        return cause
    return Expired(cause) if inbound.is_too_old else _in_time(inbound, cause)


def answers_room(room: Room, policy: Policy) -> bool:
    """Tell whether the agent answers in a room at all.

    Archived rooms take no posts; direct conversations are not subject to the list of rooms.
    """
    if not room.is_member or room.is_archived:
        return False
    if room.kind is RoomKind.DIRECT or policy.allowed_rooms is None:
        return True
    return _names(room, policy.allowed_rooms)


def needs_no_mention(room: Room, policy: Policy) -> bool:
    """Tell whether what is said in a room is for the agent unless it says otherwise."""
    return not policy.require_mention or _names(room, policy.free_rooms)


def command_in(body: str, own_login: str) -> str | None:
    """Return the command a message is, from its slash on; None: it is none.

    A mention of the agent may stand before it. Invisible characters around it do not count,
    since some clients put them there.
    """
    text = trim(body)
    text = trim(text[leading_mention_end(text, own_login) :])
    return text if COMMAND.match(text) else None


def _not_for_us(inbound: Inbound, policy: Policy) -> NotForUs | None:
    message = inbound.message
    if message.author_id == inbound.own_id:
        return NotForUs("own_message")
    if not answers_room(inbound.room, policy):
        return NotForUs("room_not_answered")
    if not inbound.author_may_speak and not _lets_gateway_decide(inbound, policy):
        return NotForUs("author_not_allowed")
    if message.echo_of_id is not None:
        # The thread reply it repeats is a message of its own.
        return NotForUs("echo")
    return None


def _in_time(inbound: Inbound, cause: Cause) -> Verdict:
    """Decide about a message that is meant: only what was just posted can be a command."""
    command = command_in(inbound.message.body, inbound.own_login)
    if command is None:
        return Admitted(cause)
    if inbound.path is not Path.POSTED:
        return Refused(cause, "command")
    return Bypassed(cause, command)


def _lets_gateway_decide(inbound: Inbound, policy: Policy) -> bool:
    """Tell whether a stranger's direct message is the gateway's to answer, by its setting."""
    return policy.strangers_reach_gateway and inbound.is_pair and inbound.path is Path.POSTED


def _cause(inbound: Inbound, policy: Policy) -> Cause | NotForUs:
    if inbound.is_pair:
        return Cause.DIRECT
    said = addressed(inbound)
    if said.is_named:
        return Cause.MENTION
    if inbound.replies_to_own and policy.answer_replies:
        return Cause.REPLY
    if said.has_role and policy.role_mentions:
        return Cause.ROLE
    if said.is_broadcast and policy.broadcast_mentions:
        return Cause.BROADCAST
    return _unaddressed_cause(inbound, policy, names_others=said.names_others)


def addressed(inbound: Inbound) -> Addressed:
    """Tell whom a message is addressed to: by the server's word, where it has one.

    Else by the text, and, for what text cannot say, by the server's verdict. That does not say
    which of the handles it meant; where everybody is called that explains it, whoever else is
    named.
    """
    if inbound.targets is not None:
        return _addressed_by_server(inbound.targets, inbound.own_id)
    handles = {handle.lower() for handle in mentioned_handles(inbound.message.body)}
    is_broadcast = bool(handles & BROADCASTS)
    by_verdict = inbound.server_says_mentioned
    return Addressed(
        is_named=inbound.own_login.lower() in handles,
        has_role=by_verdict and bool(handles) and not is_broadcast,
        is_broadcast=by_verdict and is_broadcast,
        names_others=bool(handles - BROADCASTS),
    )


def _addressed_by_server(targets: tuple[Target, ...], own_id: str) -> Addressed:
    kinds = {target.kind for target in targets if target.includes_account}
    everybody = {TargetKind.HERE, TargetKind.ALL}
    return Addressed(
        is_named=any(t.kind is TargetKind.PERSON and t.name == own_id for t in targets),
        has_role=TargetKind.ROLE in kinds,
        is_broadcast=bool(kinds & everybody),
        names_others=any(
            t.kind not in everybody and not (t.kind is TargetKind.PERSON and t.name == own_id)
            for t in targets
        ),
    )


def _unaddressed_cause(
    inbound: Inbound, policy: Policy, *, names_others: bool
) -> Cause | NotForUs:
    """Decide about words that do not address the agent: a follow-up, or an open room."""
    follows = inbound.answered_here and (
        policy.follow_ups is FollowUps.ANYONE
        or (policy.follow_ups is FollowUps.ASKER and inbound.author_is_asker)
    )
    is_open = needs_no_mention(inbound.room, policy)
    if not follows and not is_open:
        return NotForUs("not_addressed")
    message = inbound.message
    points_elsewhere = message.in_reply_to is not None and not inbound.replies_to_own
    if names_others or (points_elsewhere and message.in_reply_to != message.thread_root_id):
        return NotForUs("addressed_elsewhere")
    return Cause.FOLLOW_UP if follows else Cause.OPEN_ROOM


def _names(room: Room, entries: tuple[str, ...]) -> bool:
    """Tell whether a list of rooms names this one, by its ID or its name in any case."""
    name = room.name.lower()
    return any(entry == room.room_id or (name and entry.lower() == name) for entry in entries)
