"""The words that stand in the rows, and what they mean to whoever reads them."""

from collections.abc import Mapping

from ...machines.catalogue import CHARTS
from ...store.glossary import EntryRow

__all__ = ["REASONS", "entries"]

REASONS: Mapping[str, str] = {
    "addressed_elsewhere": "it is meant for somebody else",
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
    "failed_precondition": "the room takes no posts (any more)",
    "failed_inside": "a defect of the plugin; the log has the details",
    "echo": "a repetition of a message, not one of its own",
    "editor_is_not_author": "a moderator edited it: nobody's words are changed for them",
    "edited_unseen": "its words were changed, and nobody knows by whom",
    "gap": "the stream was interrupted: posts may have been missed",
    "gateway_unreadable": "the process ended under it, and the gateway's files are locked",
    "inside": "a defect of the plugin; the log has the details",
    "never_ran": "the process ended before the gateway began its run: it waits again",
    "no_answer": "the run ended and nothing was posted",
    "not_addressed": "it is not meant for the agent",
    "not_connected": "the credential was of no use any more",
    "not_delivered": "the gateway had its answer and gave it up after a restart",
    "not_found": "the room, the thread or the message is gone",
    "not_yours": "an approval of somebody whose question does not run",
    "not_resumed": "the process ended under it and the gateway did not take it up again",
    "not_taken": "the gateway did not start a run for it",
    "overloaded": "too much waits already",
    "own_message": "the agent's own",
    "outcome_unknown": "nobody knows whether the answer was posted; it was not found",
    "permission_denied": "the agent may not post there",
    "process_died": "the process ended under it",
    "process_ended": "the process ended under it",
    "invalid_argument": "the server takes no such post",
    "lane_full": "too many questions wait in that conversation",
    "rate_limited": "the server asked to come back later for too long",
    "redelivered": "the same event came again",
    "room_not_answered": "the agent does not answer in that room",
    "run_does_not_end": "its run was stopped and did not end in time",
    "run_cancelled": "the gateway ended its run",
    "run_failed": "the agent's run failed",
    "run_stopped": "its run was stopped",
    "session_gone": "the gateway has no such conversation any more",
    "session_replaced": "the gateway has another conversation in its place",
    "session_without_row": "the conversation is older than these rows",
    "stopping": "the plugin is being stopped; it goes out after the next start",
    "too_late": "an edit that came when nothing could be changed any more",
    "too_old": "an edit later than the window allows",
    "unchanged": "an edit that changes neither words nor files",
    "was_out_of_room": "the agent was out of the room for a while: the thread is read",
    "too_large": "the server takes no post of that size",
    "too_many_attempts": "it was handed to the gateway too often",
    "too_many_posts": "more was posted than is remembered: the thread is read",
    "unreachable": "the server did not answer",
    "unreadable": "the message could not be read: deleted, or out of reach",
}
"""By what stands before a colon in a column `reason`."""


def entries() -> list[EntryRow]:
    """Return the meanings of all states and reasons."""
    states = [
        EntryRow(chart.MACHINE, state, meaning)
        for chart in CHARTS
        for state, meaning in chart.MEANING.items()
    ]
    return states + [EntryRow("reason", word, meaning) for word, meaning in REASONS.items()]
