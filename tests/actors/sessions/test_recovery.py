"""What a process left when it ended is taken up by the next one, exactly once."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import EditedUnseen, Policy, Revisions
from hermes_chatto.actors.sessions.ports import (
    DeliveryResult,
    DeliveryState,
    HandOver,
    Outgoing,
    RunOutcome,
    TurnOrder,
)
from hermes_chatto.actors.sessions.remains import Remains
from hermes_chatto.actors.sessions.services import Limits

POST = "MessageService/CreateMessage"
READ = "MessageService/BatchGetMessages"
SHUT = Script(is_gate_open=False)
PROGRAM = Path(__file__).with_name("killed_profile.py")


async def three_parts(order: TurnOrder) -> str:
    """Answer with parts that begin with a, b and c."""
    del order
    return "\n".join(letter * 9_000 for letter in "abc")


async def for_ever(order: TurnOrder) -> None:
    """Never come to an end."""
    del order
    await anyio.sleep_forever()


def ends(colleague: Colleague, message_id: str) -> tuple[object, ...]:
    """Return state and reason of a turn."""
    found = colleague.rows("select state, reason from turns where message_id = ?", message_id)
    return found[0]


def letters(colleague: Colleague) -> str:
    """Return how each answer on the server begins."""
    return "".join(answer.body[0] for answer in colleague.answers())


async def one_waiting(colleague: Colleague, body: str = "@hermes hi") -> str:
    """Let a question wait behind the shut gate, and end the process."""
    m1 = await colleague.says("alice", body)
    await colleague.until_state(m1, "queued")
    await colleague.dies()
    return m1


def unjudge(colleague: Colleague, cause: str = "mention") -> None:
    """Put the only turn back to where its receipt was written and nothing else."""
    colleague.write("update turns set state = 'received', cause = ?", cause)
    colleague.write("delete from room_sessions")


# --- before the hand-over -------------------------------------------------------------------


async def test_what_waited_goes_on_waiting_and_is_answered_once(open_colleague: Open) -> None:
    """In the order of receipt, several lanes at once."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await colleague.says("alice", "@hermes one")
        m2 = await colleague.says("bob", "@hermes two", thread=m1)
        m3 = await colleague.says("bob", "@hermes elsewhere", room="R2")
        for message_id in (m1, m2, m3):
            await colleague.until_state(message_id, "queued")
        await colleague.dies()
        await colleague.starts(Script())
        for message_id in (m1, m2, m3):
            await colleague.until_state(message_id, "answered")

        in_r1 = [answer.in_reply_to for answer in colleague.answers() if answer.in_reply_to != m3]
        assert in_r1 == [m1, m2]
        assert len(colleague.answers()) == 3


async def test_a_receipt_is_decided_about_again(open_colleague: Open) -> None:
    """The process ended between the receipt and the decision."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await one_waiting(colleague)
        unjudge(colleague)
        await colleague.starts(Script())
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 1


async def test_the_servers_verdict_outlives_the_process(open_colleague: Open) -> None:
    """It is said once; the receipt remembers it."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await one_waiting(colleague, "@hermes @moderator hi")
        world = colleague.sandbox.world
        (posted,) = world.log.messages_by(colleague.ids["alice"])
        posted.body = "@moderator hi"
        unjudge(colleague, "role")
        # Its words changed while nobody watched; here that is of no interest.
        policy = replace(POLICY, revisions=Revisions(unseen=EditedUnseen.ANSWER))
        await colleague.starts(Script(policy=policy))
        await colleague.until_state(m1, "answered")

        assert colleague.rows("select cause from turns") == [("role",)]


async def test_a_recovered_command_is_refused(open_colleague: Open) -> None:
    """Nobody knows what it would do now."""
    async with open_colleague(script=SHUT) as colleague:
        d1 = await colleague.opens_dm("alice")
        m1 = await colleague.says("alice", "hello", room=d1)
        await colleague.until_state(m1, "queued")
        await colleague.dies()
        (posted,) = colleague.sandbox.world.log.messages_by(colleague.ids["alice"])
        posted.body = "/restart"
        unjudge(colleague, "direct")
        await colleague.starts(Script())
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "command")
        assert colleague.gateway.commands == []


@pytest.mark.parametrize("state", ["queued", "received"])
async def test_an_author_who_may_not_speak_any_more_is_refused(
    open_colleague: Open, state: str
) -> None:
    """Authorisation is asked again."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await one_waiting(colleague)
        if state == "received":
            unjudge(colleague)
        await colleague.starts(Script(policy=Policy(allowed_user_entries=("bob",))))
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "author_not_allowed")
        skipped = [] if state == "received" else [("skipped",)]
        assert colleague.rows("select state from room_sessions") == skipped


async def test_a_receipt_that_is_not_meant_any_more_is_refused(open_colleague: Open) -> None:
    """Under other settings; a row always comes to an end."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await one_waiting(colleague)
        unjudge(colleague)
        await colleague.starts(Script(policy=replace(SHUT.policy, allowed_rooms=("R2",))))
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "room_not_answered")


@pytest.mark.parametrize("gone", ["message", "room"])
async def test_a_receipt_whose_message_cannot_be_read_is_refused(
    open_colleague: Open, gone: str
) -> None:
    """Deleted meanwhile, or the account was put out of the room."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await one_waiting(colleague)
        unjudge(colleague)
        if gone == "message":
            colleague.write("update turns set message_id = 'M0000000000gone'")
            m1 = "M0000000000gone"
        else:
            colleague.write("update turns set room_id = 'R0000000000gone'")
        await colleague.starts(Script())
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "unreadable")


async def test_a_receipt_that_cannot_be_read_for_now_stays_for_the_next_start(
    open_colleague: Open,
) -> None:
    """An outage ends nothing."""
    quick = Limits(first_wait_s=0.01, outage_wait_s=0.05)
    async with open_colleague(script=SHUT) as colleague:
        m1 = await one_waiting(colleague)
        unjudge(colleague)
        colleague.faults.refused[READ] = Code.UNAVAILABLE
        before = colleague.sandbox.calls[READ]
        await colleague.starts(Script(limits=quick))
        await colleague.until(lambda: colleague.sandbox.calls[READ] > before)
        await colleague.stops()
        assert colleague.state_of(m1) == "received"
        colleague.faults.refused.clear()
        await colleague.starts(Script())
        await colleague.until_state(m1, "answered")


async def test_an_admitted_turn_is_queued(open_colleague: Open) -> None:
    """The half step of a lane that ended within it."""
    async with open_colleague(script=SHUT) as colleague:
        m1 = await one_waiting(colleague)
        colleague.write("update turns set state = 'admitted'")
        await colleague.starts(Script())
        await colleague.until_state(m1, "answered")

        assert "admitted -> queued" in colleague.story(m1)[3:]


def will_resume(colleague: Colleague) -> None:
    """Let the gateway say of every conversation that it takes its run up again."""
    for session in colleague.sessions.values():
        session.remains = Remains.RESUMES


# --- at the gateway -------------------------------------------------------------------------


async def test_a_run_that_is_not_resumed_fails_and_lets_the_next_one_go(
    open_colleague: Open,
) -> None:
    """Killed while a turn is running (handed S02)."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("alice", "@hermes still there?", thread=m1)
        await colleague.until_state(m2, "queued")
        await colleague.dies()
        will_resume(colleague)
        await colleague.starts(Script())
        await colleague.until_state(m2, "answered")

        assert ends(colleague, m1) == ("failed", "not_resumed")
        assert "processing -> interrupted" in colleague.story(m1)
        asked = [order.text for order in colleague.gateway.orders]
        assert asked == ["@hermes still there?"]
        assert [answer.in_reply_to for answer in colleague.answers()] == [m2]


async def test_an_interrupted_turn_waits_for_the_gateways_gate(open_colleague: Open) -> None:
    """Before it opens nobody knows whether the run is resumed."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        await colleague.dies()
        will_resume(colleague)
        await colleague.starts(SHUT)
        await colleague.until_state(m1, "interrupted")
        colleague.gateway.open_gate()
        await colleague.until_state(m1, "failed")

        assert ends(colleague, m1) == ("failed", "not_resumed")


def key_of(colleague: Colleague, message_id: str) -> str:
    """Return the session key of a message."""
    found = colleague.rows("select session_key from turns where message_id = ?", message_id)
    return str(found[0][0])


async def test_a_run_the_gateway_resumes_leads_on(open_colleague: Open) -> None:
    """Under no message ID; its answer points at the question all the same."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        (order,) = colleague.gateway.orders
        await colleague.dies()
        will_resume(colleague)
        await colleague.starts(SHUT)
        await colleague.until_state(m1, "interrupted")
        resumed = replace(order, message_id="")
        colleague.gateway.resume(key_of(colleague, m1), resumed)
        colleague.gateway.open_gate()
        await colleague.until_state(m1, "answered")

        (a1,) = colleague.answers()
        assert (a1.in_reply_to, a1.thread_root_id) == (m1, m1)
        assert colleague.story(m1)[-5:] == [
            "processing -> interrupted",
            "interrupted -> processing",
            "processing -> processing",
            "processing -> delivering",
            "delivering -> answered",
        ]


async def test_a_run_resumed_before_we_are_connected_leads_on(open_colleague: Open) -> None:
    """The gateway does not wait for the server; the reports come in any order."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        (order,) = colleague.gateway.orders
        await colleague.dies()
        will_resume(colleague)
        key = key_of(colleague, m1)
        await colleague.sandbox.__aexit__(None, None, None)
        quick = Limits(reconnect_first_s=0.02, reconnect_longest_s=0.05, connect_wait_s=0.05)
        go_on = anyio.Event()

        async def wait(order: TurnOrder) -> None:
            del order
            await go_on.wait()

        await colleague.starts(Script(agent=wait, limits=quick, is_gate_open=False))
        colleague.gateway.resume(key, order)
        await colleague.until(lambda: "processing -> processing" in colleague.story(m1))
        await colleague.sandbox.__aenter__()
        go_on.set()
        await colleague.until_state(m1, "silent")


async def test_a_run_the_gateway_ends_with_itself_is_interrupted(open_colleague: Open) -> None:
    """Asked to stop, it resumes the run after its next start, as it does after a crash."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        (order,) = colleague.gateway.orders
        colleague.gateway.shut_gate()
        colleague.desk.run_ended(key_of(colleague, m1), m1, RunOutcome.INTERRUPTED)
        await colleague.until_state(m1, "interrupted")
        assert ends(colleague, m1) == ("interrupted", "process_ended")
        await colleague.stops()
        colleague.gateway.dies()
        will_resume(colleague)
        await colleague.starts(SHUT)
        colleague.gateway.resume(key_of(colleague, m1), replace(order, message_id=""))
        colleague.gateway.open_gate()
        await colleague.until_state(m1, "answered")

        (a1,) = colleague.answers()
        assert (a1.in_reply_to, a1.thread_root_id) == (m1, m1)


@pytest.mark.parametrize("what", ["/stop", "edit", "deletion"])
@pytest.mark.parametrize("resumes", [True, False])
async def test_a_run_that_is_being_stopped_when_the_gateway_ends_says_nothing_later(
    open_colleague: Open, what: str, *, resumes: bool
) -> None:
    """Resumed, it is stopped again; not resumed, it ends as it was meant to."""
    go = anyio.Event()

    async def stubborn(order: TurnOrder) -> str:
        if "rebuild" in order.text:
            with anyio.CancelScope(shield=True):
                await go.wait()
        return f"ok: {order.text}"

    policy = Policy(allowed_user_entries=("alice", "bob"), revisions=Revisions(pause_s=0.02))
    async with open_colleague(agent=stubborn, policy=policy) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        (order,), key = colleague.gateway.orders, key_of(colleague, m1)
        if what == "/stop":
            await colleague.says("bob", "@hermes /stop", thread=m1)
        elif what == "edit":
            await colleague.edits("alice", m1, "@hermes count")
        else:
            colleague.retracts(m1)
        state = "correcting" if what == "edit" else "stopping"
        await colleague.until_state(m1, state)
        colleague.gateway.shut_gate()
        colleague.desk.run_ended(key, m1, RunOutcome.INTERRUPTED)
        await colleague.stops()
        assert colleague.state_of(m1) == state
        colleague.gateway.dies()
        go.set()
        await colleague.starts(replace(colleague.script, is_gate_open=False))
        if resumes:
            go = anyio.Event()
            colleague.gateway.resume(key, replace(order, message_id=""))
        colleague.gateway.open_gate()
        go.set()
        end = {"/stop": "cancelled", "edit": "answered", "deletion": "retracted"}[what]
        await colleague.until_state(m1, end)

        said = [answer.body for answer in colleague.answers() if "done" not in answer.body]
        assert said == (["ok: @hermes count"] if what == "edit" else [])


async def test_a_folded_turn_ends_with_the_gateway(open_colleague: Open) -> None:
    """Its run may be resumed; whether with its words, nobody knows."""
    async with open_colleague() as colleague:
        colleague.gateway.planned = [HandOver.FOLDED]
        m1 = await colleague.says("alice", "@hermes join in")
        await colleague.until_state(m1, "folded")
        colleague.desk.run_ended(key_of(colleague, m1), None, RunOutcome.INTERRUPTED)
        await colleague.until_state(m1, "failed")

        assert ends(colleague, m1) == ("failed", "process_died")


async def test_a_run_that_is_put_back_and_let_go_fails(open_colleague: Open) -> None:
    """The gateway says that it begins, and never that it ended; the key tells by being free."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        await colleague.dies()
        will_resume(colleague)
        await colleague.starts(SHUT)
        await colleague.until_state(m1, "interrupted")
        colleague.desk.run_started(key_of(colleague, m1), None)
        await colleague.until_state(m1, "processing")
        colleague.gateway.open_gate()
        await colleague.until_state(m1, "failed")

        assert ends(colleague, m1) == ("failed", "run_cancelled")
        assert colleague.answers() == []


@pytest.mark.parametrize(
    ("state", "ends_as", "end"),
    [
        ("correcting", None, "answered"),
        ("stopping", "cancelled", "cancelled"),
        ("stopping", "retracted", "retracted"),
    ],
)
async def test_a_run_that_was_being_stopped_ends_as_it_was_meant_to(
    open_colleague: Open, state: str, ends_as: str | None, end: str
) -> None:
    """With the process its run is gone; what was corrected runs with its new words."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await colleague.says("alice", "@hermes rebuild")
        await colleague.until_state(m1, "processing")
        await colleague.dies()
        colleague.write("update turns set state = ?, ends_as = ?", state, ends_as)
        await colleague.starts(Script())
        await colleague.until_state(m1, end)

        assert len(colleague.answers()) == (1 if end == "answered" else 0)


async def test_a_folded_turn_of_before_ends(open_colleague: Open) -> None:
    """The run that took it in is gone, too."""
    async with open_colleague() as colleague:
        colleague.gateway.planned = [HandOver.FOLDED]
        m1 = await colleague.says("alice", "@hermes join in")
        await colleague.until_state(m1, "folded")
        await colleague.dies()
        await colleague.starts(Script())
        await colleague.until_state(m1, "failed")

        assert ends(colleague, m1) == ("failed", "process_died")


# --- on the way out -------------------------------------------------------------------------


async def dies_while_sending(colleague: Colleague, part: int) -> str:
    """Ask, and end the process while the server holds back its answer to the post of a part."""
    m1 = await colleague.says("alice", "@hermes report")
    await colleague.until(lambda: len(colleague.answers()) == part)
    found = colleague.rows("select state from outbox order by part")
    assert found[part - 1] == ("sending",)
    await colleague.dies()
    return m1


@pytest.mark.parametrize("part", [1, 2, 3])
async def test_a_part_that_was_being_posted_is_looked_for(open_colleague: Open, part: int) -> None:
    """It is in the room: it is not posted again, and what is missing follows."""
    async with open_colleague(agent=three_parts) as colleague:
        colleague.faults.slow_answers[POST] = 0.3
        m1 = await dies_while_sending(colleague, part)
        colleague.faults.slow_answers.clear()
        await colleague.starts(Script())
        await colleague.until_state(m1, "answered")

        assert letters(colleague) == "abc"
        assert [answer.in_reply_to for answer in colleague.answers()] == [m1, "", ""]


async def test_a_part_that_was_never_posted_is_posted_after_a_look(open_colleague: Open) -> None:
    """The process ended before the call left it."""
    async with open_colleague(agent=three_parts) as colleague:
        colleague.faults.slow_answers[POST] = 0.3
        m1 = await dies_while_sending(colleague, 1)
        colleague.faults.slow_answers.clear()
        colleague.write("update outbox set state = 'sending' where part = 2")
        await colleague.starts(Script(limits=Limits(late_looks_s=(0.05,))))
        await colleague.until_state(m1, "answered")

        assert letters(colleague) == "abc"
        steps = colleague.rows(
            "select event from transitions where key like '%/2' and event != 'add' order by seq"
        )
        assert [step for (step,) in steps] == ["doubt", "find_nothing", "post", "confirm"]


async def test_an_answer_that_is_out_already_ends_its_turn(open_colleague: Open) -> None:
    """The last part was confirmed, and then the process ended."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")
        await colleague.dies()
        colleague.write("update turns set state = 'delivering', closed_at = null")
        await colleague.starts(Script())
        await colleague.until_state(m1, "answered")

        assert len(colleague.answers()) == 1


async def test_a_refused_answer_is_not_sent_by_a_restart(open_colleague: Open) -> None:
    """Refused is refused: only whoever asks for it again gets another attempt."""
    async with open_colleague(agent=three_parts) as colleague:
        colleague.faults.before = [None, Code.PERMISSION_DENIED]
        m1 = await colleague.says("alice", "@hermes report")
        await colleague.until_state(m1, "failed")
        await colleague.dies()
        await colleague.starts(Script())
        m2 = await colleague.says("bob", "@hermes hi", room="R2")
        await colleague.until_state(m2, "answered")

        assert letters(colleague)[0] == "a"
        assert "b" not in letters(colleague)
        assert ends(colleague, m1) == ("failed", "permission_denied")


async def test_a_stop_tells_whoever_waits_and_the_next_start_posts(open_colleague: Open) -> None:
    """The gateway's caller is not left hanging; the text is not lost, and posted once."""
    results = list[DeliveryResult]()
    async with open_colleague() as colleague:
        colleague.faults.refused[POST] = Code.RESOURCE_EXHAUSTED
        note = Outgoing(colleague.rooms["R1"], None, "good night", is_final=True)

        async def deliver() -> None:
            results.append(await colleague.desk.deliver(note))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliver)
            await colleague.until(
                lambda: bool(colleague.rows("select 1 from outbox where reason = 'busy'"))
            )
            await colleague.stops()
        colleague.faults.refused.clear()
        await colleague.starts()
        await colleague.until(lambda: bool(colleague.answers()))

        assert [(result.state, result.reason) for result in results] == [
            (DeliveryState.REFUSED, "stopping")
        ]
        assert not results[0].is_retryable
        assert [answer.body for answer in colleague.answers()] == ["good night"]


async def test_after_a_stop_nothing_is_taken_any_more(open_colleague: Open) -> None:
    """Late calls of the gateway neither wait nor fail."""
    async with open_colleague() as colleague:
        desk = colleague.desk
        await colleague.stops()
        note = Outgoing(colleague.rooms["R1"], None, "too late", is_final=True)
        result = await desk.deliver(note)
        await desk.show_typing(colleague.rooms["R1"], None)
        desk.key_ready("some key")

        assert (result.reason, result.is_retryable) == ("stopping", True)


# --- a real kill ----------------------------------------------------------------------------


@asynccontextmanager
async def running(colleague: Colleague) -> AsyncIterator[Process]:
    """Run the profile in a process of its own, and kill it in the end."""
    command = [sys.executable, str(PROGRAM), colleague.url, str(colleague.state_path)]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 100)
        assert line == b"live"
        try:
            yield process
        finally:
            process.kill()
            await process.wait()


async def test_a_killed_process_leaves_rows_that_say_what_to_do(open_colleague: Open) -> None:
    """SIGKILL in the middle of an answer and of a run: once each, or named."""
    async with open_colleague(is_started=False) as colleague:
        async with running(colleague):
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until_state(m1, "processing")
            m2 = await colleague.says("bob", "@hermes and me?", thread=m1)
            await colleague.until_state(m2, "queued")
            colleague.faults.slow_answers[POST] = 0.5
            m3 = await colleague.says("bob", "@hermes report", room="R2")
            await colleague.until(lambda: len(colleague.answers()) == 2)
        colleague.faults.slow_answers.clear()
        await colleague.starts()
        for message_id in (m1, m2, m3):
            await colleague.until_state(message_id, "answered")

        # Its gateway forgot everything with the process, so the first question never ran.
        bodies = [(answer.body[:2], answer.in_reply_to) for answer in colleague.answers()]
        assert sorted(bodies) == sorted(
            [("aa", m3), ("bb", ""), ("cc", ""), ("ok", m1), ("ok", m2)]
        )
