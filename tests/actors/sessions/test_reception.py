"""What is not for the agent costs next to nothing, and hides nothing that is."""

from collections import Counter
from collections.abc import Mapping

import anyio
import pytest

from hermes_chatto.actors.sandbox.server.account_calls import tell_profile
from hermes_chatto.actors.sandbox.server.frames import Event
from hermes_chatto.actors.sandbox.server.membership import Membership
from hermes_chatto.actors.sandbox.server.presence import Status
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import FollowUps, Policy
from hermes_chatto.actors.sessions.ports import TurnOrder
from hermes_chatto.actors.sessions.services import Limits

MANY = 1_000
READ = "MessageService/BatchGetMessages"
ROOM_BLOCK = "RoomService/GetRoomEventsAround"
POST = "MessageService/CreateMessage"
FOLLOW = "ThreadService/FollowThread"
EAGER = Policy(
    allowed_user_entries=("alice", "bob"), free_rooms=("R1",), follow_ups=FollowUps.ANYONE
)


def counted(colleague: Colleague) -> Mapping[str, int]:
    """Return how many messages were passed over, by cause, as the state file says."""
    found = colleague.rows("select cause, sum(messages) from ignored group by cause")
    return {str(cause): int(str(count)) for cause, count in found}


def rows_about(colleague: Colleague, *answered: str) -> int:
    """Return how many rows there are about other messages than these."""
    marks = ", ".join("?" * len(answered))
    tables = ("turns", "transitions")
    return sum(
        int(str(colleague.rows(sql, *answered)[0][0]))
        for sql in (
            f"select count(*) from {table} where message_id not in ({marks})"  # noqa: S608
            for table in tables
        )
    )


async def delivered(colleague: Colleague) -> None:
    """Wait until the server has written what it had to say: it cuts who reads too slowly."""
    (stream,) = colleague.sandbox.world.feed.of_user(colleague.ids["hermes"])
    await colleague.until(lambda: not stream.waiting)


async def everything_read(colleague: Colleague, room: str = "R1") -> str:
    """Wait until all that was posted before is decided about; return what shows it."""
    followed = colleague.sandbox.calls[FOLLOW]
    last = colleague.posts("bob", "@hermes is that all?", room=room)
    await colleague.until_state(last, "answered")
    await colleague.until(lambda: colleague.sandbox.calls[FOLLOW] > followed)
    return last


async def test_a_strangers_thousand_messages_cost_no_call_and_no_row(open_colleague: Open) -> None:
    """Who may not speak is not read, mentions and commands included."""
    async with open_colleague() as colleague:
        before = Counter(colleague.sandbox.calls)
        for number in range(MANY):
            colleague.posts("carol", f"@hermes /stop {number}" if number % 2 else f"talk {number}")
            if number % 100 == 0:
                await delivered(colleague)
        last = await everything_read(colleague)
        calls = colleague.sandbox.calls - before
        await colleague.stops()

        # The one question costs what one question costs: itself, its author's name, the answer.
        assert calls == {READ: 1, ROOM_BLOCK: 1, POST: 1, FOLLOW: 1, **names_read(calls)}
        assert counted(colleague) == {"author_not_allowed": MANY, "own_message": 1}
        assert rows_about(colleague, last) == 0


async def test_nothing_a_stranger_does_costs_a_call_or_a_row(open_colleague: Open) -> None:
    """Replies to the agent, edits, reactions, typing, direct conversations, also with others."""
    async with open_colleague() as colleague:
        root = await colleague.says("alice", "@hermes hello")
        await colleague.until_state(root, "answered")
        (answer,) = colleague.answers()
        direct = await colleague.opens_dm("carol")
        shared = await colleague.opens_dm("carol", "alice")
        last = await everything_read(colleague)
        before = Counter(colleague.sandbox.calls)

        talk = await colleague.says("carol", "talk", thread=root, reply_to=answer.message_id)
        await colleague.edits("carol", talk, "@hermes /stop")
        colleague.tells_room(
            "carol", "reaction_added", message_event_id=answer.message_id, emoji="x"
        )
        colleague.tells_room("carol", "user_typing", thread_root_event_id=root)
        for room in (direct, shared):
            colleague.posts("carol", "@hermes /approve", room=room)
        await delivered(colleague)
        more = await everything_read(colleague)
        calls = colleague.sandbox.calls - before

        assert calls == {READ: 1, ROOM_BLOCK: 1, POST: 1, FOLLOW: 1, **names_read(calls)}
        assert rows_about(colleague, root, last, more) == 0


def names_read(calls: Mapping[str, int]) -> Mapping[str, int]:
    """Return the one call for a name, if it was made."""
    return {name: 1 for name in calls if name == "UserService/BatchGetUsers"}


async def test_a_thousand_messages_that_are_not_meant_are_read_in_batches(
    open_colleague: Open,
) -> None:
    """One read in flight per room, with whatever has gathered; nothing of it is kept."""
    async with open_colleague() as colleague:
        before = colleague.sandbox.calls[READ]
        for number in range(MANY):
            colleague.posts("alice", f"talk {number}")
        last = await everything_read(colleague)
        reads = colleague.sandbox.calls[READ] - before
        await colleague.stops()

        assert MANY / 100 <= reads <= 40
        assert counted(colleague) == {"not_addressed": MANY, "own_message": 1}
        assert rows_about(colleague, last) == 0


async def test_mentions_in_a_flood_are_answered_once_each(open_colleague: Open) -> None:
    """However much is read together, nothing that is meant gets lost or is taken twice."""
    async with open_colleague() as colleague:
        meant = []
        for number in range(300):
            colleague.posts("alice", f"talk {number}")
            colleague.posts("carol", f"@hermes do {number}")
            if number % 30 == 0:
                meant.append(colleague.posts("alice", f"@hermes question {number}"))
        await colleague.until(lambda: len(colleague.answers()) >= len(meant), within_s=15)
        await colleague.until(lambda: not colleague.rows("select 1 from open_turns"))
        await colleague.stops()

        assert sorted(answer.in_reply_to for answer in colleague.answers()) == sorted(meant)
        states = colleague.rows("select distinct state from turns")
        assert states == [("answered",)]
        assert rows_about(colleague, *meant) == 0


async def test_one_read_is_in_flight_per_room_and_another_room_does_not_wait(
    open_colleague: Open,
) -> None:
    """What comes during a read is read together, right after it."""
    async with open_colleague() as colleague:
        before = colleague.sandbox.calls[READ]
        colleague.faults.delays[READ] = 0.3
        colleague.posts("alice", "talk")
        await colleague.until(lambda: colleague.sandbox.calls[READ] > before)
        for number in range(50):
            colleague.posts("alice", f"@hermes {number}")
        elsewhere = colleague.posts("bob", "@hermes hi", room="R2")
        await colleague.until_state(elsewhere, "answered")
        colleague.faults.delays.clear()
        await colleague.until(lambda: len(colleague.answers()) == 51)

        # One of the first message, one of the fifty, one of R2.
        assert colleague.sandbox.calls[READ] - before == 3


async def test_presence_and_typing_cost_nothing(open_colleague: Open) -> None:
    """They are most of what a stream says: no call, no row, no counter."""
    async with open_colleague() as colleague:
        before = Counter(colleague.sandbox.calls)
        presence = colleague.sandbox.world.presence
        for number in range(MANY):
            presence.say(colleague.ids["alice"], Status.AWAY if number % 2 else Status.ONLINE)
            colleague.tells_room("alice", "user_typing")
            if number % 100 == 0:
                await delivered(colleague)
        last = await everything_read(colleague)
        calls = colleague.sandbox.calls - before
        await colleague.stops()

        assert calls == {READ: 1, ROOM_BLOCK: 1, POST: 1, FOLLOW: 1, **names_read(calls)}
        assert counted(colleague) == {"own_message": 1}
        assert rows_about(colleague, last) == 0


async def test_an_event_that_comes_twice_is_a_visible_no_op(open_colleague: Open) -> None:
    """One turn per message ID; the log shows the second one (handed S01)."""
    async with open_colleague() as colleague:
        colleague.faults.repeated = {"message_posted", "notification_created"}
        m1 = await colleague.says("alice", "@hermes build?")
        await colleague.until_state(m1, "answered")
        m2 = await colleague.says("alice", "@hermes and the tests?", thread=m1)
        await colleague.until_state(m2, "answered")
        await colleague.stops()

        assert [answer.in_reply_to for answer in colleague.answers()] == [m1, m2]
        repeats = colleague.rows(
            "select message_id, reason, from_state = to_state from transitions "
            "where event = 'repeat' order by message_id"
        )
        assert repeats == [(id_, "redelivered", 1) for id_ in sorted([m1, m2])]
        assert {colleague.state_of(m1), colleague.state_of(m2)} == {"answered"}


async def test_a_late_repetition_leaves_an_answered_turn_as_it_is(open_colleague: Open) -> None:
    """Told of a message that is long answered, only the log grows."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes build?")
        await colleague.until_state(m1, "answered")
        row = colleague.rows("select * from turns")
        reads = colleague.sandbox.calls[READ]
        tell_again(colleague, m1)
        await colleague.until(lambda: "answered -> answered" in colleague.story(m1))

        assert colleague.rows("select * from turns") == row
        assert colleague.sandbox.calls[READ] == reads
        assert len(colleague.answers()) == 1


def tell_again(colleague: Colleague, message_id: str) -> None:
    """Let the server announce a message of alice's in R1 once more."""
    colleague.tells_room("alice", "message_posted", message_event_id=message_id)


async def test_the_servers_verdict_finds_a_role_and_reads_nothing_again(
    open_colleague: Open,
) -> None:
    """Text cannot say which roles the account holds; the notification right after it does."""
    async with open_colleague() as colleague:
        world = colleague.sandbox.world
        world.accounts.require(colleague.ids["hermes"]).roles.add("moderator")
        world.accounts.require(colleague.ids["alice"]).roles.add("admin")
        before = colleague.sandbox.calls[READ]
        m1 = colleague.posts("alice", "@moderator help")
        await colleague.until_state(m1, "answered")

        assert colleague.rows("select cause from turns") == [("role",)]
        assert colleague.sandbox.calls[READ] - before == 1


async def test_a_follow_up_read_together_with_its_question_is_taken(open_colleague: Open) -> None:
    """How messages fall into batches must not decide what they mean."""

    async def slow(order: TurnOrder) -> str:
        await anyio.sleep(0.05)
        return order.text

    async with open_colleague(agent=slow) as colleague:
        m1 = colleague.posts("alice", "@hermes start")
        m2 = colleague.posts("alice", "and count", thread=m1)
        m3 = colleague.posts("bob", "not for you", thread=m1)
        await colleague.until_state(m2, "answered")
        await everything_read(colleague)

        assert [order.text for order in colleague.gateway.orders][:2] == [
            "@hermes start",
            "and count",
        ]
        assert colleague.state_of(m3) is None


async def test_a_reply_to_another_programs_post_under_the_account_is_found(
    open_colleague: Open,
) -> None:
    """What the outbox does not know is read, once, and only for who may speak."""
    async with open_colleague() as colleague:
        note = colleague.posts("hermes", "nightly build: 2 failed")
        m1 = colleague.posts("alice", "why?", reply_to=note)
        m2 = colleague.posts("alice", "who?", reply_to=colleague.posts("bob", "me"))
        await colleague.until_state(m1, "answered")
        await everything_read(colleague)

        assert colleague.rows("select cause from turns where message_id = ?", m1) == [("reply",)]
        assert colleague.state_of(m2) is None


async def test_a_message_that_is_gone_before_it_is_read_leaves_nothing(
    open_colleague: Open,
) -> None:
    """Two looks, then it is believed."""
    async with open_colleague() as colleague:
        tell_again(colleague, "M00000000000gone")
        last = await everything_read(colleague)
        await colleague.stops()

        assert counted(colleague)["unreadable"] == 1
        assert rows_about(colleague, last) == 0


async def test_a_server_that_cannot_read_for_a_while_is_asked_again(open_colleague: Open) -> None:
    """A question is not lost to an outage that the stream survives."""
    limits = Limits(first_wait_s=0.05)
    async with open_colleague(script=Script(limits=limits)) as colleague:
        colleague.faults.refused[READ] = Code.UNAVAILABLE
        before = colleague.sandbox.calls[READ]
        m1 = colleague.posts("alice", "@hermes still there?")
        await colleague.until(lambda: colleague.sandbox.calls[READ] - before >= 3)
        colleague.faults.refused.clear()
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 1


async def test_an_outage_that_does_not_end_is_given_up(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """The room goes on with what comes later."""
    limits = Limits(first_wait_s=0.02, outage_wait_s=0.1)
    async with open_colleague(script=Script(limits=limits)) as colleague:
        colleague.faults.refused[READ] = Code.UNAVAILABLE
        m1 = colleague.posts("alice", "@hermes still there?")
        await colleague.until(lambda: "could not be read" in caplog.text)
        colleague.faults.refused.clear()
        last = await everything_read(colleague)
        await colleague.stops()

        assert counted(colleague)["unreadable"] == 1
        assert colleague.state_of(m1) is None
        assert rows_about(colleague, last) == 0


async def test_a_room_that_may_not_be_read_any_more_is_looked_at_again(
    open_colleague: Open,
) -> None:
    """A ban leaves the list of rooms stale; the refusal of a read says so."""
    async with open_colleague() as colleague:
        colleague.faults.refused[READ] = Code.PERMISSION_DENIED
        colleague.posts("alice", "@hermes lost?")
        await colleague.until(lambda: colleague.sandbox.calls[READ] > 1)
        await anyio.wait_all_tasks_blocked()
        colleague.faults.refused.clear()
        before = colleague.sandbox.calls["RoomDirectoryService/GetRoom"]
        await everything_read(colleague)

        assert colleague.sandbox.calls["RoomDirectoryService/GetRoom"] == before + 1


async def test_a_free_room_and_anyones_follow_ups_are_answered(open_colleague: Open) -> None:
    """The operator's wishes reach the room."""
    async with open_colleague(policy=EAGER) as colleague:
        m1 = colleague.posts("alice", "hello")
        await colleague.until_state(m1, "answered")
        m2 = colleague.posts("bob", "and me?", thread=m1)
        await colleague.until_state(m2, "answered")
        colleague.posts("alice", "@bob look")
        await everything_read(colleague)

        causes = colleague.rows("select cause from turns order by lane_order")
        assert causes == [("open_room",), ("follow_up",), ("mention",)]


async def test_a_renamed_room_stays_a_room(open_colleague: Open) -> None:
    """What is read again when needed is no direct conversation meanwhile."""
    async with open_colleague() as colleague:
        colleague.tells_room("bob", "room_updated")
        m1 = colleague.posts("carol", "@hermes hi")
        m2 = colleague.posts("alice", "@hermes hi")
        await colleague.until_state(m2, "answered")

        assert colleague.rows("select room_kind from turns") == [("channel",)]
        assert colleague.state_of(m1) is None


async def test_a_stop_in_the_middle_of_a_flood_is_in_order(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """What is not read any more is no error; what has a row keeps it."""
    async with open_colleague() as colleague:
        for number in range(MANY):
            colleague.posts("alice", f"@hermes {number}" if number % 100 == 0 else "talk")
        colleague.faults.delays[READ] = 0.05
        await colleague.until(lambda: bool(colleague.rows("select 1 from turns")))
        await colleague.stops()

        assert colleague.rows("select state from connection") == [("stopped",)]
        assert not [line for line in caplog.records if line.exc_info]


async def test_the_agent_is_invited_and_put_out_while_it_listens(open_colleague: Open) -> None:
    """A room that was not there at the start is answered in; one that was left is not."""
    async with open_colleague() as colleague:
        world = colleague.sandbox.world
        people = [world.accounts.require(colleague.ids[login]) for login in ("alice", "hermes")]
        room = colleague.sandbox.add_room("R3", people[0])
        colleague.sandbox.add_members(room, people[1])
        m1 = colleague.posts("alice", "@hermes welcome", room=room.id)
        await colleague.until_state(m1, "answered")
        Membership(world).leave(people[1], room)
        Membership(world).join(people[1], room)
        m2 = colleague.posts("alice", "@hermes back?", room=room.id)
        await colleague.until_state(m2, "answered")

        kinds = colleague.rows("select distinct room_kind, room_name from turns")
        assert kinds == [("channel", "R3")]


async def test_a_new_name_is_what_the_agent_reads(open_colleague: Open) -> None:
    """Names come from the stream, without a read."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")
        world = colleague.sandbox.world
        alice = world.accounts.require(colleague.ids["alice"])
        alice.display_name = "The Queen"
        tell_profile(world, alice, alice)
        m2 = await colleague.says("alice", "@hermes who am I?")
        await colleague.until_state(m2, "answered")

        names = [order.author.display_name for order in colleague.gateway.orders]
        assert names == ["Alice", "The Queen"]


async def test_edits_retractions_and_departures_are_let_pass(open_colleague: Open) -> None:
    """Nothing follows from them yet; nothing breaks by them either."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")
        for kind in ("message_edited", "message_retracted"):
            colleague.tells_room("alice", kind, message_event_id=m1)
        world = colleague.sandbox.world
        gone = {"user_id": colleague.ids["carol"]}
        world.feed.tell_everybody(Event("server_member_deleted", colleague.ids["alice"], gone))
        await everything_read(colleague)

        assert colleague.state_of(m1) == "answered"


async def test_a_room_remembers_the_newest_messages_that_were_not_meant(
    open_colleague: Open,
) -> None:
    """The server's verdict on an old one costs a read; memory stays bounded."""
    async with open_colleague() as colleague:
        world = colleague.sandbox.world
        world.accounts.require(colleague.ids["hermes"]).roles.add("moderator")
        colleague.faults.withheld = {"notification_created"}
        old = colleague.posts("alice", "@moderator help")
        for number in range(300):
            colleague.posts("alice", f"talk {number}")
        await everything_read(colleague)
        before = colleague.sandbox.calls[READ]
        colleague.faults.withheld.clear()
        heard = {"notification_id": "N1", "room_id": colleague.rooms["R1"], "event_id": old}
        told = Event("notification_created", colleague.ids["alice"], heard)
        world.feed.tell_user(colleague.ids["hermes"], told)
        await colleague.until_state(old, "answered")

        assert colleague.sandbox.calls[READ] == before + 1
