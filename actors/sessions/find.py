"""A message that a gap may have hidden, before anybody has read it."""

from dataclasses import dataclass
from datetime import datetime

from .admission import Cause

__all__ = ["Find"]


@dataclass(frozen=True, slots=True)
class Find:
    """A message that a gap may have hidden."""

    message_id: str
    cause: Cause
    """Why it may be meant, as far as can be told without reading it."""
    thread_root_id: str | None
    author_id: str | None
    """None: the author's account is gone."""
    posted_at: datetime
    """The server's time of the message, or a little later."""
    is_mention: bool
    """Whether the server says that it mentions the account."""
    leaves_row: bool
    """Whether it leaves a row although it cannot be read."""
