"""A defect in one handler ends what it was about, with a name, and nothing else."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime

import anyio
import pytest

from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.facts import (
    Account,
    InboxPage,
    Message,
    NotificationLevels,
    Page,
    Person,
    Place,
    Room,
)
from hermes_chatto.actors.sessions.ports import (
    ChatServer,
    ConnectionReport,
    DeliveryState,
    HandOver,
    Outgoing,
    Post,
    TurnOrder,
)
from hermes_chatto.actors.sessions.remains import Remains
from hermes_chatto.actors.sessions.services import Limits
from hermes_chatto.actors.sessions.stream_events import StreamEvent

QUICK = Limits(repair_wait_s=0.001, start_within_s=0.1, first_wait_s=0.01, late_looks_s=(0.01,))


class Cursed:
    """The server, but whoever touches a message with the cursed word falls over."""

    def __init__(self, server: ChatServer, word: str = "bad") -> None:
        self._server = server
        self._word = word
        self.cursed_ids: set[str] = set()

    def _raise(self, what: str) -> None:
        message = f"nobody thought of {what}"
        raise ValueError(message)

    async def identify(self) -> Account:
        return await self._server.identify()

    def stream(self, resume_after: str | None = None) -> AsyncGenerator[StreamEvent, None]:
        return self._server.stream(resume_after)

    def is_pair(self, room_id: str, user_id: str) -> bool:
        return self._server.is_pair(room_id, user_id)

    async def page_around(self, place: Place, row_id: str, limit: int) -> Page | None:
        return await self._server.page_around(place, row_id, limit)

    async def first_page(self, place: Place, limit: int) -> Page:
        return await self._server.first_page(place, limit)

    async def list_rooms(self) -> Sequence[Room]:
        return await self._server.list_rooms()

    async def get_room(self, room_id: str) -> Room | None:
        return await self._server.get_room(room_id)

    async def read_messages(self, room_id: str, ids: Sequence[str]) -> Sequence[Message]:
        found = await self._server.read_messages(room_id, ids)
        if any(self._word in message.body for message in found):
            self._raise("a read")
        return found

    async def newest_messages(
        self, place: Place, *, since: datetime, most: int
    ) -> Sequence[Message]:
        return await self._server.newest_messages(place, since=since, most=most)

    async def inbox_page(self, offset: int) -> InboxPage:
        return await self._server.inbox_page(offset)

    def notification_levels(self) -> NotificationLevels:
        return self._server.notification_levels()

    async def follow_thread(self, room_id: str, thread_root_id: str) -> None:
        await self._server.follow_thread(room_id, thread_root_id)

    def server_time(self) -> datetime | None:
        return self._server.server_time()

    async def people(self, user_ids: Collection[str]) -> Mapping[str, Person]:
        return await self._server.people(user_ids)

    async def find_person(self, login: str) -> Person | None:
        return await self._server.find_person(login)

    async def post(self, post: Post) -> str:
        if "unspeakable" in post.body:
            self._raise("a post")
        return await self._server.post(post)

    async def find_post(
        self, post: Post, *, not_before: datetime, exclude: Collection[str] = ()
    ) -> str | None:
        return await self._server.find_post(post, not_before=not_before, exclude=exclude)

    async def react(self, room_id: str, message_id: str, emoji: str, *, on: bool) -> None:
        await self._server.react(room_id, message_id, emoji, on=on)

    async def show_typing(self, place: Place) -> None:
        await self._server.show_typing(place)

    async def show_online(self) -> None:
        await self._server.show_online()


CURSED = Script(limits=QUICK, around=Cursed)


async def test_a_message_that_breaks_its_reader_fails_alone(open_colleague: Open) -> None:
    """Whatever was read together with it is read again without it (handed S56)."""
    async with open_colleague(script=CURSED) as colleague:
        root = colleague.posts("bob", "talk")
        m1 = colleague.posts("alice", "@hermes before", thread=root)
        m2 = colleague.posts("alice", "@hermes bad", thread=root)
        m3 = colleague.posts("alice", "@hermes good", thread=root)
        await colleague.until_state(m3, "answered")
        await colleague.until_state(m2, "failed")

        row = "select reason, thread_root_id, author_id, body from turns where message_id = ?"
        alice = colleague.ids["alice"]
        assert colleague.rows(row, m2) == [("inside:ValueError", root, alice, "")]
        assert colleague.state_of(m1) == "answered"
        assert [answer.in_reply_to for answer in colleague.answers()] == [m1, m3]
        orders = colleague.rows("select count(distinct lane_order) from turns")
        assert orders == [(3,)]


async def test_a_broken_message_is_failed_once_however_often_it_is_told(
    open_colleague: Open,
) -> None:
    """A row of an earlier failure is left as it is."""
    async with open_colleague(script=CURSED) as colleague:
        colleague.faults.repeated = {"message_posted"}
        m2 = colleague.posts("alice", "@hermes bad")
        await colleague.until_state(m2, "failed")
        m3 = colleague.posts("alice", "@hermes fine")
        await colleague.until_state(m3, "answered")

        assert colleague.story(m2)[:2] == ["received", "received -> failed"]


async def test_an_answer_that_breaks_its_delivery_fails_its_turn(open_colleague: Open) -> None:
    """Whoever waits is told, no part stays open, and the lane goes on."""

    async def say(order: TurnOrder) -> str:
        return "unspeakable" if "one" in order.text else "fine"

    script = Script(agent=say, limits=QUICK, around=Cursed)
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "answered")

        turn = "select state, reason from turns where message_id = ?"
        assert colleague.rows(turn, m1) == [("failed", "inside:ValueError")]
        assert colleague.rows("select state, reason from outbox where turn_id = ?", m1) == [
            ("refused", "inside:ValueError")
        ]


async def test_a_text_outside_a_turn_that_breaks_its_delivery_is_told(
    open_colleague: Open,
) -> None:
    """The gateway's caller does not wait for ever."""
    async with open_colleague(script=CURSED) as colleague:
        note = Outgoing(colleague.rooms["R1"], None, "unspeakable", is_final=True)
        result = await colleague.desk.deliver(note)

        assert (result.state, result.reason) == (DeliveryState.REFUSED, "inside:ValueError")


def break_rows(colleague: Colleague, condition: str, table: str = "turns") -> None:
    """Let the state file refuse a change, as a defect of ours would be refused."""
    for verb in ("insert", "update"):
        colleague.write(
            f"create trigger broken_{verb} before {verb} on {table} when {condition} "
            "begin select raise(abort, 'broken'); end"
        )


def is_inside(colleague: Colleague, message_id: str) -> bool:
    """Tell whether a turn has failed by a defect."""
    turn = "select state, reason from turns where message_id = ?"
    return colleague.rows(turn, message_id) == [("failed", "inside:IntegrityError")]


@pytest.mark.parametrize("broken", ["admitted", "processing", "silent", "answered"])
async def test_a_lane_that_breaks_at_any_step_goes_on_with_the_next_turn(
    open_colleague: Open, broken: str
) -> None:
    """The actor dies with mail waiting; what comes later is answered (handed S04)."""

    async def say(order: TurnOrder) -> str | None:
        return None if "one" in order.text and broken == "silent" else "fine"

    async with open_colleague(script=Script(agent=say, limits=QUICK)) as colleague:
        m1 = colleague.posts("alice", "@hermes one")
        condition = f"new.state = '{broken}' and new.message_id = '{m1}'"
        break_rows(colleague, condition)
        m2 = colleague.posts("alice", "@hermes two", thread=m1)
        elsewhere = colleague.posts("bob", "@hermes hi", room="R2")
        await colleague.until_state(m2, "answered")

        assert is_inside(colleague, m1)
        assert colleague.state_of(elsewhere) == "answered"


async def test_a_turn_that_cannot_be_handed_over_fails_alone(open_colleague: Open) -> None:
    """Neither the one before it, whose end let it go, nor those behind it."""
    go_on = anyio.Event()

    async def slow(order: TurnOrder) -> str:
        if "one" in order.text:
            await go_on.wait()
        return "fine"

    async with open_colleague(script=Script(agent=slow, limits=QUICK)) as colleague:
        m1 = colleague.posts("alice", "@hermes one")
        await colleague.until_state(m1, "processing")
        bad = [colleague.posts("alice", f"@hermes bad {number}", thread=m1) for number in (2, 3)]
        m4 = colleague.posts("alice", "@hermes four", thread=m1)
        await colleague.until_state(m4, "queued")
        break_rows(colleague, f"new.state = 'handed' and new.message_id in {tuple(bad)}")
        go_on.set()
        await colleague.until_state(m4, "answered")

        assert colleague.state_of(m1) == "answered"
        assert all(is_inside(colleague, message_id) for message_id in bad)


async def test_a_first_turn_that_cannot_be_handed_over_fails(open_colleague: Open) -> None:
    """Decided about and handed over in one step: both or neither."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        break_rows(colleague, "new.state = 'handed'")
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "failed")

        assert is_inside(colleague, m1)


async def test_a_turn_that_cannot_be_taken_up_fails(open_colleague: Open) -> None:
    """A restart that breaks on a run of before lets go of its lane."""
    started = anyio.Event()

    async def for_ever(order: TurnOrder) -> None:
        del order
        started.set()
        await anyio.sleep_forever()

    async with open_colleague(script=Script(agent=for_ever, limits=QUICK)) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await started.wait()
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "queued")
        await colleague.dies()
        break_rows(colleague, "new.state = 'interrupted'")
        (session,) = colleague.sessions.values()
        session.remains = Remains.RESUMES
        await colleague.starts(Script(limits=QUICK))
        await colleague.until_state(m2, "answered")

        assert is_inside(colleague, m1)


async def test_a_report_that_fails_is_made_again(open_colleague: Open) -> None:
    """The connection goes on where its row says it stands."""
    quick = Limits(repair_wait_s=0.001, reconnect_first_s=0.02, reconnect_longest_s=0.05)
    async with open_colleague(script=Script(limits=quick)) as colleague:
        colleague.gateway.fails_reports = [RuntimeError("lost"), RuntimeError("live")]
        colleague.cuts_stream()
        m1 = await colleague.says("alice", "@hermes still there?")
        await colleague.until(
            lambda: (
                [what for what, _ in colleague.gateway.reports]
                == [ConnectionReport.LIVE, ConnectionReport.LIVE]
            )
        )
        m2 = await colleague.says("alice", "@hermes and now?")
        await colleague.until_state(m2, "answered")
        await colleague.until_state(m1, "answered")  # said while nobody listened

        events = colleague.rows(
            "select event from transitions where machine = 'connection' order by seq"
        )
        assert [event for (event,) in events][4:] == [
            "lose",
            "retry",
            "identify",
            "subscribe",
            "catch_up",
            "go_live",
        ]


async def test_a_turn_that_never_starts_and_cannot_be_given_up_does_not_hold_its_lane(
    open_colleague: Open,
) -> None:
    """The reminder breaks; its turn ends all the same."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        break_rows(colleague, "new.reason = 'not_taken'")
        colleague.gateway.planned = [HandOver.TAKEN]
        m1 = await colleague.says("alice", "@hermes one")
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "answered")

        assert is_inside(colleague, m1)


async def test_an_answer_that_cannot_be_written_down_is_refused(open_colleague: Open) -> None:
    """Never posted without a row: the caller is told, and may say so."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        m1 = colleague.posts("alice", "hello")
        break_rows(colleague, "1", "outbox")
        note = Outgoing(colleague.rooms["R1"], m1, "never mind", is_final=True)
        result = await colleague.desk.deliver(note)

        assert (result.state, result.reason) == (DeliveryState.REFUSED, "failed_inside")
        assert colleague.answers() == []


async def test_a_row_in_a_state_nobody_knows_stops_nobody_else(open_colleague: Open) -> None:
    """Written by newer or foreign code: logged, left as it is, passed by."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until_state(m1, "answered")
        await colleague.stops()
        colleague.write("update turns set state = 'weird', closed_at = null")
        await colleague.starts()
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(m2, "answered")

        assert colleague.state_of(m1) == "weird"


async def test_a_receipt_of_before_that_breaks_its_reader_fails(open_colleague: Open) -> None:
    """The row that was there is the one that ends."""
    async with open_colleague(script=Script(is_gate_open=False)) as colleague:
        m1 = await colleague.says("alice", "@hermes bad")
        await colleague.until_state(m1, "queued")
        await colleague.dies()
        colleague.write("update turns set state = 'received'")
        colleague.write("delete from room_sessions")
        await colleague.starts(CURSED)
        await colleague.until_state(m1, "failed")

        assert colleague.rows("select reason from turns") == [("inside:ValueError",)]
