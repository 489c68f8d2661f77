"""What was posted in which thread since its session was last told: kept in memory only.

The stream names every message with its thread, so a quiet thread is known to be quiet without a
read. After a gap in the stream nothing here is complete: every thread then counts as behind.
"""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field

__all__ = ["Posts", "Unseen"]

POSTS_KEPT = 64  # IDs of a thread; a read is needed anyway when more have gathered
PLACES_KEPT = 4_096  # threads with news; a busy server's day, some 20 MB at the very most
OPENINGS_KEPT = 4_096  # messages in rooms, some 0.4 MB; looked for seconds after they were posted


@dataclass(slots=True)
class Posts:
    """Messages of one thread in the order of the stream."""

    numbers: dict[str, int] = field(default_factory=dict)
    """The number of each message, in order; every post of the stream has one."""
    dropped: int = 0
    """Number of the newest post whose ID was not kept; 0: all were."""

    @property
    def ids(self) -> list[str]:
        """The messages, in the order of the stream."""
        return list(self.numbers)

    def before(self, message_id: str) -> list[str]:
        """Return those before a message; none where it is not among them."""
        ids = self.ids
        return ids[: ids.index(message_id)] if message_id in self.numbers else []

    @property
    def is_complete(self) -> bool:
        """Whether nothing else was posted."""
        return self.dropped == 0


class Unseen:
    """Posts by place: a room and the root of a thread, or a direct conversation and None."""

    def __init__(self) -> None:
        """Start with nothing; the gap number says from when on."""
        self.gap = 0
        """Number of the newest gap in the stream; posts before it may be missing."""
        self.count = 0
        """Posts noted so far; the number of the newest one."""
        self._places: OrderedDict[tuple[str, str | None], Posts] = OrderedDict()
        self._forgotten: dict[tuple[str, str | None], int] = {}
        self._missed: dict[str, int] = {}
        """Number of the newest stretch, by room, in which its posts did not reach us."""
        self._made_up: OrderedDict[tuple[str, str | None], int] = OrderedDict()
        """Number up to which everything was read since, by place in such a room."""
        self._openings: OrderedDict[str, int] = OrderedDict()
        """Newest messages in rooms themselves, which may open sessions; the number by then."""

    def begin(self, gap: int) -> None:
        """Start anew after a gap in the stream."""
        self.gap = gap
        self._places.clear()
        self._forgotten.clear()
        self._missed.clear()
        self._made_up.clear()
        self._openings.clear()

    def miss(self, room_id: str) -> None:
        """Take note that we left a room or joined it: nothing said before that came by."""
        self.count += 1
        self._missed[room_id] = self.count

    def has_missed(self, room_id: str, root_id: str | None) -> bool:
        """Tell whether posts may have been missed at a place, and were not read since.

        Of a thread whose root came by after that, whatever is in it came by as well.
        """
        missed = self._missed.get(room_id, 0)
        if root_id is not None and missed <= self._openings.get(root_id, -1):
            return False
        return missed > self._made_up.get((room_id, root_id), 0)

    def note(self, room_id: str, root_id: str | None, message_id: str) -> None:
        """Take note of a post, whoever wrote it."""
        self.count += 1
        place = (room_id, root_id)
        posts = self._places.get(place)
        if posts is None:
            posts = self._places[place] = Posts(dropped=self._forgotten.pop(place, 0))
        self._places.move_to_end(place)
        if len(posts.numbers) < POSTS_KEPT:
            posts.numbers[message_id] = self.count
        else:
            posts.dropped = self.count
        if len(self._places) > PLACES_KEPT:
            forgotten, _ = self._places.popitem(last=False)
            self._forgotten[forgotten] = self.count

    def note_opening(self, message_id: str) -> None:
        """Take note of a message in a room itself, under which a thread may begin."""
        self._openings[message_id] = self.count
        if len(self._openings) > OPENINGS_KEPT:
            self._openings.popitem(last=False)

    def has_heard(self, room_id: str, root_id: str | None, message_id: str) -> bool:
        """Tell whether a message came by since the newest gap, and so whatever followed it.

        Of one that was settled, or not kept, it is not known any more: that is a no.
        """
        return message_id in self._openings or message_id in self.of(room_id, root_id).numbers

    def of(self, room_id: str, root_id: str | None) -> Posts:
        """Return what was posted at a place since it was last settled."""
        place = (room_id, root_id)
        known = self._places.get(place)
        return known or Posts(dropped=self._forgotten.get(place, 0))

    def settle(
        self, room_id: str, root_id: str | None, told: Collection[str], all_until: int
    ) -> None:
        """Forget posts that a session holds now; what came meanwhile stays.

        Args:
            room_id: the room.
            root_id: the thread; None for a direct conversation.
            told: messages the session holds.
            all_until: number up to which it holds everything, kept or dropped; 0: not known.
        """
        place = (room_id, root_id)
        if all_until and room_id in self._missed:
            self._made_up[place] = all_until
            if len(self._made_up) > PLACES_KEPT:
                self._made_up.popitem(last=False)  # costs a read, should it be looked at again
        if self._forgotten.get(place, 0) <= all_until:
            self._forgotten.pop(place, None)
        posts = self._places.get(place)
        if posts is None:
            return
        posts.numbers = {
            message_id: number
            for message_id, number in posts.numbers.items()
            if message_id not in told and number > all_until
        }
        if posts.dropped <= all_until:
            posts.dropped = 0
        if not posts.numbers and posts.is_complete:
            del self._places[place]
