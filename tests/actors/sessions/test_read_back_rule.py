"""Whether a post arrived is told right, also where the same words are posted twice on purpose."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import anyio
import pytest

from hermes_chatto.actors.chatto.limits import Limits as EdgeLimits
from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.agent_faults import AgentFaults
from hermes_chatto.actors.sandbox.server.faults import Call
from hermes_chatto.actors.sandbox.server.pb import Proto
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.ports import DeliveryState, Outgoing, TurnOrder
from hermes_chatto.actors.sessions.services import Limits

POST = "MessageService/CreateMessage"
ROOM_PAGE = "RoomService/GetRoomEvents"
THREAD_PAGE = "ThreadService/GetThreadEvents"
WORDS = "nightly build: ok"

QUICK = Script(limits=Limits(first_wait_s=0.01, look_after_s=0.01))


class Reads(AgentFaults):
    """Counts the agent's calls by name."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    async def applying(self, call: Call, apply: Callable[[], Awaitable[Proto]]) -> Proto:
        if call.user_id == self.agent_id:
            self.calls.append(call.name)
        return await super().applying(call, apply)


class Late(AgentFaults):
    """Applies the first post some time after nobody waits for its answer any more."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self.is_applied = anyio.Event()
        self._is_first = True

    async def applying(self, call: Call, apply: Callable[[], Awaitable[Proto]]) -> Proto:
        if call.user_id != self.agent_id or call.name != POST or not self._is_first:
            return await super().applying(call, apply)
        self._is_first = False
        await anyio.sleep(self._seconds)
        answer = await super().applying(call, apply)
        self.is_applied.set()
        return answer


def scheduled(colleague: Colleague, thread: str | None = None) -> Outgoing:
    """Return the result of a scheduled job."""
    return Outgoing(colleague.rooms["R1"], thread, WORDS, is_final=True, job_id="j1")


def posted(colleague: Colleague) -> list[str]:
    """Return the messages with those words."""
    return [each.message_id for each in colleague.answers() if each.body == WORDS]


async def sees_all(colleague: Colleague) -> None:
    """Wait until the agent's stream has shown everything that was posted."""
    m1 = await colleague.says("alice", "@hermes there?", room="R2")
    await colleague.until_state(m1, "answered")


async def test_a_post_that_is_applied_some_time_after_its_connection_broke_is_ours(
    open_colleague: Open,
) -> None:
    """A proxy held it back, or the server was busy; nobody may read it twice."""
    limits = Limits(first_wait_s=0.01, look_after_s=0.01, late_looks_s=(0.2, 0.8))
    script = Script(limits=limits, edge=EdgeLimits(send_timeout_s=0.1))
    faults = Late(0.6)
    async with open_colleague(script=script, faults=faults) as colleague:
        result = await colleague.desk.deliver(scheduled(colleague))
        await faults.is_applied.wait()
        await sees_all(colleague)

        assert result.state is DeliveryState.DELIVERED
        assert list(result.message_ids) == posted(colleague)
        assert len(posted(colleague)) == 1


async def test_a_post_that_is_applied_some_time_after_its_process_was_killed_is_ours(
    open_colleague: Open,
) -> None:
    """The next one may be there sooner than it."""
    script = Script(limits=Limits(late_looks_s=(0.2, 0.8)))
    faults = Late(0.6)
    async with open_colleague(script=script, faults=faults) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        sending = "select count(*) from outbox where state = 'sending'"
        await colleague.until(lambda: colleague.rows(sending) == [(1,)])
        await colleague.dies()
        await colleague.starts()
        await colleague.until_state(m1, "answered")
        await faults.is_applied.wait()
        await sees_all(colleague)

        assert [each.in_reply_to for each in colleague.answers()].count(m1) == 1


@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "lost"])
@pytest.mark.parametrize("is_in_thread", [True, False], ids=["thread", "room"])
async def test_the_same_words_of_another_process_before_are_another_post(
    open_colleague: Open, *, is_applied: bool, is_in_thread: bool
) -> None:
    """It posted them with the same account a moment ago; ours are still ours."""
    async with open_colleague(script=QUICK) as colleague:
        root = await colleague.says("bob", "reports here") if is_in_thread else None
        other = await colleague.says("hermes", WORDS, thread=root)
        await sees_all(colleague)
        if is_applied:
            colleague.faults.after = [Code.INTERNAL]
        else:
            colleague.faults.before = [Code.INTERNAL]
        result = await colleague.desk.deliver(scheduled(colleague, root))

        assert result.state is DeliveryState.DELIVERED
        assert len(posted(colleague)) == 2
        assert set(posted(colleague)) == {other, *result.message_ids}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [Code.INTERNAL, Code.UNAVAILABLE]),
        ([Code.INTERNAL, Code.INTERNAL], []),
        ([Code.INTERNAL], [Code.INTERNAL]),
        ([None, Code.INTERNAL], [Code.INTERNAL]),
    ],
    ids=["both applied", "both lost", "first lost", "second lost"],
)
async def test_two_texts_of_ours_with_the_same_words_are_two_posts(
    open_colleague: Open, before: list[Code | None], after: list[Code]
) -> None:
    """Neither is taken for the other, also where both are looked for at once."""
    async with open_colleague(script=QUICK) as colleague:
        await sees_all(colleague)
        colleague.faults.before, colleague.faults.after = before, after
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(colleague.desk.deliver, scheduled(colleague))
            tasks.start_soon(colleague.desk.deliver, scheduled(colleague))

        assert len(posted(colleague)) == 2
        found = colleague.rows("select message_id from outbox where kind = 'other'")
        assert sorted(str(id_) for (id_,) in found) == sorted(posted(colleague))


@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "lost"])
async def test_the_same_words_in_two_threads_are_two_posts(
    open_colleague: Open, *, is_applied: bool
) -> None:
    """Each is looked for where it belongs."""

    async def same(order: TurnOrder) -> str:
        del order
        return WORDS

    async with open_colleague(script=Script(agent=same, limits=QUICK.limits)) as colleague:
        codes = [Code.INTERNAL, Code.INTERNAL]
        if is_applied:
            colleague.faults.after = codes
        else:
            colleague.faults.before = list(codes)
        asked = [colleague.posts(login, "@hermes build?") for login in ("alice", "bob")]
        for message_id in asked:
            await colleague.until_state(message_id, "answered")

        found = [answer.thread_root_id for answer in colleague.answers()]
        assert sorted(found) == sorted(asked)


async def test_a_root_with_the_same_words_is_not_the_reply_to_it(open_colleague: Open) -> None:
    """It leads the page of its thread."""
    async with open_colleague(script=QUICK) as colleague:
        root = await colleague.says("hermes", WORDS)
        colleague.faults.before = [Code.INTERNAL]
        result = await colleague.desk.deliver(scheduled(colleague, root))

        assert result.message_ids != (root,)
        assert len(posted(colleague)) == 2


class Shifted(SystemClock):
    """A host whose clock is wrong."""

    def __init__(self, by: timedelta) -> None:
        super().__init__()
        self._by = by

    def now(self) -> datetime:
        return super().now() + self._by


@pytest.mark.parametrize("hours", [1, -1])
@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "lost"])
async def test_a_wrong_clock_of_the_host_changes_nothing(
    open_colleague: Open, hours: int, *, is_applied: bool
) -> None:
    """What passed is measured on one clock, what was posted on the other (handed S50)."""
    script = Script(limits=QUICK.limits, clock=Shifted(timedelta(hours=hours)))
    async with open_colleague(script=script) as colleague:
        codes = [Code.INTERNAL, None, Code.INTERNAL]
        if is_applied:
            colleague.faults.after = [Code.INTERNAL, Code.INTERNAL]
        else:
            colleague.faults.before = list(codes)
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")
        await colleague.desk.deliver(scheduled(colleague))

        assert len(colleague.answers()) == 2


async def test_a_post_that_the_server_applies_late_is_found(open_colleague: Open) -> None:
    """What was sent before the connection broke may be applied a moment after."""
    script = Script(edge=EdgeLimits(send_timeout_s=0.1))
    async with open_colleague(script=script) as colleague:
        await sees_all(colleague)
        colleague.faults.delays[POST] = 0.3
        result = await colleague.desk.deliver(scheduled(colleague))

        assert result.message_ids == tuple(posted(colleague))
        steps = colleague.rows("select event from transitions where key like '%/1' order by seq")
        assert [event for (event,) in steps][-4:] == ["add", "post", "doubt", "confirm"]


async def test_an_unknown_outcome_costs_one_read(open_colleague: Open) -> None:
    """Also in a busy room."""
    faults = Reads()
    async with open_colleague(script=QUICK, faults=faults) as colleague:
        for number in range(60):
            colleague.posts("bob", f"talk {number}")
        await sees_all(colleague)
        faults.after = [Code.INTERNAL]
        faults.calls.clear()
        await colleague.desk.deliver(scheduled(colleague))

        assert faults.calls == [POST, ROOM_PAGE]


async def test_a_search_has_an_end(open_colleague: Open) -> None:
    """A room that runs over is given up: nobody knows, and nothing is repeated."""
    faults = Reads()
    async with open_colleague(script=QUICK, faults=faults) as colleague:
        await sees_all(colleague)
        faults.slow_answers[POST] = 0.5
        faults.before = [Code.INTERNAL]
        faults.delays[ROOM_PAGE] = 0.2
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(colleague.desk.deliver, scheduled(colleague))
            await colleague.until(lambda: ROOM_PAGE in faults.calls)
            for number in range(1_700):
                colleague.posts("bob", f"talk {number}")

        assert faults.calls.count(ROOM_PAGE) == 4
        assert posted(colleague) == []
        assert colleague.rows("select state, reason from outbox where kind = 'other'") == [
            ("refused", "outcome_unknown")
        ]


async def test_a_post_under_way_is_nobody_elses(open_colleague: Open) -> None:
    """One look waits for the other's answer: until then its message could be either's."""
    faults = Reads()
    async with open_colleague(script=QUICK, faults=faults) as colleague:
        await sees_all(colleague)
        faults.before = [Code.INTERNAL]
        first_looks = anyio.Event()
        faults.delays[ROOM_PAGE] = 0.1
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(colleague.desk.deliver, scheduled(colleague))
            await colleague.until(lambda: POST in faults.calls)
            faults.slow_answers[POST] = 0.3
            tasks.start_soon(colleague.desk.deliver, scheduled(colleague))
            first_looks.set()

        assert len(posted(colleague)) == 2
        assert len(set(posted(colleague))) == 2
