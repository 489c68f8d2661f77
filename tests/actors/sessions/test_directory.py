"""Rooms, people and the account are read once, and kept fresh by what the stream says."""

from collections.abc import AsyncIterator

import pytest

from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.directory import Directory
from hermes_chatto.actors.sessions.facts import Person, RoomKind
from hermes_chatto.actors.sessions.stream_events import Membership, PersonChanged, RoomChanged

NAMES = "UserService/BatchGetUsers"
ROOM = "RoomDirectoryService/GetRoom"


@pytest.fixture
async def stage(open_colleague: Open) -> AsyncIterator[Colleague]:
    """Return a server with people and rooms; no profile runs."""
    async with open_colleague(is_started=False) as colleague:
        yield colleague


@pytest.fixture
async def directory(stage: Colleague) -> Directory:
    """Return a directory that knows who it is, and the rooms."""
    server = stage.person("hermes")
    directory = Directory(server, names_kept=1)
    directory.welcome(await server.identify())
    await directory.refresh_rooms()
    return directory


async def test_nobody_is_known_before_the_first_connection(stage: Colleague) -> None:
    """Asked too early, it says so."""
    with pytest.raises(LookupError, match="first connection"):
        _ = Directory(stage.person("hermes")).account


async def test_rooms_are_those_the_account_is_in(directory: Directory) -> None:
    """Others are known, and not returned."""
    names = {room.name for room in await directory.refresh_rooms()}

    assert names == {"R1", "R2", "announcements"}


async def test_a_room_is_read_when_it_is_not_known(stage: Colleague, directory: Directory) -> None:
    """A direct conversation in which nothing had been said is in no list."""
    d1 = await stage.opens_dm("alice")
    before = stage.sandbox.calls[ROOM]
    assert directory.known_room(d1) is None
    assert directory.kind_of(d1) is RoomKind.DIRECT

    found = [await directory.room(d1) for _ in range(2)]

    assert [room.kind for room in found if room] == [RoomKind.DIRECT] * 2
    assert stage.sandbox.calls[ROOM] == before + 1
    assert await directory.room("R0000000000gone") is None


async def test_a_changed_room_is_read_again_and_keeps_its_kind(
    stage: Colleague, directory: Directory
) -> None:
    """Name and archive may have changed, the kind never does."""
    r1 = stage.rooms["R1"]
    directory.note_room(RoomChanged(r1))

    assert directory.known_room(r1) is None
    assert directory.kind_of(r1) is RoomKind.CHANNEL
    room = await directory.room(r1)
    assert room is not None
    assert room.name == "R1"


async def test_a_room_we_left_is_not_ours_until_we_join_again(
    stage: Colleague, directory: Directory
) -> None:
    """The stream says both; what was known stays, but for the membership."""
    r1, hermes = stage.rooms["R1"], stage.ids["hermes"]
    directory.note_room(RoomChanged(r1, hermes, Membership.LEFT))
    left = directory.known_room(r1)
    directory.note_room(RoomChanged(r1, hermes, Membership.JOINED))

    assert left is not None
    assert not left.is_member
    assert directory.known_room(r1) is None
    directory.note_room(RoomChanged(r1, hermes, Membership.LEFT))
    assert directory.known_room(r1) is None


async def test_others_come_and_go_without_a_read(stage: Colleague, directory: Directory) -> None:
    """A busy room would cost a read per visitor."""
    r1 = stage.rooms["R1"]
    directory.note_room(RoomChanged(r1, stage.ids["alice"], Membership.LEFT))

    assert directory.known_room(r1) is not None


async def test_names_are_read_once(stage: Colleague, directory: Directory) -> None:
    """And somebody without an account any more is called by the ID."""
    alice = stage.ids["alice"]
    before = stage.sandbox.calls[NAMES]

    people = [await directory.people([alice]) for _ in range(2)]
    nobody = await directory.people(["U0000000000gone"])

    assert people[0] == people[1] == {alice: Person(alice, "alice", "Alice")}
    assert nobody == {"U0000000000gone": Person("U0000000000gone", "", "U0000000000gone")}
    assert stage.sandbox.calls[NAMES] == before + 2


async def test_a_new_name_is_taken_from_the_stream(stage: Colleague, directory: Directory) -> None:
    """For those who are known; of others nothing is kept."""
    alice, bob = stage.ids["alice"], stage.ids["bob"]
    await directory.people([alice])
    for user_id in (alice, bob):
        directory.note_person(PersonChanged(Person(user_id, "queen", "The Queen")))

    assert (await directory.people([alice]))[alice].display_name == "The Queen"
    assert (await directory.people([bob]))[bob].display_name == "Bob"


async def test_our_own_new_login_is_what_mentions_us(
    stage: Colleague, directory: Directory
) -> None:
    """From the event on, without another login."""
    directory.note_person(PersonChanged(Person(stage.ids["hermes"], "thoth", "Thoth")))

    assert directory.account.login == "thoth"


async def test_too_many_names_are_forgotten(stage: Colleague, directory: Directory) -> None:
    """And read again when they are needed."""
    before = stage.sandbox.calls[NAMES]
    for login in ("alice", "bob", "carol", "alice"):
        await directory.people([stage.ids[login]])

    assert stage.sandbox.calls[NAMES] == before + 4


async def test_the_allowlist_takes_logins_and_ids(
    stage: Colleague, directory: Directory, caplog: pytest.LogCaptureFixture
) -> None:
    """In any case, with or without the sign; who is nobody is named to the operator."""
    alice, bob = stage.ids["alice"], stage.ids["bob"]

    resolved = await directory.resolve(["*", "@Alice", bob, "nobody"])

    assert resolved == {alice, bob}
    assert "CHATTO_ALLOWED_USERS: nobody on the server has the login 'nobody'" in caplog.text


async def test_a_handle_is_a_person_or_calls_nobody(
    stage: Colleague, directory: Directory
) -> None:
    """A login that is not known costs a read; broadcasts, roles and our own cost none."""
    reads = "UserService/GetUser"
    before = stage.sandbox.calls[reads]
    free = [await directory.is_person(handle) for handle in ("all", "Moderator", "HERMES")]
    assert free == [False, False, True]
    assert stage.sandbox.calls[reads] == before

    assert [await directory.is_person(handle) for handle in ("Bob", "bob", "oncall")] == [
        *(True, True),
        False,
    ]
    assert stage.sandbox.calls[reads] == before + 2
