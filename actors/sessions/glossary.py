"""The words that stand in the rows, and what they mean to whoever reads them."""

from collections.abc import Mapping

from ...machines.catalogue import CHARTS
from ...store.glossary import EntryRow

__all__ = ["CAUSES", "REASONS", "entries"]

CAUSES: Mapping[str, str] = {
    "broadcast": "it calls everybody in the room",
    "direct": "it was said in a direct conversation with the agent",
    "follow_up": "it goes on in a thread where the agent answers its author",
    "mention": "it mentions the agent by its login",
    "open_room": "it was said in a room that needs no mention",
    "reply": "it replies to a message of the agent",
    "role": "it mentions a role the agent has",
    "stranger": "a stranger's direct message, which the gateway answers",
}
"""By what stands in a column `cause` of a turn: why a message concerns the agent."""

REASONS: Mapping[str, str] = {
    "addressed_elsewhere": "it is addressed to somebody else",
    "asked_by": "somebody told the agent to, by a command",
    "author_not_allowed": "its author may not talk to the agent",
    "author_gone": "its author's account was deleted",
    "answer_owed": "the process ended under its answer, which the gateway will hand over",
    "answer_pending": "the answer was never posted",
    "edit": "its question was edited",
    "new": "ended by the command /new",
    "reset": "ended by the command /reset",
    "stop": "ended by the command /stop",
    "message_deleted": "its message was deleted",
    "archived": "the room is archived",
    "busy": "the server asked to come back later",
    "cancelled": "ended by a command",
    "command": "a command that was not run: only freshly posted ones are",
    "corrected": "its run was ended, and it starts again with the edited words",
    "context_unreadable": "the conversation it belongs to could not be read",
    "deaf_to_room": "the stream kept silent about a room the account is in again",
    "echo": "the repetition of a thread reply in the room; the reply itself counts",
    "edited": "it became a question by an edit",
    "edited_unseen": "it was edited while nobody watched, so by nobody knows whom",
    "editor_is_not_author": "somebody else edited it: its words are not its author's",
    "failed_precondition": "the room takes no posts (any more)",
    "failed_inside": "a defect of the plugin; the log has the details",
    "foreign_account": "the position was that of another account, and is not used",
    "foreign_profile": "the position was that of another profile, and is not used",
    "found": "it was so after a connection; nobody saw it happen",
    "gap": "the stream was interrupted: posts may have been missed",
    "gateway_unreadable": "the process ended under it, and the gateway's files are locked",
    "inside": "a defect of the plugin; the log has the details",
    "loop_budget": "programs have caused as many turns as they may until a person writes",
    "never_ran": "the process ended before the gateway began its run: it waits again",
    "joined": "the server said so: the account joined, or somebody added it",
    "left": "the server said so: the account left, was removed or banned",
    "inbox_refused": "the server has no list of what was missed",
    "missed": "so many messages that may be meant were found after a gap",
    "no_answer": "the run ended and nothing was posted",
    "not_addressed": "it is not meant for the agent",
    "not_connected": "the credential was of no use any more",
    "not_delivered": "the gateway had its answer and gave it up after a restart",
    "not_found": "the room, the thread or the message is gone",
    "not_alone": "a command that switches approvals off, where other people ask as well",
    "not_yours": "an approval or a choice of somebody whose question does not run",
    "not_resumed": "the process ended under it and the gateway did not take it up again",
    "not_taken": "the gateway did not start a run for it",
    "overloaded": "too much waits already",
    "own_message": "the agent's own",
    "outcome_unknown": "nobody knows whether the answer was posted; it was not found",
    "permission_denied": "the agent may not post there",
    "process_died": "the process ended under it",
    "process_ended": "the process ended under it",
    "program": "posted by a program, and programs do not count there",
    "program_without_mention": "posted by a program that does not mention the agent",
    "invalid_argument": "the server takes no such post",
    "lane_full": "too many questions wait in that conversation",
    "rate_limited": "the server asked to come back later for too long",
    "position_too_old": "nothing was heard for longer than the resume window",
    "redelivered": "the same event came again",
    "room_archived": "the room is archived: nobody can post there",
    "room_changed": "something about the room itself changed",
    "resumed": "the stream went on where it had stopped",
    "room_not_answered": "the agent does not answer in that room",
    "room_read_only": "the agent may not post there",
    "run_does_not_end": "its run was stopped and did not end in time",
    "run_cancelled": "the gateway ended its run",
    "run_failed": "the agent's run failed",
    "run_stopped": "its run was stopped",
    "session_gone": "the gateway has no such conversation any more",
    "session_replaced": "the gateway has another conversation in its place",
    "state_unreadable": "the state file could not be read",
    "session_without_row": "the conversation is older than these rows",
    "stopping": "the plugin is being stopped; it goes out after the next start",
    "too_late": "an edit that came when nothing could be changed any more",
    "too_old": "later than its window allows: that of edits, or that of answers after an absence",
    "unchanged": "an edit that changes neither words nor files",
    "was_out_of_room": "the agent was out of the room for a while: the thread is read",
    "too_large": "the server takes no post of that size",
    "too_many_attempts": "it was handed to the gateway too often",
    "too_many_posts": "more was posted than is remembered: the thread is read",
    "too_many_this_hour": "its author asked as often within an hour as one may",
    "too_many_waiting": "as many questions of its author wait as may",
    "unreachable": "the server did not answer",
    "unreadable": "the message could not be read: deleted, or out of reach",
}
"""By what stands before a colon in a column `reason`."""


def entries() -> list[EntryRow]:
    """Return the meanings of all states, causes and reasons."""
    states = [
        EntryRow(chart.MACHINE, state, meaning)
        for chart in CHARTS
        for state, meaning in chart.MEANING.items()
    ]
    words = [("cause", CAUSES), ("reason", REASONS)]
    return states + [
        EntryRow(kind, word, meaning)
        for kind, meanings in words
        for word, meaning in meanings.items()
    ]
