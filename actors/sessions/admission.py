"""Whether a message concerns the agent, and why: one pure function for every way in.

Posted, edited, caught-up and recovered messages meet here. The order of the questions is the
order of their cost and of what may be told to whom: nothing is asked about the words of somebody
who may not speak to the agent at all.

What stops a message before it is known to be meant leaves no row (`NotForUs`); what stops it
afterwards is a row with its reason (`Refused`). Whether it was decided before is no question
here: the message's row is its own answer.
"""

import re
from dataclasses import dataclass
from enum import Enum

from .characters import trim
from .facts import Message, Room
from .mentions import leading_mention_end, mentioned_handles
from .policy import Bots, EditedUnseen, FollowUps, Policy
from .room_rules import Rules, answers_room, needs_no_mention, rules_of
from .stream_events import Target, TargetKind

__all__ = [
    "APPROVALS",
    "Addressed",
    "Admitted",
    "Bypassed",
    "Cause",
    "Editor",
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

APPROVALS = frozenset({"/approve", "/deny"})
"""Commands that settle what a run waits for."""

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


class Editor(Enum):
    """Whose words a message holds."""

    AUTHOR = "author"
    OTHER = "other"
    """A moderator edited it last."""
    UNKNOWN = "unknown"
    """It was edited while nobody watched."""


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


CALLED = frozenset({Cause.MENTION, Cause.ROLE, Cause.BROADCAST})
"""Causes that are a mention, as a program has to make one."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message and everything the decision about it rests on."""

    message: Message
    room: Room
    path: Path
    own_id: str
    own_login: str
    let_in_by: str | None
    """Which entry or rule lets the author talk to the agent here; None: none does."""
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
    editor: Editor = Editor.AUTHOR
    author_is_program: bool = False
    caused_by_programs: int = 0
    """Turns that programs caused, in that thread or this one anywhere, since a person wrote."""
    waiting: int = 0
    """Questions of the author that wait."""
    within_the_hour: int = 0
    """Questions of the author within the last hour."""
    targets: tuple[Target, ...] | None = None
    """Whom the server says it mentions; None: it does not, the text has to."""
    command_asks: bool = False
    """Whether it is a command that has the agent run."""
    approval_waits: bool = False
    """Whether it is an approval, and a run in that conversation waits for one."""
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
    asks: bool = False
    """Whether it has the agent run, so that it is a question as far as limits go."""

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
    rules = rules_of(inbound.room, policy)
    if stopped := _stopped(inbound, policy, rules):
        return NotForUs(stopped)
    cause = _cause(inbound, policy, rules)
    if isinstance(cause, NotForUs):
        return cause
    if inbound.author_is_program and rules.allow_bots is not Bots.ALL and cause not in CALLED:
        return NotForUs("program_without_mention")
    text = trim(inbound.message.body)
    command = text if cause is Cause.STRANGER else command_in(text, inbound.own_login)
    if inbound.is_too_old:
        return Expired(cause)
    if refused := _refused(inbound, policy, command):
        return Refused(cause, refused)
    return Admitted(cause) if command is None else Bypassed(cause, command, inbound.command_asks)


def _stopped(inbound: Inbound, policy: Policy, rules: Rules) -> str | None:
    """Ask who wrote it and where: what fails here is not even looked into."""
    message = inbound.message
    if message.author_id == inbound.own_id:
        return "own_message"
    if inbound.editor is Editor.OTHER and inbound.path is Path.EDITED:
        return "editor_is_not_author"
    if not answers_room(inbound.room, policy):
        return "room_not_answered"
    if inbound.let_in_by is None and not _lets_gateway_decide(inbound, policy):
        return "author_not_allowed"
    if inbound.author_is_program and rules.allow_bots is Bots.NONE:
        return "program"
    # The thread reply an echo repeats is a message of its own.
    return "echo" if message.echo_of_id is not None else None


def _lets_gateway_decide(inbound: Inbound, policy: Policy) -> bool:
    """Tell whether a stranger's direct message is the gateway's to answer, by its setting."""
    return policy.strangers_reach_gateway and inbound.is_pair and inbound.path is Path.POSTED


def _cause(inbound: Inbound, policy: Policy, rules: Rules) -> Cause | NotForUs:
    """Ask what the words are about: why they concern the agent, if they do."""
    if inbound.let_in_by is None:
        return Cause.STRANGER
    said = addressed(inbound)
    if inbound.is_pair and not (said.is_named and inbound.author_is_program):
        return Cause.DIRECT
    if said.is_named:
        return Cause.MENTION
    if inbound.replies_to_own and policy.answer_replies:
        return Cause.REPLY
    if called := _called_by_server(said, policy):
        return called
    return _unaddressed_cause(inbound, rules, names_others=said.names_others)


def _called_by_server(said: Addressed, policy: Policy) -> Cause | None:
    """Name a mention that only the server can resolve: a role, or everybody."""
    if said.has_role and policy.role_mentions:
        return Cause.ROLE
    return Cause.BROADCAST if said.is_broadcast and policy.broadcast_mentions else None


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


def _unaddressed_cause(inbound: Inbound, rules: Rules, *, names_others: bool) -> Cause | NotForUs:
    """Decide about words that do not address the agent: a follow-up, or an open room."""
    follows = inbound.answered_here and (
        rules.follow_ups is FollowUps.ANYONE
        or (rules.follow_ups is FollowUps.ASKER and inbound.author_is_asker)
    )
    follows = follows or inbound.approval_waits
    if not follows and rules.needs_mention:
        return NotForUs("not_addressed")
    message = inbound.message
    points_elsewhere = message.in_reply_to is not None and not inbound.replies_to_own
    if names_others or (points_elsewhere and message.in_reply_to != message.thread_root_id):
        return NotForUs("addressed_elsewhere")
    return Cause.FOLLOW_UP if follows else Cause.OPEN_ROOM


def _refused(inbound: Inbound, policy: Policy, command: str | None) -> str | None:
    """Say why a message that is meant will not run; None: it will."""
    if inbound.room.is_archived or not inbound.room.takes_answers:
        return "room_archived" if inbound.room.is_archived else "room_read_only"
    if command is not None and inbound.path is not Path.POSTED:
        return "command"
    if command is not None and not inbound.is_pair and _lifts_approvals(command):
        return "not_alone"
    if whose := _why_not_the_authors(inbound.editor, policy):
        return whose
    if inbound.author_is_program and inbound.caused_by_programs >= policy.loop_budget:
        return "loop_budget"
    is_question = command is None or inbound.command_asks
    return _over_limit(inbound, policy) if is_question else None


def _lifts_approvals(command: str) -> bool:
    """Tell whether a command lets runs of other people do what those were to be asked about.

    Source: Hermes 0.22, gateway/slash_commands.py: _handle_yolo_command, of the conversation;
    _handle_approvals_command, of the profile, where a mode is given.
    """
    name, *words = command.lower().split()
    return name == "/yolo" or (name == "/approvals" and bool(words))


def _why_not_the_authors(editor: Editor, policy: Policy) -> str | None:
    """Say why words must not be asked in the author's name; None: they may."""
    if editor is Editor.OTHER:
        return "editor_is_not_author"
    refuses = policy.revisions.unseen is EditedUnseen.REFUSE
    return "edited_unseen" if editor is Editor.UNKNOWN and refuses else None


def _over_limit(inbound: Inbound, policy: Policy) -> str | None:
    if 0 < policy.max_waiting <= inbound.waiting:
        return "too_many_waiting"
    if 0 < policy.max_turns_per_hour <= inbound.within_the_hour:
        return "too_many_this_hour"
    return None


def command_in(body: str, own_login: str) -> str | None:
    """Return the command a message is, from its slash on; None: it is none.

    A mention of the agent may stand before it. Invisible characters around it do not count,
    since some clients put them there.
    """
    text = trim(body)
    text = trim(text[leading_mention_end(text, own_login) :])
    return text if COMMAND.match(text) else None
