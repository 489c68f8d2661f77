"""One event of a conversation at the gateway; everybody else waits in order, or goes past."""

from collections.abc import Sequence

import anyio

from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open, Script
from hermes_chatto.actors.sessions.ports import (
    DeliveryResult,
    DeliveryState,
    HandOver,
    Outgoing,
    RunOutcome,
    TurnOrder,
)
from hermes_chatto.actors.sessions.services import Limits


class Brake:
    """An agent that holds the turns whose text holds a word until it is let go."""

    def __init__(self, word: str = "slow") -> None:
        self._word = word
        self._gate = anyio.Event()
        self.held = 0

    async def __call__(self, order: TurnOrder) -> str:
        if self._word in order.text:
            self.held += 1
            await self._gate.wait()
        return f"ok: {order.text}"

    def let_go(self) -> None:
        self._gate.set()


async def all_at_rest(colleague: Colleague, *message_ids: str) -> None:
    """Wait until these messages are received, and no turn is open."""
    await colleague.until(
        lambda: (
            None not in map(colleague.state_of, message_ids)
            and not colleague.rows("select 1 from open_turns")
        )
    )


def texts(orders: Sequence[TurnOrder]) -> list[str]:
    """Return what the agent was asked, in order."""
    return [order.text for order in orders]


# --- order ----------------------------------------------------------------------------------


async def test_follow_ups_wait_and_each_gets_its_own_turn_in_order(open_colleague: Open) -> None:
    """Three while the agent works: two, three, four, never together (handed S37)."""
    brake = Brake()
    async with open_colleague(agent=brake) as colleague:
        m1 = await colleague.says("alice", "@hermes slow start")
        await colleague.until_state(m1, "processing")
        waiting = [
            await colleague.says("alice", f"@hermes {word}", thread=m1)
            for word in ("two", "three", "four")
        ]
        for message_id in waiting:
            await colleague.until_state(message_id, "queued")
        brake.let_go()
        await all_at_rest(colleague)

        asked = ["@hermes slow start", "@hermes two", "@hermes three", "@hermes four"]
        assert texts(colleague.gateway.orders) == asked
        assert colleague.gateway.most_at_once == 1
        assert [answer.in_reply_to for answer in colleague.answers()] == [m1, *waiting]
        assert {answer.thread_root_id for answer in colleague.answers()} == {m1}
        assert colleague.rows("select frontier_id from threads") == [(waiting[-1],)]
        assert colleague.rows("select distinct state from turns") == [("answered",)]


async def test_a_slow_thread_holds_up_nobody_else(open_colleague: Open) -> None:
    """Other threads, other rooms and direct conversations go on."""
    brake = Brake()
    async with open_colleague(agent=brake) as colleague:
        m1 = await colleague.says("alice", "@hermes slow one")
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("bob", "@hermes hi")
        m3 = await colleague.says("alice", "@hermes hi", room="R2")
        m4 = await colleague.says("alice", "hi", room=await colleague.opens_dm("alice"))
        for message_id in (m2, m3, m4):
            await colleague.until_state(message_id, "answered")

        assert colleague.state_of(m1) == "processing"
        brake.let_go()
        await colleague.until_state(m1, "answered")


async def test_two_people_in_one_thread_keep_their_names_and_their_order(
    open_colleague: Open,
) -> None:
    """A turn has one author, whoever asked before."""
    brake = Brake()
    async with open_colleague(agent=brake) as colleague:
        m1 = await colleague.says("alice", "@hermes slow start")
        await colleague.until_state(m1, "processing")
        await colleague.says("bob", "@hermes b", thread=m1)
        await colleague.says("alice", "@hermes a", thread=m1)
        last = await colleague.says("bob", "@hermes c", thread=m1)
        await colleague.until_state(last, "queued")
        brake.let_go()
        await all_at_rest(colleague)

        asked = [(order.author.login, order.text[8:]) for order in colleague.gateway.orders]
        assert asked == [("alice", "slow start"), ("bob", "b"), ("alice", "a"), ("bob", "c")]
        assert colleague.gateway.most_at_once == 1


async def test_nothing_goes_out_before_the_gateways_gate_is_open(open_colleague: Open) -> None:
    """Given too early, an event would be played twice; it waits in the rows instead."""
    async with open_colleague(script=Script(is_gate_open=False)) as colleague:
        m1 = await colleague.says("alice", "@hermes early")
        m2 = await colleague.says("alice", "@hermes bird", thread=m1)
        await colleague.until_state(m2, "queued")

        assert colleague.gateway.orders == []
        assert colleague.state_of(m1) == "queued"
        colleague.gateway.open_gate()
        await all_at_rest(colleague)
        assert texts(colleague.gateway.orders) == ["@hermes early", "@hermes bird"]


async def test_a_long_queue_drains(open_colleague: Open) -> None:
    """Even where the gateway takes none of it."""
    brake = Brake()
    async with open_colleague(agent=brake) as colleague:
        m1 = await colleague.says("alice", "@hermes slow start")
        await colleague.until_state(m1, "processing")
        for number in range(60):
            colleague.posts("alice", f"@hermes {number}", thread=m1)
        await colleague.until(
            lambda: colleague.rows("select count(*) from turns where state = 'queued'") == [(60,)]
        )
        colleague.gateway.planned = [HandOver.NOT_TAKEN] * 59
        brake.let_go()
        await all_at_rest(colleague)

        assert texts(colleague.gateway.orders) == ["@hermes slow start", "@hermes 59"]


# --- runs that do not happen ----------------------------------------------------------------


async def test_a_turn_the_gateway_drops_fails_and_leaves_no_trace_in_its_thread(
    open_colleague: Open,
) -> None:
    """The session does not hold it: the thread stands where it stood."""
    async with open_colleague() as colleague:
        colleague.gateway.planned = [HandOver.NOT_TAKEN]
        m1 = await colleague.says("alice", "@hermes dropped")
        await colleague.until_state(m1, "failed")

        assert colleague.rows("select reason from turns") == [("not_taken",)]
        assert colleague.rows("select state, frontier_id from threads") == [("fresh", None)]
        m2 = await colleague.says("alice", "@hermes again", thread=m1)
        await colleague.until_state(m2, "answered")


async def test_a_turn_that_never_starts_fails_after_a_while(open_colleague: Open) -> None:
    """Accepted, and then nothing: the lane does not wait for ever."""
    script = Script(limits=Limits(start_within_s=0.1))
    async with open_colleague(script=script) as colleague:
        colleague.gateway.planned = [HandOver.TAKEN]
        m1 = await colleague.says("alice", "@hermes swallowed")
        m2 = await colleague.says("alice", "@hermes next", thread=m1)
        await all_at_rest(colleague, m1, m2)

        assert colleague.rows("select state, reason from turns where message_id = ?", m1) == [
            ("failed", "not_taken")
        ]
        assert colleague.state_of(m2) == "answered"


async def test_a_turn_that_started_is_not_given_up(open_colleague: Open) -> None:
    """The limit is for the start alone."""
    brake = Brake()
    script = Script(agent=brake, limits=Limits(start_within_s=0.05))
    async with open_colleague(script=script) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        await anyio.sleep(0.1)  # the limit itself: there is nothing else to wait for
        assert colleague.state_of(m1) == "processing"
        brake.let_go()
        await colleague.until_state(m1, "answered")


async def test_a_lane_whose_gateway_raises_goes_on(open_colleague: Open) -> None:
    """The reminder was set before the call that failed."""
    script = Script(limits=Limits(start_within_s=0.1, repair_wait_s=0.01))
    async with open_colleague(script=script) as colleague:
        colleague.gateway.raises = [RuntimeError("not today")]
        m1 = await colleague.says("alice", "@hermes unlucky")
        m2 = await colleague.says("alice", "@hermes lucky", thread=m1)
        await all_at_rest(colleague, m1, m2)

        assert colleague.rows("select state, reason from turns where message_id = ?", m1) == [
            ("failed", "not_taken")
        ]
        assert colleague.state_of(m2) == "answered"


# --- runs of the gateway's own --------------------------------------------------------------


async def fold_one(colleague: Colleague) -> str:
    """Let the gateway take a turn into a run of its own, and return its message."""
    colleague.gateway.planned = [HandOver.FOLDED]
    m1 = await colleague.says("alice", "@hermes join in")
    await colleague.until_state(m1, "folded")
    return m1


def key_of(colleague: Colleague, message_id: str) -> str:
    """Return the session key of a message."""
    found = colleague.rows("select session_key from turns where message_id = ?", message_id)
    return str(found[0][0])


def final(
    colleague: Colleague, root_id: str, text: str, answers_id: str | None = None
) -> Outgoing:
    """Return an answer for a thread of R1."""
    return Outgoing(colleague.rooms["R1"], root_id, text, is_final=True, answers_id=answers_id)


async def test_a_folded_turn_ends_as_the_run_that_took_it_in(open_colleague: Open) -> None:
    """Answered by what that run says, silent if it says nothing, failed if it fails."""
    async with open_colleague() as colleague:
        ends = []
        for outcome, text in (
            (RunOutcome.SUCCESS, "both of you: yes"),
            (RunOutcome.SUCCESS, None),
            (RunOutcome.FAILURE, None),
            (RunOutcome.CANCELLED, None),
        ):
            m1 = await fold_one(colleague)
            key = key_of(colleague, m1)
            colleague.desk.run_started(key, None)
            if text is not None:
                await colleague.desk.deliver(final(colleague, m1, text))
            colleague.desk.run_ended(key, None, outcome)
            await all_at_rest(colleague)
            ends += colleague.rows("select state, reason from turns where message_id = ?", m1)

        assert ends == [
            ("answered", None),
            ("silent", None),
            ("failed", "run_failed"),
            ("failed", "run_cancelled"),
        ]


async def test_a_folded_turn_nobody_reports_on_ends_when_its_key_is_free(
    open_colleague: Open,
) -> None:
    """Its lane is never held for good."""
    async with open_colleague() as colleague:
        m1 = await fold_one(colleague)
        m2 = await colleague.says("alice", "@hermes next", thread=m1)
        await colleague.until_state(m2, "queued")
        colleague.desk.key_ready(key_of(colleague, m1))
        await all_at_rest(colleague)

        assert (colleague.state_of(m1), colleague.state_of(m2)) == ("silent", "answered")


async def test_a_folded_turn_can_be_stopped(open_colleague: Open) -> None:
    """Whoever stops the run stops what went into it."""
    async with open_colleague() as colleague:
        m1 = await fold_one(colleague)
        await colleague.says("bob", "@hermes /stop", thread=m1)
        await all_at_rest(colleague)

        assert colleague.rows("select state, ended_with from turns where message_id = ?", m1) == [
            ("cancelled", "stop")
        ]


async def test_reports_about_nobody_change_nothing(open_colleague: Open) -> None:
    """Runs of commands, of other programs, twice, or never heard of."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")
        key = key_of(colleague, m1)
        steps = colleague.rows("select * from transitions")
        for message_id in (None, "unknown", m1):
            colleague.desk.run_started(key, message_id)
            colleague.desk.run_ended(key, message_id, RunOutcome.SUCCESS)
        colleague.desk.key_ready("agent:main:somewhere:else")
        await anyio.wait_all_tasks_blocked()

        assert colleague.rows("select * from transitions") == steps


# --- how a run ends -------------------------------------------------------------------------


async def test_an_agent_that_fails_fails_its_turn_alone(open_colleague: Open) -> None:
    """The row says why; the next one runs."""

    async def moody(order: TurnOrder) -> str:
        if "bad" in order.text:
            message = "boom"
            raise ValueError(message)
        return "fine"

    async with open_colleague(agent=moody) as colleague:
        m1 = await colleague.says("alice", "@hermes bad")
        m2 = await colleague.says("alice", "@hermes good", thread=m1)
        await all_at_rest(colleague, m1, m2)

        found = colleague.rows("select state, reason from turns order by lane_order")
        assert found == [("failed", "run_failed"), ("answered", None)]
        assert [answer.in_reply_to for answer in colleague.answers()] == [m2]


async def test_an_agent_that_says_nothing_is_silent(open_colleague: Open) -> None:
    """An end without words is an end."""

    async def mute(order: TurnOrder) -> None:
        del order

    async with open_colleague(agent=mute) as colleague:
        m1 = await colleague.says("alice", "@hermes psst")
        await colleague.until_state(m1, "silent")

        assert colleague.answers() == []


async def test_words_on_the_way_do_not_end_a_turn(open_colleague: Open) -> None:
    """Interim posts go into the thread, point at nothing, and the turn goes on."""
    results = list[DeliveryResult]()

    async def chatty(order: TurnOrder) -> str:
        step = Outgoing(order.place.room_id, order.place.thread_root_id, "hm", is_final=False)
        results.append(await stage[0].desk.deliver(step))
        return "done"

    stage = list[Colleague]()
    async with open_colleague(agent=chatty) as colleague:
        stage.append(colleague)
        m1 = await colleague.says("alice", "@hermes think")
        await colleague.until_state(m1, "answered")

        said = [(answer.body, answer.in_reply_to) for answer in colleague.answers()]
        assert said == [("hm", ""), ("done", m1)]
        assert [result.state for result in results] == [DeliveryState.DELIVERED]
        assert colleague.rows("select kind from outbox order by created_at, kind desc") == [
            ("interim",),
            ("answer",),
        ]


async def test_an_answer_asked_for_again_sends_only_what_is_missing(open_colleague: Open) -> None:
    """The gateway repeats a text whose second part was refused: the first stands once."""
    results = list[DeliveryResult]()

    async def stubborn(order: TurnOrder) -> None:
        text = "a" * 9_000 + "\n" + "b" * 9_000
        again = final(stage[0], order.message_id, text, order.message_id)
        stage[0].faults.before = [None, Code.PERMISSION_DENIED]
        results.extend([await stage[0].desk.deliver(again) for _ in range(2)])

    stage = list[Colleague]()
    async with open_colleague(agent=stubborn) as colleague:
        stage.append(colleague)
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until_state(m1, "answered")

        assert [answer.body[0] for answer in colleague.answers()] == ["a", "b"]
        states = [(result.state, len(result.message_ids)) for result in results]
        assert states == [(DeliveryState.PARTIAL, 1), (DeliveryState.DELIVERED, 2)]


async def test_a_text_outside_a_turn_belongs_to_none(open_colleague: Open) -> None:
    """A scheduled result goes where it is sent, also while a turn runs there."""
    brake = Brake()
    async with open_colleague(agent=brake) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        report = Outgoing(colleague.rooms["R1"], m1, "nightly", is_final=True, job_id="job-1")
        await colleague.desk.deliver(report)
        note = Outgoing(colleague.rooms["R2"], None, "good morning", is_final=True)
        await colleague.desk.deliver(note)

        assert colleague.state_of(m1) == "processing"
        found = colleague.rows("select kind, turn_id, in_reply_to from outbox")
        assert found == [("other", None, None)] * 2
        brake.let_go()
        await colleague.until_state(m1, "answered")


# --- commands -------------------------------------------------------------------------------


async def test_a_command_goes_past_a_running_turn(open_colleague: Open) -> None:
    """Its reply is its own, and the turn goes on."""
    brake = Brake()
    async with open_colleague(agent=brake) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        waiting = await colleague.says("alice", "@hermes two", thread=m1)
        await colleague.until_state(waiting, "queued")
        c1 = await colleague.says("bob", "@hermes /status", thread=m1)
        await colleague.until(lambda: len(colleague.answers()) == 1)

        (reply,) = colleague.answers()
        assert (reply.body, reply.in_reply_to) == ("done: /status", c1)
        assert colleague.state_of(c1) == "bypassed"
        assert colleague.state_of(m1) == "processing"
        assert colleague.state_of(waiting) == "queued"
        brake.let_go()
        await all_at_rest(colleague)
        assert texts(colleague.gateway.commands) == ["/status"]


async def test_anybody_who_may_speak_may_stop_a_run(open_colleague: Open) -> None:
    """The row says who did; the reply of the command is posted, others go on."""
    brake = Brake()
    async with open_colleague(agent=brake) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        of_alice = await colleague.says("alice", "@hermes two", thread=m1)
        of_bob = await colleague.says("bob", "@hermes three", thread=m1)
        await colleague.until_state(of_bob, "queued")
        await colleague.says("bob", "@hermes /stop", thread=m1)
        await all_at_rest(colleague)

        ended = "select state, ended_by, ended_with from turns where message_id = ?"
        bob = colleague.ids["bob"]
        assert colleague.rows(ended, m1) == [("cancelled", bob, "stop")]
        assert colleague.rows(ended, of_bob) == [("cancelled", bob, "stop")]
        assert colleague.state_of(of_alice) == "answered"
        await colleague.until(lambda: len(colleague.answers()) == 2)
        said = sorted(answer.body for answer in colleague.answers())
        assert said == ["done: /stop", "ok: @hermes two"]


async def test_a_new_conversation_cancels_everything_that_waits(open_colleague: Open) -> None:
    """Whoever asks for a clean slate gets one."""
    brake = Brake()
    async with open_colleague(agent=brake) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("alice", "@hermes two", thread=m1)
        m3 = await colleague.says("bob", "@hermes three", thread=m1)
        await colleague.until_state(m3, "queued")
        await colleague.says("bob", "@hermes /new", thread=m1)
        await all_at_rest(colleague)

        assert [colleague.state_of(id_) for id_ in (m1, m2, m3)] == ["cancelled"] * 3
        assert texts(colleague.gateway.orders) == ["@hermes slow"]


async def test_what_a_stopped_run_still_says_is_not_posted(open_colleague: Open) -> None:
    """It is recorded as superseded, and whoever posts it is told."""
    results = list[DeliveryResult]()

    async def stubborn(order: TurnOrder) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                late = final(stage[0], order.message_id, "but wait", order.message_id)
                results.append(await stage[0].desk.deliver(late))

    stage = list[Colleague]()
    async with open_colleague(agent=stubborn) as colleague:
        stage.append(colleague)
        m1 = await colleague.says("alice", "@hermes go on")
        await colleague.until_state(m1, "processing")
        await colleague.says("alice", "@hermes /stop", thread=m1)
        await all_at_rest(colleague)

        await colleague.until(lambda: len(colleague.answers()) == 1)
        assert [answer.body for answer in colleague.answers()] == ["done: /stop"]
        assert [result.state for result in results] == [DeliveryState.SUPERSEDED]
        assert colleague.rows("select state from outbox where turn_id = ?", m1) == [
            ("superseded",)
        ]


async def test_an_answer_on_its_way_out_is_finished_despite_a_stop(open_colleague: Open) -> None:
    """Half an answer helps nobody: the run ends, the parts follow, the turn is answered."""

    async def report(order: TurnOrder) -> str:
        del order
        return "\n".join(letter * 9_000 for letter in "abc")

    async with open_colleague(agent=report) as colleague:
        colleague.faults.slow_answers["MessageService/CreateMessage"] = 0.2
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until(lambda: len(colleague.answers()) == 1)
        await colleague.says("alice", "@hermes /stop", thread=m1)
        await all_at_rest(colleague, m1)

        assert colleague.state_of(m1) == "answered"
        assert colleague.rows("select count(*) from outbox where turn_id = ?", m1) == [(3,)]
        parts = [answer.body[0] for answer in colleague.answers() if answer.body[0] in "abc"]
        assert parts == ["a", "b", "c"]


async def test_a_stopped_turn_that_never_started_ends(open_colleague: Open) -> None:
    """Nobody will report the end of a run that never was."""
    async with open_colleague(script=Script(limits=Limits(start_within_s=0.2))) as colleague:
        colleague.gateway.planned = [HandOver.TAKEN]
        m1 = await colleague.says("alice", "@hermes swallowed")
        await colleague.until_state(m1, "handed")
        await colleague.says("alice", "@hermes /stop", thread=m1)
        await colleague.until_state(m1, "stopping")
        await colleague.until_state(m1, "cancelled")


async def test_stopping_nobody_is_just_a_command(open_colleague: Open) -> None:
    """The gateway answers it; no turn is made of it."""
    async with open_colleague() as colleague:
        c1 = await colleague.says("alice", "@hermes /stop")
        await colleague.until(lambda: len(colleague.answers()) == 1)

        assert colleague.state_of(c1) == "bypassed"
        assert colleague.gateway.orders == []
        assert colleague.rows("select * from threads") == []
