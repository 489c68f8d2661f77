"""Make quoted text inert: it cannot imitate our headers, labels or the agent's references.

Every line of ours stands at the left margin; every line of quoted text behind a mark that is
ours alone. What is left to do is to see that one line of text is one line on every reader's
screen, and that a name is only a name.
"""

import re
import unicodedata

__all__ = ["askable_text", "quotable_name", "quotable_text", "without_references"]

LINE_ENDS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")

REFERENCE = re.compile(r"@(?=[A-Za-z][\w-]*:|(?:diff|staged)\b)")
"""What the gateway expands in a prompt: `@file:`, `@url:`, `@diff` and the like, also of plugins.

Source: Hermes 0.22, agent/context_references.py: REFERENCE_PATTERN.
"""

NAME_LENGTH = 40  # the server's own limit is 32 characters; composing may add some
STRUCTURE = frozenset("()[]{}<>:|`*_~\"'@#\\")
"""Characters a label or a header is made of; a name has none of them."""

BLANKS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE0F), *range(0xE0100, 0xE01F0))))
)
"""Letters and marks that show nothing: fillers, variation selectors, the empty Braille cell.

Source: Unicode, Default_Ignorable_Code_Point, as far as it is not of category C.
"""

JOINERS = frozenset("\u200d\ufe0f")
"""Invisible, but emoji are made with them; kept between symbols only."""


def quotable_text(text: str) -> list[str]:
    """Return the lines of a text as they may be quoted: no invisible characters, no references.

    Args:
        text: what somebody wrote.
    """
    plain = "".join(_visible(text, index) for index in range(len(text)))
    return [REFERENCE.sub("@ ", line).rstrip() for line in LINE_ENDS.split(plain)]


HEADER = re.compile(
    r"\[\s*(?:earlier\s+in\s+this|new\s+message|replying\s+to|system(?:\s*(?:note|message))?\b"
    r"|important\s*:|note\s*:|out-of-band\b|internal\s+notification|the\s+user\s+sent\b"
    r"|user\s+(?:sent|initiated)\b|triggering\s+message\b|delivered\s+from\b"
    r"|context\s+(?:from|compaction|summary)\b|this\s+response\s+was\b"
    r"|your\s+active\s+task\s+list\b|session\s+was\s+just\b|continuing\s+toward\b"
    r"|recent\s+channel\s+messages\b|current\s+addressed\s+message\b|observed\b"
    r"|voice\s+channel\b|runtime\s+note\b|orphan\s+recovery\b|skills\s+pruned\b"
    r"|if\s+you\s+need\s+a\s+closer\s+look\b|critical\b|webhook\s+delivery\b)",
    re.IGNORECASE,
)
"""How the lines begin that stand around a question: ours, and those of the gateway.

Source: Hermes 0.22, gateway/run_inbound.py, and gateway/run.py, gateway/run_turn.py,
gateway/run_notifications.py, gateway/run_startup.py and agent/conversation_loop.py for what it
says itself, of files, of the run and of work in the background.
"""


SENDER = re.compile(r"\[(?!\s*x?\s*\])[^\[\]]{1,80}\]\s+\S", re.IGNORECASE)
"""How what somebody says begins where several people speak; a box to tick is none.

Source: Hermes 0.22, gateway/run_inbound.py: _prefix_inbound_sender_context.
"""


def askable_text(text: str) -> str:
    """Return a question in which no line passes for one of those that stand around it.

    Its words stay as they were written: only a line that looks like a header, or like the
    beginning of what another person says, gets a mark, so that nobody speaks with another one's
    voice, or with the gateway's. The first line has its own author's name before it.
    """
    first, *more = re.split(f"({LINE_ENDS.pattern})", text)
    marked = (f"| {part}" if _looks_like(part, HEADER, SENDER) else part for part in more)
    return "".join([f"| {first}" if _looks_like(first, HEADER) else first, *marked])


def without_references(text: str) -> str:
    """Return a text in which the gateway finds nothing to put files, folders or pages in for."""
    return REFERENCE.sub("@ ", text)


def _looks_like(line: str, *patterns: re.Pattern[str]) -> bool:
    folded = unicodedata.normalize("NFKC", line)
    shown = "".join(
        char for char in folded if _category(char) != "C" and char not in BLANKS | JOINERS
    ).lstrip()
    return any(pattern.match(shown) for pattern in patterns)


def quotable_name(name: str) -> str:
    """Return a name that is one short line and looks like no label.

    Look-alikes of brackets and colons become the plain ones first, then all of them go.
    """
    folded = unicodedata.normalize("NFKC", name)
    blank = STRUCTURE | BLANKS | JOINERS
    kept = (" " if char in blank or char.isspace() else char for char in folded)
    shown = "".join(char for char in kept if _category(char) not in {"C", "Z"} or char == " ")
    short = " ".join(shown.split())[:NAME_LENGTH].strip()
    return short or "nameless"


def _visible(text: str, index: int) -> str:
    """Return a character, or nothing where it only changes how others look."""
    char = text[index]
    if char in JOINERS:
        before = text[index - 1] if index else ""
        return char if before and unicodedata.category(before) in {"So", "Sk", "Mn"} else ""
    if char == "\t" or LINE_ENDS.fullmatch(char):
        return char
    return "" if _category(char) == "C" or char in BLANKS else char


def _category(char: str) -> str:
    """Return the first letter of the Unicode category: C is control, format and surrogate."""
    return unicodedata.category(char)[0]
