r"""Which handles a message mentions, by the rules of the Chatto server.

The server reads a body once, when it is posted, and tells nobody whom it found. Whoever wants to
know who is meant, or what an edit changed, has to read the body as the server does: Markdown first
(code, quotes and link targets hold no mentions), then `@` and a handle. `text_blocks` cuts out
what is text; here code spans, links and autolinks are stepped over in it. Emphasis never decides
whether a handle counts. HTML and entities are plain text, as on the server.

A body is read exactly as the server reads it, but for one thing: a link label is too long for the
server when 999 bytes lie between the unclosed brackets in front of it, and here the blanks and
markers that nest its lines are not among those bytes.

Source: Chatto 0.4.20, cli/internal/core/mentions.go; goldmark 1.8.2, its Markdown parser.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from .link_parts import (
    BLANKS,
    MAX_LABEL,
    Targets,
    byte_length,
    is_known,
    label_match,
    space_end,
    title_end,
)
from .text_blocks import text_blocks

__all__ = ["leading_mention_end", "mentioned_handles", "mentions"]

_HANDLE: Final = r"@([A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)*)"
_MENTION: Final = re.compile(rf"(?<![A-Za-z0-9]){_HANDLE}")
_BEHIND: Final = r"[\s,:;.!?\u2026\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff1f]*+"
_LEADING: Final = re.compile(rf"\s*+{_HANDLE}{_BEHIND}")
_MARKUP: Final = re.compile(r"[\\`!\[\]<@\n]")
_TICKS: Final = re.compile(r"`+")
_HARD_BREAK: Final = re.compile(r"(?<!\\)\\\r?\n")
_BLANK_BREAK: Final = re.compile(r"  \r?\n")
_EMPHASIS: Final = re.compile(r"(?:\*++|_++)*")
_AUTOLINK: Final = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9.+-]{1,32}:[^<>\x00-\x20]*+"
    r"|[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]++@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*)>"
)


def mentioned_handles(body: str) -> tuple[str, ...]:
    """Read the handles the server finds in a message body.

    Args:
        body: the text of a message as it was posted; any string is fine. 10,000 bytes, the most
            the server takes, need at worst 0.3 s (lists in lists); a usual message needs 0.05 ms.

    Returns:
        Handles without `@`, in order of appearance as written, each spelling once: `@Alice` and
        `@alice` are two, as on the server. Who they are (user, role, `all`, `here`, nobody) is not
        looked at.
    """
    if not _MENTION.search(body):
        return ()  # most messages: nothing to parse
    # The server knows no escapes but cannot switch them off in its parser.
    texts, labels = text_blocks(body.replace("\\`", "`").replace("\\@", "\\\\@"))
    found = (_Reader(text, labels) for text in texts if "@" in text)
    return tuple(dict.fromkeys(handle for reader in found for handle in reader.handles()))


def mentions(body: str, login: str) -> bool:
    """Tell whether a body mentions exactly this handle, in any case.

    Args:
        body: as for `mentioned_handles`.
        login: a handle without `@`.
    """
    return login.lower() in (handle.lower() for handle in mentioned_handles(body))


def leading_mention_end(body: str, login: str) -> int:
    """Find what stands behind a mention at the very beginning (`@hermes: /status`).

    Args:
        body: as for `mentioned_handles`.
        login: a handle without `@`, compared in any case.

    Returns:
        Offset in characters behind the mention and the blanks and punctuation that follow it; 0
        when the body does not begin with a mention of exactly this handle.
    """
    found = _LEADING.match(body)
    if found and mentions(found[0], login):  # an indented one is code
        return found.end()
    return 0


class _Reader:
    """One text on its way from left to right."""

    def __init__(self, text: str, labels: frozenset[str]) -> None:
        self._text = text
        self._labels = labels
        self._place = 0
        self._is_head = True
        """True at the beginning of a line, and behind what was stepped over as a whole: there the
        server looks for more even if a backslash stands in front."""
        self._is_escaped = False
        self._open: list[tuple[int, bool]] = []
        """The unclosed link and image labels, innermost last: where each begins, and which it is.
        """
        self._last_link = -1
        """Where the label of the newest link begins: no link may hold another."""
        self._targets: Targets | None = None
        self._ticks: dict[int, list[int]] = {}
        """Where the runs of backticks begin, by their length."""
        for run in _TICKS.finditer(text):
            self._ticks.setdefault(len(run[0]), []).append(run.start())

    def handles(self) -> Iterator[str]:
        """Find the handles, repeated ones as well."""
        while (mark := self._next_mark()) is not None:
            if self._text[mark] in "\\\n":
                self._step_over_escape(mark)
                continue
            end = self._end(mark) if self._is_head or not self._is_escaped else None
            if end is None:
                self._is_escaped = False
            elif self._text[mark] == "@":
                yield self._text[mark + 1 : end]
            self._place, self._is_head = end or mark + 1, end is not None

    def _next_mark(self) -> int | None:
        if self._is_escaped:
            self._step_over_unread()
        found = _MARKUP.search(self._text, self._place)
        if not found:
            return None
        if found.start() > self._place:
            self._is_escaped = self._is_head = False
        return found.start()

    def _step_over_unread(self) -> None:
        """Step over what does not use up a backslash: blanks at a line's end, emphasis behind."""
        while True:
            if self._is_head:
                self._place = _end_of(_EMPHASIS, self._text, self._place) or self._place
            hard_break = _end_of(_BLANK_BREAK, self._text, self._place)
            if hard_break is None:
                return
            self._place, self._is_head = hard_break, True

    def _step_over_escape(self, place: int) -> None:
        """Step over a backslash, or a line's end: some backslashes count in the next line."""
        hard_break = _end_of(_HARD_BREAK, self._text, place)
        if hard_break is None and self._text[place] == "\\":
            self._is_escaped = not self._is_escaped
        self._is_head = hard_break is not None or self._text[place] == "\n"
        self._place = hard_break or place + 1

    def _end(self, place: int) -> int | None:
        """Return where what begins with this mark ends; None if nothing does."""
        match self._text[place]:
            case "@":
                return _end_of(_MENTION, self._text, place)
            case "`":
                return self._code_end(place)
            case "<":
                return _end_of(_AUTOLINK, self._text, place)
            case "]":
                return self._link_end(place)
        is_image = self._text[place] == "!"
        if is_image and not self._text.startswith("[", place + 1):
            return None
        label = place + 1 + is_image
        self._open.append((label, is_image))
        return label

    def _code_end(self, place: int) -> int:
        """Return where a code span ends; behind its ticks if it is none."""
        ticks = _end_of(_TICKS, self._text, place) or place
        width = ticks - place
        runs = self._ticks.get(width, [])
        closing = bisect_left(runs, ticks)
        return runs[closing] + width if closing < len(runs) else ticks

    def _link_end(self, close: int) -> int | None:
        """Take the label that ends here; return where its link ends, None if it is no link."""
        if not self._open:
            return None
        label, is_image = self._open.pop()
        if self._is_too_far_in() or not (is_image or label > self._last_link):
            return None
        end = self._target_end(close + 1) or self._reference_end(label, close)
        if end is not None and not is_image:
            self._last_link = label
        return end

    def _is_too_far_in(self) -> bool:
        if not self._open:
            return False
        first, last = self._open[0], self._open[-1]
        between = self._text[first[0] - 1 - first[1] : last[0]]
        return byte_length(between) >= MAX_LABEL

    def _target_end(self, start: int) -> int | None:
        """Return the end of `(target "title")`; the title may follow without a blank."""
        if not self._text.startswith("(", start):
            return None
        end = space_end(self._text, start + 1)
        if self._text.startswith(")", end):
            return end + 1
        self._targets = self._targets or Targets(self._text)
        target = self._targets.end(end)
        if target is None:
            return None
        end = space_end(self._text, target)
        title = title_end(self._text, end)
        end = end if title is None else space_end(self._text, title)
        return end + 1 if self._text.startswith(")", end) else None

    def _reference_end(self, start: int, close: int) -> int | None:
        """Return the end of `[label][]`, `[text][label]` or `[label]`, if the label is defined."""
        if not self._labels:
            return None
        label, end = self._text[start:close], close + 1
        if full := label_match(self._text, end):
            label, end = full[1] if full[1].strip(BLANKS) else label, full.end()
        return end if is_known(label, self._labels) else None


def _end_of(pattern: re.Pattern[str], text: str, place: int) -> int | None:
    found = pattern.match(text, place)
    return found.end() if found else None
