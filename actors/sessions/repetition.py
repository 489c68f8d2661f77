"""Texts that the gateway hands over once more, recognised without their words.

After a crash, or after a failure it was told of, the gateway hands a whole answer over again, up
to 24 h later, without saying that or whose it is, and behind a line of its own in whatever
language. So an answer is recognised by what a text ends in: the length and the digest of every
answer are kept longer than that.

Source: Hermes 0.22, gateway/delivery_ledger.py: STALE_AFTER_SECONDS, RECOVERED_MARKER and others;
gateway/run_startup.py:_redeliver_claimed_obligations.
"""

import hashlib
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from ...store.outbox import TextRow
from .splitting import whole_characters

__all__ = ["KEPT", "digest_of", "ends_in", "written"]

KEPT: Final = timedelta(hours=25)
"""How long an answer is recognised; rows may not be removed before."""

MARK_BYTES: Final = 1_000  # the gateway's line has some 120
MARK_LINES: Final = 3


def written(text: str) -> bytes:
    """Return a text as it is compared: in UTF-8, half characters replaced."""
    return whole_characters(text).encode()


def digest_of(raw: bytes) -> str:
    """Return what tells one text from another, in hexadecimal."""
    return hashlib.sha256(raw).hexdigest()


def ends_in(text: str, answers: Iterable[TextRow]) -> str | None:
    """Return the delivery of the answer that a text repeats behind a line of its own.

    Args:
        text: what was handed over.
        answers: those that may come again.

    Returns:
        None where it repeats none. One that is an answer and nothing else is no repetition: the
        gateway marks all that it may have posted before.
    """
    raw = written(text)
    for answer in answers:
        mark = raw[: -answer.text_bytes] if answer.text_bytes else b""
        if _is_mark(mark) and digest_of(raw[len(mark) :]) == answer.text_digest:
            return answer.delivery_id
    return None


def _is_mark(head: bytes) -> bool:
    """Tell whether this can be a line, or a few, that stand before an answer."""
    is_short = 0 < len(head) <= MARK_BYTES and head.count(b"\n") <= MARK_LINES
    return is_short and head.endswith(b"\n") and bool(head.strip())
