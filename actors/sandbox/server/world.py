"""The world: all state of one server, and where its times and IDs come from."""

from .accounts import Accounts
from .assets import Assets
from .clock import Clock
from .credentials import Credentials
from .feed import Feed
from .ids import IdSource
from .inbox import Inbox
from .permissions import Permissions
from .presence import Presence
from .reactions import Reactions
from .readmarkers import ReadMarkers
from .rooms import Rooms
from .rows import Log
from .threads import Threads


class World:
    """Everything the server remembers, one attribute for each concept.

    The concepts know those they stand on; what changes several at once is written in
    `membership`, `posting` and `editing`.
    """

    def __init__(self, clock: Clock, ids: IdSource) -> None:
        """Start an empty server: no accounts, no rooms."""
        self.clock = clock
        self.ids = ids
        self.feed = Feed(clock, ids)
        self.accounts = Accounts(clock, ids)
        self.credentials = Credentials(clock)
        self.rooms = Rooms(ids)
        self.permissions = Permissions(clock, self.accounts)
        self.log = Log(clock, ids)
        self.threads = Threads(self.log, self.feed)
        self.presence = Presence(clock, self.feed)
        self.inbox = Inbox(clock, ids, self.feed, self.presence)
        self.markers = ReadMarkers(self.feed, self.inbox)
        self.reactions = Reactions()
        self.assets = Assets(clock, ids)
