"""The gateway is asked what it still has of a turn; each answer leads to one end."""

from dataclasses import replace

import anyio
import pytest

from hermes_chatto.actors.sandbox.scripted_gateway import Session
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import Policy
from hermes_chatto.actors.sessions.ports import HandOver, Outgoing, TurnOrder
from hermes_chatto.actors.sessions.remains import Remains
from hermes_chatto.actors.sessions.services import Limits

SHUT = Script(is_gate_open=False)
QUICK = Limits(owed_look_s=0.02, owed_wait_s=0.2)


async def for_ever(order: TurnOrder) -> None:
    """Never come to an end."""
    del order
    await anyio.sleep_forever()


def ends(colleague: Colleague, message_id: str) -> tuple[object, ...]:
    """Return state and reason of a turn."""
    found = colleague.rows("select state, reason from turns where message_id = ?", message_id)
    return found[0]


async def dies_at(colleague: Colleague, state: str, *, is_held: bool) -> str:
    """Let a question come to a state, and end the process under it."""
    if state == "handed":
        colleague.gateway.planned = [HandOver.TAKEN]
    m1 = await colleague.says("alice", "@hermes rebuild")
    await colleague.until_state(m1, state)
    await colleague.dies()
    (key,) = colleague.rows("select session_key from turns")[0]
    session = colleague.sessions.setdefault(str(key), Session())
    session.message_ids = [m1] if is_held else []
    return m1


def leaves(colleague: Colleague, remains: Remains | None) -> Session:
    """Say what the gateway has of the only conversation."""
    (session,) = colleague.sessions.values()
    session.remains = remains
    return session


@pytest.mark.parametrize("state", ["handed", "processing"])
async def test_what_never_ran_is_put_back_and_run_once(open_colleague: Open, state: str) -> None:
    """The process ended between the hand-over and the gateway's own mark."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await dies_at(colleague, state, is_held=False)
        await colleague.starts(Script())
        await colleague.until_state(m1, "answered")

        assert f"{state} -> queued" in colleague.story(m1)
        assert colleague.rows("select attempt from turns") == [(2,)]
        assert [order.message_id for order in colleague.gateway.orders] == [m1]
        (order,) = colleague.gateway.orders
        assert order.context is None or "rebuild" not in order.context
        assert len(colleague.answers()) == 1
        steps = "select reason from transitions where event = 'put_back'"
        assert colleague.rows(steps) == [("never_ran",)]


async def test_what_never_ran_brings_its_lines_again(open_colleague: Open) -> None:
    """The frontier goes back with the hand-over."""
    async with open_colleague() as colleague:
        m0 = await colleague.says("alice", "@hermes first")
        await colleague.until_state(m0, "answered")
        await colleague.says("carol", "a line between", thread=m0)
        colleague.gateway.planned = [HandOver.TAKEN]
        m1 = await colleague.says("alice", "@hermes second", thread=m0)
        await colleague.until_state(m1, "handed")
        await colleague.dies()
        await colleague.starts(Script())
        await colleague.until_state(m1, "answered")

        (order,) = colleague.gateway.orders
        assert order.context is not None
        assert order.context.count("a line between") == 1


async def test_what_never_ran_and_may_not_any_more_is_refused(open_colleague: Open) -> None:
    """Authorisation is asked again."""
    async with open_colleague() as colleague:
        m1 = await dies_at(colleague, "handed", is_held=False)
        await colleague.starts(Script(policy=Policy(allowed_user_entries=("bob",))))
        await colleague.until_state(m1, "refused")

        assert ends(colleague, m1) == ("refused", "author_not_allowed")
        assert colleague.gateway.orders == []


async def test_what_ran_and_left_nothing_fails(open_colleague: Open) -> None:
    """The transcript has the message: to run it again would be to run it twice."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await dies_at(colleague, "processing", is_held=True)
        await colleague.starts(Script())
        await colleague.until_state(m1, "failed")

        assert ends(colleague, m1) == ("failed", "process_died")
        assert colleague.gateway.orders == []


async def test_a_failure_of_the_crash_rule_shows_its_sign(open_colleague: Open) -> None:
    """Whoever asked sees that no answer will come."""
    signed = replace(POLICY, signs=Policy().signs)
    async with open_colleague(agent=for_ever, policy=signed) as colleague:
        m1 = await dies_at(colleague, "processing", is_held=True)
        await colleague.starts(Script(policy=signed))
        await colleague.until_state(m1, "failed")
        await colleague.until(lambda: colleague.reactions(m1) == ["x"])


@pytest.mark.parametrize("said", ["all", "some"])
async def test_what_ran_and_was_said_is_ended_by_the_outbox(
    open_colleague: Open, said: str
) -> None:
    """A process can end between the parts of an answer and the row of its turn."""
    async with open_colleague() as colleague:
        m1 = await colleague.says("alice", "@hermes hi")
        await colleague.until_state(m1, "answered")
        await colleague.dies()
        colleague.write("update turns set state = 'processing', closed_at = null")
        if said == "some":
            colleague.write("update outbox set state = 'refused', reason = 'busy'")
        await colleague.starts(Script())
        end = "answered" if said == "all" else "failed"
        await colleague.until_state(m1, end)

        assert "processing -> delivering" in colleague.story(m1)
        assert len(colleague.answers()) == 1


async def test_a_resumption_without_the_words_is_called_off(open_colleague: Open) -> None:
    """The gateway would go on with a conversation that never got the question."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await dies_at(colleague, "processing", is_held=False)
        session = leaves(colleague, Remains.WORDLESS)
        await colleague.starts(SHUT)
        await colleague.until_state(m1, "queued")
        session.remains = None
        called_off = colleague.gateway.called_off
        colleague.gateway.agent = Script().agent
        colleague.gateway.open_gate()
        await colleague.until_state(m1, "answered")

        (key,) = colleague.rows("select session_key from turns")[0]
        assert called_off == [key]
        assert len(colleague.answers()) == 1


async def test_an_owed_answer_is_waited_for_until_it_is_given_up(open_colleague: Open) -> None:
    """The gateway had it, tries to hand it over, and stops trying."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await dies_at(colleague, "processing", is_held=True)
        session = leaves(colleague, Remains.OWES)
        await colleague.starts(Script(limits=replace(QUICK, owed_wait_s=60)))
        await colleague.until_state(m1, "interrupted")
        assert ends(colleague, m1) == ("interrupted", "answer_owed")
        session.remains = Remains.HOLDS
        await colleague.until_state(m1, "failed")

        assert ends(colleague, m1) == ("failed", "not_delivered")
        assert colleague.gateway.orders == []


async def test_an_owed_answer_that_never_comes_holds_up_nobody_for_ever(
    open_colleague: Open,
) -> None:
    """The gateway keeps its last attempt for the next start; the lane goes on."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await dies_at(colleague, "processing", is_held=True)
        leaves(colleague, Remains.OWES)
        await colleague.starts(Script(limits=QUICK))
        m2 = await colleague.says("alice", "@hermes and now?", thread=m1)
        await colleague.until_state(m2, "answered")

        assert ends(colleague, m1) == ("failed", "not_delivered")


@pytest.mark.parametrize(
    ("then", "end"),
    [
        (Remains.NOTHING, ("answered", None)),
        (Remains.HOLDS, ("failed", "process_died")),
        (Remains.UNKNOWN, ("failed", "not_resumed")),
        (Remains.RESUMES, ("failed", "not_resumed")),
        (Remains.OWES, ("failed", "not_delivered")),
    ],
)
async def test_a_gateway_that_cannot_be_read_is_asked_again(
    open_colleague: Open, then: Remains, end: tuple[str, str | None]
) -> None:
    """Once more when its key is free; nothing is guessed before."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await dies_at(colleague, "processing", is_held=False)
        session = leaves(colleague, Remains.UNKNOWN)
        await colleague.starts(Script(limits=QUICK, is_gate_open=False))
        await colleague.until_state(m1, "interrupted")
        assert ends(colleague, m1) == ("interrupted", "gateway_unreadable")
        session.remains = then
        colleague.gateway.open_gate()
        await colleague.until(lambda: ends(colleague, m1) == end)


async def test_an_interrupted_run_is_asked_about_again_at_every_start(
    open_colleague: Open,
) -> None:
    """Two ends of the process before the gateway's gate opened."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await dies_at(colleague, "processing", is_held=True)
        session = leaves(colleague, Remains.RESUMES)
        await colleague.starts(SHUT)
        await colleague.until_state(m1, "interrupted")
        await colleague.dies()
        session.remains, session.message_ids = None, []
        await colleague.starts(Script())
        await colleague.until_state(m1, "answered")

        assert "interrupted -> queued" in colleague.story(m1)


async def test_what_is_said_meanwhile_elsewhere_waits_for_nobody(open_colleague: Open) -> None:
    """A lane that waits for an owed answer is one lane."""
    async with open_colleague(agent=for_ever) as colleague:
        await dies_at(colleague, "processing", is_held=True)
        leaves(colleague, Remains.OWES)
        await colleague.starts(Script(limits=Limits(owed_look_s=60)))
        note = Outgoing(colleague.rooms["R2"], None, "a result", is_final=True)
        await colleague.desk.deliver(note)

        assert [answer.body for answer in colleague.answers()] == ["a result"]


async def test_a_gateway_that_does_not_answer_in_time_holds_up_no_start(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Its answer counts when it comes."""
    async with open_colleague(agent=for_ever) as colleague:
        m1 = await dies_at(colleague, "processing", is_held=True)
        await colleague.starts(Script(limits=Limits(asking_wait_s=0)))
        await colleague.until_state(m1, "failed")

        assert "the gateway was not asked about all of its runs in time" in caplog.messages


@pytest.mark.parametrize("is_held_back", [True, False])
async def test_what_waited_too_long_is_not_answered_any_more(
    open_colleague: Open, *, is_held_back: bool
) -> None:
    """Whether it waited or was put back; by the server's clock, with the failed sign."""
    async with open_colleague(script=SHUT if is_held_back else Script()) as colleague:
        if is_held_back:
            m1 = await colleague.says("alice", "@hermes rebuild")
            await colleague.until_state(m1, "queued")
            await colleague.dies()
        else:
            m1 = await dies_at(colleague, "handed", is_held=False)
        colleague.write("update turns set posted_at = '2020-01-01T00:00:00.000Z'")
        await colleague.starts(Script())
        await colleague.until_state(m1, "expired")

        assert ends(colleague, m1) == ("expired", "too_old")
        assert colleague.gateway.orders == []
