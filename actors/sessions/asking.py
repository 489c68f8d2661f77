"""What the run of one turn asks its person, and how each question ended."""

from collections.abc import Collection, Iterable, Mapping

from ...machines.prompt import Opened, Settled, Withdrawal
from ...store.outbox import PartRow
from ...store.prompts import PromptRow
from .journal import Draft
from .ports import Question

__all__ = ["Asking", "came_out"]

APPROVING: Mapping[str, str] = {"/approve": "approve", "/deny": "deny"}
"""Commands that settle an approval, with the event of each.
Source: Hermes 0.22, gateway/slash_commands.py: _handle_approve_command, _handle_deny_command."""


class Asking:
    """The questions of a turn that nobody has settled; lives in the turn.

    The gateway keeps what its runs wait for in memory; a row is what a person reads of it.
    """

    def __init__(self, rows: Iterable[PromptRow] = ()) -> None:
        """Take over questions as their rows say, oldest first."""
        self._rows = {row.outbox_id: row for row in rows}

    @property
    def is_open(self) -> bool:
        """Whether anybody is asked something."""
        return bool(self._rows)

    def ask(self, draft: Draft, part: PartRow, turn_id: str, question: Question) -> None:
        """Plan a question whose text ends with this part of the outbox."""
        row = PromptRow(
            scope=part.scope,
            outbox_id=part.outbox_id,
            turn_id=turn_id,
            kind=question.value,
            state="posting",
            reason=None,
            message_id=None,
            settled_by=None,
            created_at=part.created_at,
            updated_at=part.created_at,
        )
        self._rows[row.outbox_id] = draft.add_prompt(row)

    def posted(self, draft: Draft, part: PartRow) -> bool:
        """Plan what follows from the end of the post of a question; False: it is over already."""
        row = self._rows.get(part.outbox_id)
        if row is not None:
            self._keep(came_out(draft, row, part))
        return row is not None

    def answer(self, draft: Draft, by: str, words: str) -> None:
        """Plan what a message of the person whose turn waits settles.

        The gateway gives an approval to the oldest question, with `all` to every one, and any
        other message to the oldest choice.

        Args:
            draft: where it is planned.
            by: user ID of the person.
            words: the message, as the gateway gets it.
        """
        name, *rest = words.lower().split() or [""]
        event = APPROVING.get(name, "answer")
        kind = Question.APPROVAL if name in APPROVING else Question.CHOICE
        if name.startswith("/") and name not in APPROVING:
            return
        # Behind a refusal stands its reason; only its first word can mean every question.
        is_for_all = name in APPROVING and "all" in (rest if name == "/approve" else rest[:1])
        asked = self._of({kind})
        for row in asked if is_for_all else asked[:1]:
            self._keep(draft.prompt(row, event, Settled(by)))

    def look(self, draft: Draft, waits_for: Collection[Question]) -> None:
        """Plan that questions the gateway waits for no longer got no answer."""
        for row in self._of({kind for kind in Question if kind not in waits_for}):
            self._keep(draft.prompt(row, "expire"))

    def end(self, draft: Draft, reason: str | None) -> None:
        """Plan that nobody can answer any more.

        Args:
            draft: where it is planned.
            reason: why they are withdrawn; None: the run went on without an answer.
        """
        for row in list(self._rows.values()):
            if reason is None:
                self._keep(draft.prompt(row, "expire"))
            else:
                self._keep(draft.prompt(row, "withdraw", Withdrawal(reason)))

    def _of(self, kinds: Collection[Question]) -> list[PromptRow]:
        names = {kind.value for kind in kinds}
        return [row for row in self._rows.values() if row.kind in names]

    def _keep(self, row: PromptRow) -> None:
        if row.state in {"posting", "open"}:
            self._rows[row.outbox_id] = row
        else:
            self._rows.pop(row.outbox_id, None)


def came_out(draft: Draft, row: PromptRow, part: PartRow) -> PromptRow:
    """Plan what follows from the end of the post of a question, whether or not it is over."""
    if part.message_id is not None:
        return draft.prompt(row, "show", Opened(part.message_id))
    if row.state == "posting":
        return draft.prompt(row, "withdraw", Withdrawal(part.reason or f"text_{part.state}"))
    return row
