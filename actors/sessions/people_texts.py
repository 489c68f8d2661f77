"""What people read of the plugin's own: answers to its commands, and why something was refused."""

from collections.abc import Mapping, Sequence

__all__ = [
    "ALWAYS_MEANT",
    "BOTS",
    "EVERYBODY_MAY",
    "FOLLOW_UPS",
    "JOIN_IN_PRIVATE",
    "LET_IN_BY_GATEWAY",
    "LISTED",
    "MENTION_ALONE_NEEDED",
    "MENTION_NEEDED",
    "MUTED",
    "NO_MENTION_NEEDED",
    "OWN_PROMPT",
    "REFUSALS",
    "STATES",
    "UNREACHABLE",
    "WHY_NONE",
    "asked_meanwhile",
    "cannot",
    "joined",
    "lane_full",
    "left",
    "lines_told",
    "no_room_of_both",
    "no_such_room",
    "own_toolsets",
    "too_many_attempts",
    "usage",
    "whoami",
    "why",
]

WHY_NONE = (
    "I know of no message of yours here that was meant for me. I keep nothing about messages that "
    "are not, so I cannot say more about one of those: mention me, or reply to one of my messages."
)
JOIN_IN_PRIVATE = "Please say that to me in a direct message: /join ROOM or /leave ROOM."

LISTED = "you are on the operator's list"
EVERYBODY_MAY = "everybody may"
LET_IN_BY_GATEWAY = "the gateway lets you in"

ALWAYS_MEANT = "every message is meant for me, if there are only the two of us"
MENTION_NEEDED = "a message has to mention me, or reply to me"
NO_MENTION_NEEDED = "no mention is needed"
MUTED = (
    "my account has this place muted: what you say here while I am not connected I never see; "
    "whoever looks after the account can change that"
)
MENTION_ALONE_NEEDED = "a message has to mention me"
BOTS: Mapping[str, str] = {
    "none": "other programs do not count",
    "mentions": "other programs that I am told to listen to have to mention me",
    "all": "other programs that I am told to listen to count like people",
}
"""By the setting."""
OWN_PROMPT = "I have instructions of my own for this place"
FOLLOW_UPS: Mapping[str, str] = {
    "off": "in my threads every message has to mention me, too",
    "asker": "in my threads whoever asked may go on without a mention",
    "anyone": "in my threads anybody may go on without a mention",
}
"""By the setting."""

UNREACHABLE = "The server did not answer; please try again later."
REFUSALS: Mapping[str, str] = {
    "not_yours": "Only {name}, whose question waits for it, can approve, deny or choose here.",
    "not_alone": (
        "Approvals here belong to the person whose question waits for them, so nobody can switch "
        "them off for all."
    ),
    "too_many_waiting": (
        "Not taken: at most {waiting} questions of one person may wait. Ask again when one of "
        "yours is answered."
    ),
    "too_many_this_hour": (
        "Not taken: at most {hourly} questions of one person are answered within an hour. Ask "
        "again later."
    ),
}
"""By the reason of a refused turn: the few of which the person is told in words."""


STATES: Mapping[str, str] = {
    "received": "it has just come in",
    "refused": "it was refused",
    "admitted": "it waits for its turn",
    "queued": "it waits for its turn",
    "handed": "it is about to be answered",
    "processing": "I am at it",
    "delivering": "its answer is on the way",
    "answered": "it was answered",
    "silent": "I had nothing to say to it",
    "failed": "it could not be answered",
    "cancelled": "it was ended by a command",
    "bypassed": "it was a command",
    "held": "it is a command, and waits until I have started",
    "folded": "I took it up together with another question",
    "correcting": "I begin again with what you made of it",
    "stopping": "it is being stopped",
    "retracted": "it was taken back",
    "expired": "I found it too late",
    "interrupted": "I was stopped over it and may go on",
}
"""What each state of a turn means to whoever asked."""


def why(at: str, state: str, reason: str | None) -> str:
    """Say what became of somebody's last message here.

    Args:
        at: when it was posted, in words.
        state: of its turn.
        reason: why, as the views say it; None: there is nothing to add.
    """
    because = f": {reason}" if reason else ""
    text = f"Your last message here that was meant for me, of {at}: {STATES[state]}{because}."
    if state in {"answered", "silent"}:
        text += " If you wrote more since, it was not meant for me: I keep nothing about that."
    return text


def whoami(login: str, user_id: str, let_in_by: str, rules: Sequence[str]) -> str:
    """Say who somebody is to the agent, and what holds here."""
    lines = [f"You are @{login} ({user_id}). You may talk to me: {let_in_by}.", "Here:"]
    return "\n".join([*lines, *(f"- {rule}" for rule in rules)])


def own_toolsets(names: Sequence[str]) -> str:
    """Say which tools there are."""
    return f"I have these toolsets alone: {', '.join(names)}"


def lines_told(thread: int, room: int) -> str:
    """Say how much the agent is told before a question."""
    return f"before a question I am told {thread} lines of its thread, or {room} of the room"


def asked_meanwhile(name: str) -> str:
    """Say that a message answers nothing."""
    return (
        f"I have asked {name} something and wait for that answer; yours I take as a question of "
        "your own, after that."
    )


def lane_full(count: int) -> str:
    """Say that as many questions wait as may."""
    return (
        f"{count} questions are waiting in this conversation already, so I cannot take this one; "
        "please ask again when some of them are answered."
    )


def too_many_attempts(count: int) -> str:
    """Say that a question is given up."""
    return (
        f"I have begun with this question {count} times and never got to its end, so I am leaving "
        "it; please ask again."
    )


def usage(command: str) -> str:
    """Say how a command with a room is written."""
    return f"Which room? Write {command} ROOM, with its name or its ID."


def no_such_room(room: str) -> str:
    """Say that the account sees no such room."""
    return f"I see no room called {room}."


def no_room_of_both(room: str) -> str:
    """Say that a room is out of somebody's reach, whether there is one or not."""
    return f"I see no room called {room} that you are in, too."


def joined(room: str, *, was_inside: bool) -> str:
    """Say that the agent is in a room."""
    return f"I am in {room} already." if was_inside else f"I am in {room} now."


def left(room: str, *, was_inside: bool) -> str:
    """Say that the agent is out of a room."""
    return f"I have left {room}." if was_inside else f"I am not in {room}."


def cannot(room: str, text: str) -> str:
    """Say that the server lets the agent not go in, or out."""
    return f"The server does not let me ({room}): {text}."
