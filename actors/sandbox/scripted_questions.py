"""What scripted runs ask their person, and wait for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from ..sessions.ports import Question

__all__ = ["Asked", "ScriptedQuestions"]


@dataclass(slots=True, eq=False)
class Asked:
    """A question of a run that nobody answered yet."""

    question: Question
    answer: str | None = None
    """None: nobody said anything."""
    is_over: anyio.Event = field(default_factory=anyio.Event)


class ScriptedQuestions:
    """The register of a gateway: questions by session key, oldest first."""

    def __init__(self) -> None:
        """Start with nothing asked."""
        self._asked: dict[str, list[Asked]] = {}

    @contextmanager
    def asking(self, session_key: str, question: Question) -> Iterator[Asked]:
        """Ask something for the time of a block."""
        asked = Asked(question)
        waiting = self._asked.setdefault(session_key, [])
        waiting.append(asked)
        try:
            yield asked
        finally:
            if asked in waiting:
                waiting.remove(asked)

    def kinds(self, session_key: str) -> frozenset[Question]:
        """Return what kinds of questions are waited for."""
        return frozenset(asked.question for asked in self._asked.get(session_key, ()))

    def take(self, session_key: str, text: str) -> bool:
        """Give a text to the oldest question it answers, or to every one; False: it answers none.

        Other commands than those of an approval answer nothing.
        """
        name, *rest = text.lower().split() or [""]
        is_approval = name in {"/approve", "/deny"}
        if name.startswith("/") and not is_approval:
            return False
        wanted = Question.APPROVAL if is_approval else Question.CHOICE
        waiting = self._asked.get(session_key, [])
        found = [asked for asked in waiting if asked.question is wanted]
        for asked in found if is_approval and "all" in rest[:1] else found[:1]:
            waiting.remove(asked)
            asked.answer = text
            asked.is_over.set()
        return bool(found)

    def give_up(self, session_key: str) -> None:
        """Wait for no answer of this key any more."""
        for asked in self._asked.pop(session_key, []):
            asked.is_over.set()
