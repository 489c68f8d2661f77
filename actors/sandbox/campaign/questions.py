"""What people ask in a campaign, and how its answers are told from each other.

A question carries a word of its own and the number of parts its answer shall have; each part of
the answer begins with the word and its number. So every post on the server tells whose it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Question", "is_question", "part_of", "question", "reply_to"]

ASKED: Final = re.compile(r"(q\d+x) in (\d+)")
SAID: Final = re.compile(r"(q\d+x) part (\d+)\b")
HEAD_CHARACTERS: Final = 300  # what the gateway puts in front of an answer is shorter
PART_CHARACTERS: Final = 9_000  # two do not fit into one post, which takes 9,900 bytes


@dataclass(slots=True)
class Question:
    """What somebody asked."""

    word: str
    parts: int
    room_id: str
    root_id: str
    """Of the thread it was asked in; empty: none, it may become one."""
    message_id: str = ""

    @property
    def text(self) -> str:
        """What is posted."""
        return f"@hermes {self.word} in {self.parts}"


def question(number: int, parts: int, room_id: str, root_id: str = "") -> Question:
    """Return a question; its word is unlike that of any other number."""
    return Question(f"q{number}x", parts, room_id, root_id)


def is_question(text: str) -> bool:
    """Tell whether a text holds a question."""
    return ASKED.search(text) is not None


def reply_to(text: str) -> str:
    """Return the answer to a question, or to a text that holds one."""
    found = ASKED.findall(text)
    if not found:
        return f"what is this? {text[:50]}"
    word, parts = found[-1]
    return "\n".join(_part(word, number, int(parts)) for number in range(1, int(parts) + 1))


def _part(word: str, number: int, parts: int) -> str:
    head = f"{word} part {number}"
    if parts == 1:
        return head
    # No two words alike: the gateway takes a long answer that repeats itself for a defect.
    words = (f"w{number}n{count}" for count in range(PART_CHARACTERS))
    return f"{head} {' '.join(words)}"[:PART_CHARACTERS]


def part_of(body: str) -> Sequence[tuple[str, int]]:
    """Return the parts of answers that a post holds: word and number."""
    return [(word, int(number)) for word, number in SAID.findall(body[:HEAD_CHARACTERS])]
