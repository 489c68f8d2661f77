"""The words that stand in the rows, and what they mean to whoever reads them."""

from collections.abc import Mapping

from ...machines.catalogue import CHARTS
from ...store.glossary import EntryRow

__all__ = ["REASONS", "entries"]

REASONS: Mapping[str, str] = {
    "author_not_allowed": "its author may not talk to the agent",
    "author_gone": "its author's account was deleted",
    "answer_pending": "the answer was never posted",
    "archived": "the room is archived",
    "busy": "the server asked to come back later",
    "cancelled": "ended by a command",
    "command": "a command that was not run: only freshly posted ones are",
    "deaf_to_room": "the stream kept silent about a room the account is in again",
    "context_unreadable": "the conversation it belongs to could not be read",
    "edited_unseen": "it was edited while nobody watched, by nobody knows whom",
    "failed_inside": "a defect of the plugin; the log has the details",
    "foreign_account": "the position was that of another account, and is not used",
    "foreign_profile": "the position was that of another profile, and is not used",
    "gap": "the stream was interrupted: posts may have been missed",
    "inside": "a defect of the plugin; the log has the details",
    "inbox_refused": "the server has no list of what was missed",
    "missed": "so many messages that may be meant were found after a gap",
    "no_answer": "the run ended and nothing was posted",
    "not_addressed": "it is not meant for the agent",
    "not_connected": "the credential was of no use any more",
    "not_found": "the room, the thread or the message is gone",
    "not_resumed": "the process ended under it and the gateway did not take it up again",
    "not_taken": "the gateway did not start a run for it",
    "outcome_unknown": "nobody knows whether the answer was posted; it was not found",
    "permission_denied": "the agent may not post there",
    "process_died": "the process ended under it",
    "process_ended": "the process ended under it",
    "invalid_argument": "the server takes no such post",
    "lane_full": "too many questions wait in that conversation",
    "rate_limited": "the server asked to come back later for too long",
    "position_too_old": "nothing was heard for longer than the resume window",
    "redelivered": "the same event came again",
    "resumed": "the stream went on where it had stopped",
    "room_not_answered": "the agent does not answer in that room",
    "run_cancelled": "the gateway ended its run",
    "run_failed": "the agent's run failed",
    "run_stopped": "its run was stopped",
    "session_gone": "the gateway has no such conversation any more",
    "session_replaced": "the gateway has another conversation in its place",
    "session_without_row": "the conversation is older than these rows",
    "was_out_of_room": "the agent was out of the room for a while: the thread is read",
    "too_large": "the server takes no post of that size",
    "too_many_attempts": "it was handed to the gateway too often",
    "too_old": "found later than the resume window allows",
    "too_many_posts": "more was posted than is remembered: the thread is read",
    "unreachable": "the server did not answer",
    "unreadable": "the message could not be read: deleted, or out of reach",
}
"""By what stands before a blank or a colon in a column `reason`."""


def entries() -> list[EntryRow]:
    """Return the meanings of all states and reasons."""
    states = [
        EntryRow(chart.MACHINE, state, meaning)
        for chart in CHARTS
        for state, meaning in chart.MEANING.items()
    ]
    return states + [EntryRow("reason", word, meaning) for word, meaning in REASONS.items()]
