"""Lines of context: who said what, shown so that nothing quoted can pass for ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from .admission import Editor
from .facts import Message
from .inert import quotable_name, quotable_text

__all__ = ["EDITED", "Block", "Header", "Line", "Standing", "shorten"]

SHORTENED = "… (shortened)"

EDITED: Mapping[Editor, str] = {
    Editor.AUTHOR: "",
    Editor.OTHER: " (edited by somebody else)",
    Editor.UNKNOWN: " (edited)",
}
"""What a reader must know of whose words it shows; stands behind the standing."""


class Header(Enum):
    """What a block is about; the value is its first line."""

    THREAD = "[Earlier in this thread]"
    ROOM = "[Earlier in this room]"
    CONVERSATION = "[Earlier in this conversation]"


class Standing(Enum):
    """What a reader must know of who is speaking; the value stands behind the name."""

    KNOWN = ""
    THIS_BOT = " (this bot)"
    UNVERIFIED = " (unverified)"


@dataclass(frozen=True, slots=True)
class Line:
    """One message as a line of context."""

    message_id: str
    posted_at: datetime
    text: str
    """As it is shown, mark and all; may span several screen lines."""

    @classmethod
    def of(cls, message: Message, name: str, standing: Standing, editor: Editor) -> "Line":
        """Show a message in its current words.

        Args:
            message: what was said; its files are named.
            name: the author's, as people see it.
            standing: by the author's ID, never by the name.
            editor: whose words it shows.
        """
        said = quotable_text(message.body) if message.body.strip() else []
        files = [f"(file: {quotable_name(name)})" for name in message.file_names]
        first, *rest = [*said, *files] or ["(no text)"]
        shown = [f"- {quotable_name(name)}{standing.value}{EDITED[editor]}: {first}"]
        shown += [f"  | {line}" for line in rest]
        return cls(message.message_id, message.created_at, "\n".join(shown))


@dataclass(frozen=True, slots=True)
class Block:
    """Lines under a header; a note of ours may stand between the older and the newer ones."""

    header: Header
    older: Sequence[Line]
    note: str | None
    """How many messages are not shown between the two; None: none."""
    newer: Sequence[Line]

    def __str__(self) -> str:
        """Return the block as the agent reads it."""
        notes = [f"({self.note})"] if self.note else []
        older = [line.text for line in self.older]
        newer = [line.text for line in self.newer]
        return "\n".join([self.header.value, *older, *notes, *newer])

    @property
    def is_empty(self) -> bool:
        """Whether it has no line to show."""
        return not self.older and not self.newer


def shorten(line: Line, limit: int) -> Line:
    """Return a line of at most `limit` characters; one that is too long says that it was cut."""
    if len(line.text) <= limit:
        return line
    kept = line.text[: max(limit - len(SHORTENED), 0)].rstrip()
    return Line(line.message_id, line.posted_at, f"{kept}{SHORTENED}")
