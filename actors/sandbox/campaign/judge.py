"""What the server and the store say at rest: is anything lost, twice, or still open?"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .questions import Question, part_of

__all__ = ["NAMED", "Post", "Store", "Verdict", "judge"]

NAMED: Final = frozenset(
    {"process_died", "not_resumed", "not_delivered", "outcome_unknown", "busy", "unreachable"}
)
"""Reasons for which a question may end without its answer when processes are killed."""


@dataclass(frozen=True, slots=True)
class Post:
    """What the agent's account posted."""

    message_id: str
    body: str
    in_reply_to: str


@dataclass(frozen=True, slots=True)
class Row:
    """One turn, as far as it is judged."""

    state: str
    reason: str | None
    sign: str | None


class Store:
    """The plugin's state file, read from outside. All of it raises: sqlite3.OperationalError."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._path = path

    def turns(self) -> Mapping[str, Row]:
        """Return the turns by message."""
        found = self._rows("select message_id, state, reason, sign from turns")
        return {str(message_id): Row(*rest) for message_id, *rest in found}

    def open_things(self) -> Sequence[str]:
        """Say what is still to be done; nothing: the store is at rest."""
        return [
            *(f"turn {row[0]} is {row[1]} ({row[2]})" for row in self._rows(OPEN_TURNS)),
            *(f"part {row[0]} is {row[1]}" for row in self._rows(OPEN_PARTS)),
            *(f"{row[0]} shows no sign of its end" for row in self._rows(UNSIGNED)),
        ]

    def _rows(self, sql: str) -> list[tuple[str, ...]]:
        if not self._path.exists():
            return []
        address = f"{self._path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as db:
            made = db.execute("select 1 from sqlite_master where name = 'health'").fetchone()
            return db.execute(sql).fetchall() if made else []


OPEN_TURNS = "select message_id, state, reason from turns where closed_at is null"
OPEN_PARTS = """
    select outbox_id, state from outbox where state in ('pending', 'sending', 'uncertain')
"""
UNSIGNED = "select message_id from turns where state = 'failed' and sign is null"


@dataclass
class Verdict:
    """What became of all questions so far."""

    answered: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    """Questions that ended without an answer, by their named reason."""
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    """What must not be and is neither of the two."""

    @property
    def flaws(self) -> Sequence[str]:
        """Everything that must not be, in words."""
        return [*self.lost, *self.twice, *self.odd]


def judge(
    questions: Sequence[Question],
    turns: Mapping[str, Row],
    posts: Sequence[Post],
    asked: Mapping[str, int],
) -> Verdict:
    """Compare.

    Args:
        questions: what people asked.
        turns: the store's rows.
        posts: what the agent's account posted.
        asked: how often the gateway got each message into a transcript.
    """
    said = Counter(part for post in posts for part in part_of(post.body))
    verdict = Verdict()
    for each in questions:
        _judge_one(verdict, each, turns.get(each.message_id), said)
        if asked.get(each.message_id, 0) > 1:
            verdict.twice.append(f"{each.word} was run {asked[each.message_id]} times")
    verdict.odd += _loose(questions, posts)
    return verdict


def _judge_one(
    verdict: Verdict, each: Question, row: Row | None, said: Counter[tuple[str, int]]
) -> None:
    counts = [said[each.word, number] for number in range(1, each.parts + 1)]
    if max(counts) > 1:
        verdict.twice.append(f"{each.word} ({each.message_id}) has parts {counts} times")
    if row is None:
        verdict.lost.append(f"{each.word} ({each.message_id}) has no row")
    elif row.state == "answered":
        verdict.answered += 1
        if min(counts) < 1:
            verdict.lost.append(
                f"{each.word} ({each.message_id}) is answered and has parts {counts} times"
            )
    elif row.state == "failed" and row.reason in NAMED:
        verdict.ended[row.reason] += 1
        if row.sign is None:
            verdict.odd.append(f"{each.word} ({each.message_id}) failed without a sign")
    else:
        verdict.odd.append(f"{each.word} ({each.message_id}) ended {row.state} ({row.reason})")


def _loose(questions: Sequence[Question], posts: Sequence[Post]) -> Iterator[str]:
    """Find posts that are no part of an answer, or answer the wrong question."""
    by_word = {each.word: each for each in questions}
    for post in posts:
        parts = part_of(post.body)
        if not parts or parts[0][0] not in by_word:
            yield f"{post.message_id} says something else: {post.body[:60]!r}"
        elif post.in_reply_to not in {"", by_word[parts[0][0]].message_id}:
            yield f"{post.message_id}, of {parts[0][0]}, points at {post.in_reply_to}"
        elif parts[0][1] == 1 and not post.in_reply_to:
            yield f"{post.message_id}, the first part of {parts[0][0]}, points at nothing"
