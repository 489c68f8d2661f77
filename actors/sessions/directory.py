"""Who we are, which rooms there are and what people are called: known from one read each."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from .facts import Account, Person, Room, RoomKind
from .ports import ChatServer
from .stream_events import Membership, PersonChanged, RoomChanged

__all__ = ["Directory"]

NO_PERSON = frozenset({"all", "here", "everyone", "owner", "admin", "moderator"})
"""Handles that no account can have. Source: Chatto 0.4.20, cli/internal/core/users.go."""

NAMES_KEPT = 10_000  # people; a name is read again when it is needed after it was forgotten


class Directory:
    """What the server told, kept fresh by the stream."""

    def __init__(self, server: ChatServer, names_kept: int = NAMES_KEPT) -> None:
        """Start knowing nothing.

        Args:
            server: whom to ask.
            names_kept: how many people are remembered.
        """
        self._server = server
        self._names_kept = names_kept
        self._account: Account | None = None
        self._rooms: dict[str, Room] = {}
        self._kinds: dict[str, RoomKind] = {}
        """Of every room that was ever seen: the one thing about a room that never changes."""
        self._people: dict[str, Person] = {}
        self._left: set[str] = set()
        """Rooms the open stream saw us leave; it may say nothing of them any more."""
        self.on_return: Callable[[str], object] = id
        """Told of a room we are in although the open stream saw us leave it.

        Source: Chatto 0.4.20: lifting a ban in a room open to all is told to nobody, and the
        stream stays deaf to the room (cli/internal/core/my_events_model.go).
        """

    @property
    def account(self) -> Account:
        """The agent's own account.

        Raises:
            LookupError: nobody has logged in yet.
        """
        if self._account is None:
            message = "the account is known only after the first connection"
            raise LookupError(message)
        return self._account

    def welcome(self, account: Account) -> None:
        """Remember who we are."""
        self._account = account

    async def refresh_rooms(self) -> Sequence[Room]:
        """Read all rooms and return those the account is in. Raises: ChatError."""
        rooms = await self._server.list_rooms()
        self._left.clear()
        self._rooms = {room.room_id: room for room in rooms}
        self._kinds.update({room.room_id: room.kind for room in rooms})
        return [room for room in rooms if room.is_member]

    @property
    def rooms(self) -> Collection[Room]:
        """The rooms that are known, also those the account is not in."""
        return self._rooms.values()

    def own_rooms(self) -> Sequence[Room]:
        """Return the rooms the account is in, as far as they are known."""
        return [room for room in self._rooms.values() if room.is_member]

    def known_room(self, room_id: str) -> Room | None:
        """Return a room if it is known, without asking the server."""
        return self._rooms.get(room_id)

    async def room(self, room_id: str) -> Room | None:
        """Return a room, from the server where it is not known; None: hidden or gone.

        Raises: ChatError.
        """
        known = self._rooms.get(room_id)
        if known is not None and known.takes_answers and not known.is_archived:
            return known
        # What keeps the agent quiet is looked at again: no event tells when a right is given.
        found = await self._server.get_room(room_id)
        if found is not None:
            self._rooms[room_id] = found
            self._kinds[room_id] = found.kind
            if found.is_member and room_id in self._left:
                self._left.discard(room_id)
                self.on_return(room_id)
        return found

    def known_person(self, user_id: str) -> Person | None:
        """Return somebody if known, without asking the server."""
        return self._people.get(user_id)

    def has_left(self, room_id: str) -> bool:
        """Tell whether the open stream saw us leave a room."""
        return room_id in self._left

    def id_of(self, room: str) -> str:
        """Return the ID of a room that is given by its ID or, in any case, by its name."""
        if room in self._rooms:
            return room
        named = (known for known in self._rooms.values() if known.name.lower() == room.lower())
        found = next(named, None)
        return found.room_id if found else room

    def kind_of(self, room_id: str) -> RoomKind:
        """Return the kind of a room; an unknown one is taken for a direct conversation.

        Channels are all listed at every connection, so what is unknown is a conversation in
        which nothing had been said.
        """
        return self._kinds.get(room_id, RoomKind.DIRECT)

    def forget_room(self, room_id: str) -> None:
        """Read a room again when it is needed: what was known of it turned out wrong."""
        self._rooms.pop(room_id, None)

    def note_room(self, event: RoomChanged) -> None:
        """Take note of a change; the room is read again when it is needed."""
        own = self._account and event.user_id == self._account.user_id
        if event.membership is None or own:
            known = self._rooms.pop(event.room_id, None)
            if own and event.membership is Membership.LEFT:
                self._left.add(event.room_id)
            elif own:
                self._left.discard(event.room_id)
            if known and own and event.membership is Membership.LEFT:
                self._rooms[event.room_id] = replace(known, is_member=False)

    def note_person(self, event: PersonChanged) -> None:
        """Take note of a new name, perhaps our own."""
        person = event.person
        known = self._people.get(person.user_id)
        if known is not None:
            self._people[person.user_id] = replace(person, is_program=known.is_program)
        if self._account and person.user_id == self._account.user_id:
            self._account = Account(person.user_id, person.login, person.display_name)

    def note_people(self, people: Mapping[str, Person]) -> None:
        """Take note of names that came along with a page."""
        self._make_room()
        self._people.update(people)

    async def people(self, user_ids: Iterable[str]) -> Mapping[str, Person]:
        """Return who these are, from the server where it is not known.

        Somebody without an account any more gets the ID for a name. Raises: ChatError.
        """
        wanted = set(user_ids)
        if missing := wanted - self._people.keys():
            self._make_room()
            self._people.update(await self._server.people(missing))
        return {
            user_id: self._people.get(user_id, Person(user_id, "", user_id)) for user_id in wanted
        }

    def _make_room(self) -> None:
        if len(self._people) > self._names_kept:
            self._people.clear()

    async def living(self, user_ids: Collection[str]) -> Mapping[str, Person]:
        """Read who these are now, without those whose account is gone. Raises: ChatError."""
        found = await self._server.people(user_ids) if user_ids else {}
        self.note_people(found)
        return found

    async def is_person(self, handle: str) -> bool:
        """Tell whether a handle is the login of a person, in any case.

        Whoever is not known is read, each time: an account may have been made since.
        Raises: ChatError.
        """
        wanted = handle.lower()
        if wanted in NO_PERSON:
            return False
        if self._account is not None and self._account.login.lower() == wanted:
            return True
        if any(person.login.lower() == wanted for person in self._people.values()):
            return True
        found = await self._server.find_person(handle)
        if found is not None:
            self.note_people({found.user_id: found})
        return found is not None

    async def find(self, login: str) -> Person | None:
        """Look somebody up by login, in any case; None: nobody. Raises: ChatError."""
        person = await self._server.find_person(login)
        if person is not None:
            self._people[person.user_id] = person
        return person
