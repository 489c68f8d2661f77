"""Turns under load: people ask, change and delete at seeded random moments of a run."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from hermes_chatto.actors.sandbox.model import Request

from .minds import PEOPLE, Play, Tag, asked, everything_in, tags_in, tooled

THREADS: Final = 3
MOST_OPEN: Final = 3  # turns of one thread: one runs
WAITING: Final = frozenset({None, "received", "admitted", "queued"})
CHANGES: Final = ("none", "edit", "edit", "edit twice", "delete")
LATEST_CHANGE_S: Final = 1.2  # a run takes about one second


@dataclass
class Question:
    """What somebody asked, and what they did to it."""

    word: str
    author: str
    root_word: str
    """Of the question that roots its thread; names the key of the gateway."""
    message_id: str = ""
    versions: int = 1
    is_deleted: bool = False
    gone_at: int | None = None
    """How often the model had been asked when its row said that it was withdrawn."""


@dataclass
class Load:
    """One gateway under load, and the count of what went wrong."""

    play_on: Play
    seed: str
    turns: int
    questions: list[Question] = field(default_factory=list)

    async def play(self) -> None:
        """Ask, change and delete; return when nothing is open any more."""
        per_thread = [self.turns // THREADS + (n < self.turns % THREADS) for n in range(THREADS)]
        async with anyio.create_task_group() as tasks:
            for number, turns in enumerate(per_thread):
                tasks.start_soon(self._play_thread, number, turns)
        await self.play_on.until_idle()

    async def _play_thread(self, number: int, turns: int) -> None:
        """Play one thread; its first question is changed only after its answer."""
        chance = random.Random(f"{self.seed} {number}")  # noqa: S311 - a play, no secret
        words = (f"{self.play_on.mode}t{number}q{count}" for count in itertools.count())
        root = await self._ask(Question(first := next(words), "alice", first), None)
        await self.play_on.real.answer_to(root.message_id, 120)
        async with anyio.create_task_group() as changes:
            for word in itertools.islice(words, turns - 1):
                question = Question(word, chance.choice(PEOPLE), first)
                await self._ask(question, root, chance)
                changes.start_soon(self._change, question, random.Random(word))  # noqa: S311
                await self._until_few_are_open(question, root)
        last = Question(f"{self.play_on.mode}t{number}last", "alice", first)
        await self.play_on.real.answer_to((await self._ask(last, root)).message_id, 120)

    async def _ask(
        self, question: Question, root: Question | None, chance: random.Random | None = None
    ) -> Question:
        body = _wording(question, 0, chance)
        thread = root.message_id if root else None
        says = self.play_on.real.says
        question.message_id = await says(question.author, body, thread=thread)
        self.questions.append(question)
        return question

    async def _change(self, question: Question, chance: random.Random) -> None:
        """Do at some moment what its author does to a question."""
        change, play = chance.choice(CHANGES), self.play_on
        if chance.random() < 0.6:  # of its run; else at some moment after it was asked
            await play.until(lambda: play.state_of(question.message_id) not in WAITING)
        await anyio.sleep(chance.uniform(0, LATEST_CHANGE_S))
        if change == "delete":
            # One that is gone before it was read leaves no row.
            await play.until(lambda: play.state_of(question.message_id) is not None)
            question.is_deleted = True
            await play.deletes(question.author, question.message_id)
            await self._until_withdrawn(question)
        for _ in range({"edit": 1, "edit twice": 2}.get(change, 0)):
            body = _wording(question, question.versions, chance)
            question.versions += 1
            await play.edits(question.author, question.message_id, body)
            await anyio.sleep(chance.uniform(0, LATEST_CHANGE_S))

    async def _until_withdrawn(self, question: Question) -> None:
        """Wait until a deleted question is at rest, and take down how far the model was."""
        play = self.play_on
        await play.until_state(
            question.message_id, "retracted", "answered", "silent", "failed", "cancelled"
        )
        if play.state_of(question.message_id) == "retracted":
            question.gone_at = len(play.real.stage.model.requests)

    async def _until_few_are_open(self, newest: Question, root: Question) -> None:
        sql = "select count(*) from open_turns where thread_root_id = ?"
        play = self.play_on
        await play.until(lambda: play.state_of(newest.message_id) is not None)
        await play.until(lambda: play.real.rows(sql, root.message_id)[0][0] < MOST_OPEN)

    # --- what went wrong ------------------------------------------------------------------------

    async def flaws(self) -> Sequence[str]:
        """Count, from the model's and the server's side, what must not be."""
        return [
            *self._two_at_once(),
            *self._stale_words(),
            *await self._odd_posts(),
            *self._odd_rows(),
        ]

    def _meant(self) -> Iterator[Request]:
        """Go through the prompts without those that the gateway itself takes back.

        A stream that is cut by a stop may be asked for once more, by a thread that nobody waits
        for; it hangs up as soon as it is connected, and what it asks is what was asked before.
        Source: Hermes 0.22, agent/chat_completion_helpers.py (cancelled_attempt_late_connect).
        """
        cut: set[str] = set()
        for request in self.play_on.prompts:
            is_cut = request.number in self.play_on.real.stage.model.taken_back
            if is_cut and everything_in(request) in cut:
                continue
            if is_cut:
                cut.add(everything_in(request))
            yield request

    def _prompts(self) -> Sequence[tuple[Request, Tag]]:
        """Return the prompts of this load, each with the question it is about."""
        own = {each.word for each in self.questions}
        found = [(each, tags_in(each.prompt)) for each in self._meant()]
        return [(each, tags[-1]) for each, tags in found if tags and tags[-1].word in own]

    def _two_at_once(self) -> Iterator[str]:
        keys = {each.word: each.root_word for each in self.questions}
        asked_about = {each.number: keys[tag.word] for each, tag in self._prompts()}
        for number, key in asked_about.items():
            request = self.play_on.real.stage.model.requests[number - 1]
            if key in {asked_about.get(other) for other in request.beside}:
                yield f"two runs of {key} at once, at request {number}"

    def _stale_words(self) -> Iterator[str]:
        by_word = {each.word: each for each in self.questions}
        newest: dict[str, int] = {}
        for request, about in self._prompts():
            newest[about.word] = max(about.version, newest.get(about.word, 0))
            for tag in set(tags_in(everything_in(request))):
                question = by_word.get(tag.word)
                if question is None or question.root_word != by_word[about.word].root_word:
                    continue
                if tag.version < newest.get(tag.word, 0):
                    yield f"{tag} in the prompt {request.number}, about {about}"
                if question.gone_at is not None and request.number > question.gone_at:
                    yield f"{tag}, deleted, in the prompt {request.number}, about {about}"

    async def _odd_posts(self) -> Iterator[str]:
        flaws: list[str] = []
        for root in (each for each in self.questions if each.word == each.root_word):
            answers = await self.play_on.answers(root.message_id)
            flaws += self._odd_answers(root, answers)
        return iter(flaws)

    def _odd_answers(
        self, root: Question, answers: Sequence[tuple[str | None, str]]
    ) -> Iterator[str]:
        counts = Counter(message_id for message_id, _ in answers)
        bodies = dict(answers)
        own = [each for each in self.questions if each.root_word == root.word]
        for message_id in counts.keys() - {each.message_id for each in own}:
            yield f"said in {root.word} to nobody: {bodies[message_id]}"
        for question in own:
            count = counts[question.message_id]
            state = self.play_on.state_of(question.message_id)
            if count != (state == "answered"):
                yield f"{question.word} is {state} and has {count} answers"
            tags = tags_in(bodies.get(question.message_id, ""))
            if count and {tag.word for tag in tags} != {question.word}:
                yield f"{question.word} was told {bodies[question.message_id]}"

    def _odd_rows(self) -> Iterator[str]:
        for question in self.questions:
            state = self.play_on.state_of(question.message_id)
            if state != "answered" and not (question.is_deleted and state == "retracted"):
                why = self.play_on.reasons(question.message_id)
                yield f"{question.word} ended {state}: {why}"
        for (message_id,) in self.play_on.real.rows("select message_id from open_turns"):
            yield f"{message_id} is open"


def _wording(question: Question, version: int, chance: random.Random | None) -> str:
    """Return a question in one of its wordings; now and then it takes a tool."""
    if chance is not None and chance.random() < 0.3:
        return tooled(question.word, version, seconds=round(chance.uniform(0, 1), 2))
    wait_s = round(chance.uniform(0, 1.5), 2) if chance is not None else 0.0
    return asked(question.word, version, wait_s=wait_s)
