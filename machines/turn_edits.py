"""The table of what edits, deletions and everything else do to a turn, by where it stands.

Read off the turn's chart; only the words for what follows are written here.
"""

from collections.abc import Mapping

from .export import Arrow, Table, arrows_of, markdown_table
from .turn import TurnChart

__all__ = ["ELSEWHERE", "REVISIONS", "TURN_EDITS", "cells", "events"]

REVISIONS = ("edit", "retract")
"""What people do to a message that is posted."""

JUDGED_ANEW = "`admit` or `refuse`"
"""An edit of a refused message is no `edit`: admission is asked again, with the new words."""

PAST = "ignored: nothing is left to change; no call and no reaction"

AFTER_EDIT: Mapping[str, str] = {
    "received": "its words are replaced before anything is decided",
    "refused": "admission is asked again; if it lets the new words in, they wait in the lane",
    "admitted": "its words are replaced in place",
    "queued": "its words are replaced in place; its place in the lane stays",
    "handed": "the run is stopped and waited for, then starts again with the new words",
    "processing": "the run is stopped and waited for, then starts again with the new words",
    "interrupted": "if the gateway resumes the run, that is stopped; then it starts anew",
    "correcting": "the newest words are the ones it starts again with",
    "stopping": "ignored: its run ends for good; no call and no reaction",
    "folded": "ignored: the run that took it in is another turn's",
    "delivering": "ignored: the answer is on its way; no call and no reaction",
    "bypassed": "ignored: the gateway has taken it",
}
"""By state; elsewhere it is past."""

AFTER_DELETION: Mapping[str, str] = {
    "received": "it never runs",
    "refused": "ignored: it would not have run",
    "admitted": "it never runs",
    "queued": "it leaves the lane and never runs",
    "handed": "the run is stopped, nothing is posted, its words leave the transcript",
    "processing": "the run is stopped, nothing is posted, its words leave the transcript",
    "interrupted": "if the gateway resumes the run, that is stopped; nothing is posted",
    "correcting": "it does not start again",
    "stopping": "the deletion wins over a command: its words leave the transcript",
    "folded": "ignored: the run that took it in is another turn's",
    "delivering": "ignored: the answer is on its way",
    "bypassed": "ignored: the gateway has taken it",
}
"""By state; elsewhere it is past."""

ELSEWHERE: Mapping[str, str] = {
    "admit": "admission decides once; only a refusal is decided about again",
    "refuse": "what the gateway has, had, or never gets is not refused any more",
    "bypass": "only a new message goes past the lane; an edit or a refused one never does",
    "expire": "only what has not been handed over can be too old",
    "enqueue": "it stands in the lane already, or never will",
    "hand_over": "only what waits, or is being corrected, is handed over: one at a time",
    "start": "a run's start is looked for only where the gateway may have the turn",
    "fold": "the gateway says so at the hand-over or not at all",
    "put_back": "only what was at the gateway can come back from it",
    "interrupt": "what is in our rows alone, or at rest, a crash does not touch",
    "deliver": "an answer of a stopped run is superseded; without a run there is none",
    "answer": "only what is in the room is an answer: on its way, folded, or handed over again",
    "fall_silent": "a run that was stopped or has its answer on the way is not silent",
    "fail": "what is at rest stays as it ended",
    "cancel": "what has a run is stopped instead; what is at rest stays as it ended",
    "stop": "without a run there is nothing to stop; what waits is cancelled instead",
    "end_run": "only the end of a stop is told like this",
    "retry": "only what failed or came too late is taken up again",
    "edit": "an edit of a refused message is judged as `admit` or `refuse`",
}
"""Why an event is an error in the states that have no transition for it."""

INTRODUCTION = """\
An edit counts when its author made it in time, with other words, and they are still meant for
the agent and are no command; any other edit is `ignore_edit`, which may come in every state and
changes nothing. A cell names the state that follows, with its guard, or says that the turn stays
as it is."""


def events() -> tuple[str, ...]:
    """Return every event of the chart, in the order of states and declaration."""
    return tuple(dict.fromkeys(arrow.event for arrow in arrows_of(TurnChart)))


def cells() -> dict[tuple[str, str], tuple[Arrow, ...]]:
    """Return the transitions of each pair of state and event; none: it is an error there."""
    found: dict[tuple[str, str], tuple[Arrow, ...]] = {
        (state, event): () for state in TurnChart.states_map for event in events()
    }
    for arrow in arrows_of(TurnChart):
        found[arrow.source, arrow.event] += (arrow,)
    return found


def _leads_to(arrows: tuple[Arrow, ...]) -> str:
    if not arrows:
        return JUDGED_ANEW
    return "<br/>".join(
        "stays" if arrow.target == arrow.source else f"`{arrow.target}` {arrow.guard}".rstrip()
        for arrow in arrows
    )


def _revisions() -> str:
    found = cells()
    rows = [
        (
            f"`{state}`",
            _leads_to(found[state, "edit"]),
            AFTER_EDIT.get(state, PAST),
            _leads_to(found[state, "retract"]),
            AFTER_DELETION.get(state, PAST),
        )
        for state in TurnChart.states_map
    ]
    head = ("State", "Edit leads to", "What that means", "Deletion leads to", "What that means")
    return markdown_table(head, rows)


def _everything_else() -> str:
    found = cells()
    states = list(TurnChart.states_map)
    rows: list[tuple[str, str, str, str]] = []
    for event in events():
        moves = [f"`{s}`: {_leads_to(found[s, event])}" for s in states if found[s, event]]
        errors = [f"`{s}`" for s in states if not found[s, event]]
        if event not in REVISIONS:
            why = ELSEWHERE.get(event, "")
            rows.append((f"`{event}`", "<br/>".join(moves), ", ".join(errors) or "nowhere", why))
    head = ("Event", "Where it may come, and where it leads", "Where it is an error", "Why")
    return markdown_table(head, rows)


SECTIONS = (
    INTRODUCTION,
    "## Edits and deletions",
    _revisions(),
    "## Everything else that may happen",
    _everything_else(),
)

TURN_EDITS = Table(
    name="turn_edits",
    title="Edits and deletions of a turn",
    summary="What each of them, and everything else, does to a turn, by where it stands.",
    text="\n\n".join(SECTIONS),
)
