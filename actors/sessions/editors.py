"""Who edited messages last, as far as the stream said: a read shows only that somebody did."""

from collections import OrderedDict

from .admission import Editor
from .facts import Message
from .stream_events import MessageEdited

__all__ = ["Editors"]

REMEMBERED = 4_096  # messages, some 0.5 MB; what was edited earlier is edited by nobody knows whom


class Editors:
    """Remembers the newest edit of messages, whoever made it and wherever."""

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._newest: OrderedDict[str, MessageEdited] = OrderedDict()

    def note(self, event: MessageEdited) -> None:
        """Take note of an edit."""
        self._newest[event.message_id] = event
        self._newest.move_to_end(event.message_id)
        if len(self._newest) > REMEMBERED:
            self._newest.popitem(last=False)

    def of(self, message: Message) -> Editor:
        """Tell whose words a message shows, whatever is behind the newest edit that was told."""
        if message.updated_at is None:
            return Editor.AUTHOR
        newest = self._newest.get(message.message_id)
        if newest is None or message.updated_at > newest.edited_at:
            return Editor.UNKNOWN
        return Editor.AUTHOR if newest.editor_id == message.author_id else Editor.OTHER
