"""What of the account's own messages is known, so that none is taken for another one's post."""

from collections import OrderedDict

__all__ = ["OwnPosts"]

REMEMBERED = 4_096  # messages, some 0.4 MB; a post is looked for seconds after it was tried


class OwnPosts:
    """Remembers which own messages the stream has shown, in order, and which are parts of ours.

    Another process may post with the same account, and the same words: what was in a room before
    a post was tried cannot be that post.
    """

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._shown: OrderedDict[str, int] = OrderedDict()
        self._claimed: OrderedDict[str, str] = OrderedDict()
        self._count = 0

    def note(self, message_id: str) -> None:
        """Take note of an own message that the stream shows."""
        self._count += 1
        self._shown.setdefault(message_id, self._count)
        if len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)

    def now(self) -> int:
        """Return a mark for `before`."""
        return self._count

    def before(self, mark: int) -> frozenset[str]:
        """Return the messages shown before a mark."""
        return frozenset(id_ for id_, number in self._shown.items() if number <= mark)

    def claim(self, message_id: str, outbox_id: str) -> None:
        """Take a message for a part of ours, before that is written down."""
        self._claimed[message_id] = outbox_id
        if len(self._claimed) > REMEMBERED:
            self._claimed.popitem(last=False)

    def claimed_by_others(self, outbox_id: str) -> frozenset[str]:
        """Return the messages that are other parts than this one."""
        return frozenset(id_ for id_, part in self._claimed.items() if part != outbox_id)
