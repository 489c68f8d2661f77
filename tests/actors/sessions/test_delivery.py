"""Parts go out in order, each once, whatever the server or the network does meanwhile."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from hermes_chatto.actors.chatto.credential import Token
from hermes_chatto.actors.runtime.clock import SystemClock
from hermes_chatto.actors.sandbox.agent_faults import AgentFaults
from hermes_chatto.actors.sandbox.server.faults import Call
from hermes_chatto.actors.sandbox.server.pb import Proto
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.mail import THREAD, Answer
from hermes_chatto.actors.sessions.ports import DeliveryResult, DeliveryState, Outgoing
from hermes_chatto.actors.sessions.promise import Promise
from hermes_chatto.actors.sessions.services import Limits

POST = "MessageService/CreateMessage"
LOOK = "ThreadService/GetThreadEvents"
QUICK = Limits(
    look_after_s=0.01,
    first_wait_s=0.02,
    busy_wait_s=0.1,
    reconnect_first_s=0.05,
    reconnect_longest_s=0.1,
    connect_wait_s=1,
)


def part_steps(colleague: Colleague) -> list[str]:
    """Return what happened to the parts, with reasons."""
    found = colleague.rows(
        "select event, reason from transitions where machine = 'delivery' order by seq"
    )
    return [f"{event} {reason}" if reason else str(event) for event, reason in found]


def turn_end(colleague: Colleague) -> list[tuple[object, ...]]:
    """Return how the only turn ended."""
    return colleague.rows("select state, reason from turns")


async def test_an_answer_survives_a_server_that_is_away_for_a_while(open_colleague: Open) -> None:
    """Looked for first, since the post may have arrived; then posted, once."""
    started, go_on = anyio.Event(), anyio.Event()

    async def slow(order: object) -> str:
        del order
        started.set()
        await go_on.wait()
        return "patience"

    async with open_colleague(script=Script(agent=slow, limits=QUICK)) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await started.wait()
        await colleague.sandbox.__aexit__(None, None, None)
        go_on.set()
        await colleague.until(lambda: part_steps(colleague).count("doubt unreachable") >= 5)
        await colleague.sandbox.__aenter__()
        await colleague.until_state(m1, "answered")

        assert [answer.body for answer in colleague.answers()] == ["patience"]


async def test_an_outage_that_does_not_end_fails_the_turn(open_colleague: Open) -> None:
    """Nobody knows what became of the post, and the row says that."""
    limits = Limits(first_wait_s=0.02, outage_wait_s=0.1)
    async with open_colleague(script=Script(limits=limits)) as colleague:
        colleague.faults.refused = {POST: Code.UNAVAILABLE, LOOK: Code.UNAVAILABLE}
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "failed")

        assert turn_end(colleague) == [("failed", "outcome_unknown")]


async def test_a_server_that_stays_busy_fails_the_turn(open_colleague: Open) -> None:
    """The waits together are bounded; whoever asked is not told to come again at once."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        colleague.faults.refused[POST] = Code.RESOURCE_EXHAUSTED
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "failed")

        assert turn_end(colleague) == [("failed", "rate_limited")]
        assert part_steps(colleague)[-1] == "refuse rate_limited"
        assert not (await deliver(colleague, "hi")).is_retryable


async def deliver(colleague: Colleague, text: str) -> DeliveryResult:
    """Hand a scheduled text over."""
    note = Outgoing(colleague.rooms["R1"], None, text, is_final=True, job_id="j1")
    return await colleague.desk.deliver(note)


async def test_waits_for_a_busy_server_grow_up_to_a_sum(open_colleague: Open) -> None:
    """About 1, 2, 4, then 8 s, and no more than 30 s in all."""
    clock = QuickClock()
    async with open_colleague(script=Script(clock=clock)) as colleague:
        # how far everything was read is written after a wait of its own
        written = "select 1 from position where at is not null"
        await colleague.until(lambda: bool(colleague.rows(written)))
        colleague.faults.refused[POST] = Code.RESOURCE_EXHAUSTED
        clock.waits.clear()
        result = await deliver(colleague, "hi")

        assert (result.state, result.reason) == (DeliveryState.REFUSED, "rate_limited")
        first, second, third, *others = clock.waits
        assert first <= 1 <= second <= 2 <= third <= 4
        assert all(4 <= wait <= 8 for wait in others)
        assert 22 <= sum(clock.waits) <= 30


class QuickClock(SystemClock):
    """Does not wait for what takes up to 8 s, but writes it down."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._skipped_s = 0.0

    async def sleep(self, seconds: float) -> None:
        if not 0.5 <= seconds <= 8:
            await super().sleep(seconds)
            return
        self.waits.append(seconds)
        self._skipped_s += seconds
        await super().sleep(0.001)

    def monotonic(self) -> float:
        return super().monotonic() + self._skipped_s


@pytest.mark.parametrize(
    ("code", "text", "reason"),
    [
        (Code.PERMISSION_DENIED, "permission denied", "permission_denied"),
        (Code.FAILED_PRECONDITION, "room is archived", "archived"),
        (Code.NOT_FOUND, "not found", "not_found"),
        (
            Code.RESOURCE_EXHAUSTED,
            "message size 1100000 is larger than configured max 1048576",
            "too_large",
        ),
        (Code.INVALID_ARGUMENT, "message body exceeds maximum length", "invalid_argument"),
    ],
)
async def test_a_refusal_is_final_and_says_why(
    open_colleague: Open, code: Code, text: str, reason: str
) -> None:
    """One call, the reason where an operator looks, and nothing in another place."""
    async with open_colleague() as colleague:
        colleague.faults.refused[POST] = code
        colleague.faults.says = text
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "failed")

        assert turn_end(colleague) == [("failed", reason)]
        assert part_steps(colleague) == ["add", "post", f"refuse {reason}"]
        assert colleague.answers() == []
        line = "select state, reason, reason_meaning from outbox_open"
        ((state, why, meaning),) = colleague.rows(line)
        assert (state, why) == ("refused", reason)
        assert meaning is not None


async def test_a_server_that_is_not_available_is_looked_at_before_anything_is_repeated(
    open_colleague: Open,
) -> None:
    """`unavailable` is no refusal: the post may be there."""
    async with open_colleague() as colleague:
        colleague.faults.after = [Code.UNAVAILABLE]
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 1
        assert part_steps(colleague) == ["add", "post", "doubt outcome_unknown", "confirm"]


async def test_a_post_that_never_arrives_is_given_up_after_some_looks(
    open_colleague: Open,
) -> None:
    """Each attempt is looked for; the last one ends it."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        colleague.faults.refused[POST] = Code.INTERNAL
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "failed")

        steps = part_steps(colleague)
        assert steps.count("post") == 4
        assert steps.count("find_nothing") == 3
        assert steps[-1] == "refuse outcome_unknown"
        assert turn_end(colleague) == [("failed", "outcome_unknown")]


async def test_a_room_that_may_not_be_looked_into_ends_the_search(open_colleague: Open) -> None:
    """Refused for good: neither repeated nor waited for."""
    async with open_colleague(script=Script(limits=QUICK)) as colleague:
        colleague.faults.after = [Code.INTERNAL]
        colleague.faults.refused[LOOK] = Code.PERMISSION_DENIED
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "failed")

        assert turn_end(colleague) == [("failed", "outcome_unknown")]
        assert len(colleague.answers()) == 1


async def test_a_token_that_dies_before_the_look_ends_the_search(open_colleague: Open) -> None:
    """The connection is given up, and the part says what is not known."""
    async with open_colleague(is_started=False) as colleague:
        token = await colleague.token_of("hermes")
        await colleague.starts(Script(limits=QUICK, credential=Token(token)))
        colleague.faults.slow_answers[POST] = 0.2
        colleague.faults.after = [Code.INTERNAL]
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until(lambda: len(colleague.answers()) == 1)
        colleague.sandbox.world.credentials.revoke(token)
        await colleague.until_state(m1, "failed")

        assert turn_end(colleague) == [("failed", "outcome_unknown")]
        await colleague.until(
            lambda: colleague.rows("select state from connection") == [("refused",)]
        )


async def test_two_parts_with_the_same_words_are_two_posts(open_colleague: Open) -> None:
    """What is found for one is not taken for the other."""

    async def twice(order: object) -> str:
        del order
        return "\n".join(["x" * 9_000] * 2)

    async with open_colleague(agent=twice) as colleague:
        colleague.faults.before = [None, Code.INTERNAL]
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 2
        posted = colleague.rows("select count(distinct message_id) from outbox")
        assert posted == [(2,)]


class Counting(AgentFaults):
    """Counts how many posts of the agent are under way at once, per room."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way: dict[str, int] = {}
        self.most_per_room = 0
        self.most_in_all = 0

    async def applying(self, call: Call, apply: Callable[[], Awaitable[Proto]]) -> Proto:
        if call.name != POST or call.user_id != self.agent_id:
            return await super().applying(call, apply)
        room_id = call.request.room_id
        self.under_way[room_id] = self.under_way.get(room_id, 0) + 1
        self.most_per_room = max(self.most_per_room, self.under_way[room_id])
        self.most_in_all = max(self.most_in_all, sum(self.under_way.values()))
        try:
            return await super().applying(call, apply)
        finally:
            self.under_way[room_id] -= 1


async def test_one_post_at_a_time_goes_into_a_room(open_colleague: Open) -> None:
    """Many at once make the server answer with errors; rooms do not wait for each other."""
    faults = Counting()
    async with open_colleague(faults=faults) as colleague:
        faults.delays[POST] = 0.1
        asked = [
            colleague.posts("alice", f"@hermes {number}", room=room)
            for number in range(4)
            for room in ("R1", "R2")
        ]
        for message_id in asked:
            await colleague.until_state(message_id, "answered")

        assert faults.most_per_room == 1
        assert faults.most_in_all == 2


async def test_a_slow_post_does_not_hold_up_waiting_ones_of_other_deliveries(
    open_colleague: Open,
) -> None:
    """The lock is held for a call, never for a wait."""
    async with open_colleague(script=Script(limits=Limits(first_wait_s=1))) as colleague:
        colleague.faults.before = [Code.RESOURCE_EXHAUSTED]
        m1 = await colleague.says("alice", "@hermes one")
        await colleague.until(lambda: "postpone busy" in part_steps(colleague))
        m2 = await colleague.says("bob", "@hermes two")
        await colleague.until_state(m2, "answered")

        assert colleague.state_of(m1) == "delivering"
        await colleague.until_state(m1, "answered")


async def test_a_text_that_is_handled_twice_is_posted_once(open_colleague: Open) -> None:
    """A lane that failed after it was planned is handed the same mail again."""
    async with open_colleague() as colleague:
        note = Outgoing(colleague.rooms["R1"], None, "hi", is_final=True, job_id="j1")
        services = colleague.desk._services  # noqa: SLF001 - the supervisor repeats a mail, nobody else
        assert services is not None
        lane = services.lane_of(note.room_id, None)
        promise: Promise[DeliveryResult] = Promise()
        colleague.faults.delays[POST] = 0.1
        for _ in range(3):
            services.tell(THREAD, lane, Answer(note, promise))
        result = await promise.wait()
        services.tell(THREAD, lane, Answer(note, promise))
        await deliver(colleague, "another")

        assert [answer.body for answer in colleague.answers()] == ["hi", "another"]
        assert result.state is DeliveryState.DELIVERED


async def test_a_text_whose_parts_were_not_written_is_planned_anew(open_colleague: Open) -> None:
    """Somebody waits for a delivery that is in no row: its commit failed."""
    async with open_colleague() as colleague:
        note = Outgoing(colleague.rooms["R1"], None, "hi", is_final=True, job_id="j1")
        services = colleague.desk._services  # noqa: SLF001 - as a failed commit leaves it
        assert services is not None
        promise: Promise[DeliveryResult] = Promise()
        services.promises.expect("never written", promise)
        services.tell(THREAD, services.lane_of(note.room_id, None), Answer(note, promise))

        assert (await promise.wait()).state is DeliveryState.DELIVERED
        assert [answer.body for answer in colleague.answers()] == ["hi"]
