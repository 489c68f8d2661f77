"""What the agent asks back while its turn waits, and how each question ends in its row."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import pytest

from hermes_chatto.actors.sandbox.scripted_gateway import ScriptedGateway
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.policy import Policy, Revisions
from hermes_chatto.actors.sessions.ports import Question, TurnOrder
from hermes_chatto.actors.sessions.remains import Remains
from hermes_chatto.actors.sessions.services import Limits

QUICK = Policy(allowed_user_entries=("alice", "bob"), revisions=Revisions(pause_s=0.02))
POST = "MessageService/CreateMessage"
LIMITS = Limits(question_look_s=0.02)


@dataclass
class AskingAgent:
    """Asks its person what the words of a message say, and answers with what it heard."""

    gateway: Callable[[], ScriptedGateway]
    heard: list[str | None] = field(default_factory=list)

    async def __call__(self, order: TurnOrder) -> str:
        """Ask for an approval, for a choice, or for nothing."""
        for word, question in (("risky", Question.APPROVAL), ("which", Question.CHOICE)):
            if word in order.text:
                asks = self.gateway().ask
                self.heard.append(await asks(order, f"{question.value}?", question))
        return f"ok: {order.text}"


@dataclass
class StubbornAgent:
    """Asks which one, and goes on waiting for the answer when it is interrupted, until let go."""

    gateway: Callable[[], ScriptedGateway]
    waiting: anyio.CancelScope = field(default_factory=lambda: anyio.CancelScope(shield=True))

    async def __call__(self, order: TurnOrder) -> str:
        """Ask only where the message says so."""
        if "which" in order.text:
            with self.waiting:
                await self.gateway().ask(order, "choice?", Question.CHOICE)
        return f"ok: {order.text}"


class Stage:
    """Lets the agent reach the gateway of the newest start."""

    colleague: Colleague

    def gateway(self) -> ScriptedGateway:
        return self.colleague.gateway


def prompts(colleague: Colleague) -> list[tuple[object, ...]]:
    """Return what the rows say of questions, in order: kind, state, reason, who."""
    sql = "select kind, state, reason, settled_by from prompts order by created_at"
    return colleague.rows(sql)


async def asked(colleague: Colleague, words: str = "risky") -> str:
    """Let Alice ask something that makes the agent ask back; return the message's ID."""
    message = await colleague.says("alice", f"@hermes {words}")
    await colleague.until(lambda: [row[1] for row in prompts(colleague)] == ["open"])
    return message


@pytest.mark.parametrize(
    ("words", "answer", "ending"),
    [
        ("risky", "/approve", ("approval", "approved")),
        ("risky", "/deny too risky", ("approval", "denied")),
        ("which one", "the second", ("choice", "answered")),
    ],
)
async def test_an_answer_settles_what_was_asked(
    open_colleague: Open, words: str, answer: str, ending: tuple[str, str]
) -> None:
    """The row says who did, and which message it is shown as."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await asked(colleague, words)
        (question,) = colleague.answers()
        await colleague.says("alice", answer, thread=m1)
        await colleague.until_state(m1, "answered")

        assert prompts(colleague) == [(*ending, None, colleague.ids["alice"])]
        assert colleague.rows("select message_id from prompts") == [(question.message_id,)]
        assert agent.heard == [answer]
        sql = "select step from turn_story where message_id = ? and machine = 'prompt'"
        steps = [step for (step,) in colleague.rows(sql, m1)]
        assert steps == ["posting", "posting -> open", f"open -> {ending[1]}"]


async def test_nobody_elses_answer_settles_it(open_colleague: Open) -> None:
    """An approval is refused, a message is a turn of its own."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await asked(colleague)
        m2 = await colleague.says("bob", "@hermes /approve", thread=m1)
        await colleague.until_state(m2, "refused")
        assert [row[1] for row in prompts(colleague)] == ["open"]
        await colleague.says("alice", "@hermes /approve", thread=m1)
        await colleague.until_state(m1, "answered")

        assert prompts(colleague)[0][3] == colleague.ids["alice"]


@pytest.mark.parametrize("words", ["/approve", "/deny no", "/APPROVE all"])
async def test_an_approval_by_somebody_else_is_refused_in_words_without_a_mention_too(
    open_colleague: Open, words: str
) -> None:
    """The gateway alone would take it; whoever gave it sees why nothing happens."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await asked(colleague)
        m2 = await colleague.says("bob", words, thread=m1)
        await colleague.until_state(m2, "refused")
        await colleague.until(lambda: len(colleague.answers()) == 2)

        sql = "select reason, cause from turns where message_id = ?"
        assert colleague.rows(sql, m2) == [("not_yours", "follow_up")]
        said = colleague.answers()[-1]
        assert (said.in_reply_to, said.thread_root_id) == (m2, m1)
        assert said.body.startswith("Only Alice, whose question waits for it, can approve")
        assert [row[1] for row in prompts(colleague)] == ["open"]
        again = await colleague.says("bob", words, thread=m1)
        await colleague.until(lambda: colleague.answers()[-1].in_reply_to == again)
        await colleague.says("alice", "/approve", thread=m1)
        await colleague.until_state(m1, "answered")
        late = await colleague.says("bob", "/approve", thread=m1)
        await colleague.says("alice", "and now?", thread=m1)
        await colleague.until(lambda: len(colleague.answers()) == 5)

        assert colleague.state_of(late) is None


async def test_somebody_elses_choice_is_refused_and_their_question_waits(
    open_colleague: Open,
) -> None:
    """Both in a sentence: a number asks nothing, anything else is a question of its own."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await asked(colleague, "which one")
        number = await colleague.says("bob", "@hermes 2.", thread=m1)
        await colleague.until_state(number, "refused")
        words = await colleague.says("bob", "@hermes the second", thread=m1)
        more = await colleague.says("bob", "@hermes and the third", thread=m1)
        await colleague.until_state(more, "queued")
        await colleague.until(lambda: len(colleague.answers()) == 3)
        told = {post.in_reply_to: post.body for post in colleague.answers()}
        await colleague.says("alice", "the first", thread=m1)
        await colleague.until_state(more, "answered")

        assert told[number].startswith("Only Alice, whose question waits for it, can approve")
        assert told[words].startswith("I have asked Alice something and wait for that answer")
        assert more not in told
        assert agent.heard == ["the first"]
        assert prompts(colleague)[0][3] == colleague.ids["alice"]


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_question_nobody_answers_expires(open_colleague: Open, *, goes_on: bool) -> None:
    """The gateway says nothing when it gives up; the row does, also while the run goes on."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await asked(colleague, "risky which" if goes_on else "risky")
        (key,) = colleague.sessions
        colleague.gateway.give_up(key)
        await colleague.until(lambda: prompts(colleague)[0][1] == "expired")
        if goes_on:
            await colleague.until(lambda: [row[1] for row in prompts(colleague)][1:] == ["open"])
            assert colleague.state_of(m1) == "processing"
            await colleague.says("alice", "the first", thread=m1)
        await colleague.until_state(m1, "answered")

        assert prompts(colleague)[0] == ("approval", "expired", None, None)


@pytest.mark.parametrize("what", ["edit", "deletion", "/stop", "/new"])
async def test_a_question_of_a_stopped_run_is_withdrawn(open_colleague: Open, what: str) -> None:
    """Together with the step that stops its turn."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await asked(colleague)
        if what == "edit":
            await colleague.edits("alice", m1, "@hermes harmless")
        elif what == "deletion":
            colleague.retracts(m1)
        else:
            await colleague.says("bob", f"@hermes {what}", thread=m1)
        ends = {"edit": "answered", "deletion": "retracted"}
        await colleague.until_state(m1, ends.get(what, "cancelled"))

        reason = {"edit": "edit", "deletion": "message_deleted"}.get(what, what[1:])
        assert prompts(colleague) == [("approval", "withdrawn", reason, None)]
        sql = (
            "select max(seq) - min(seq) from transitions "
            "where message_id = ? and to_state in ('withdrawn', 'correcting', 'stopping') "
            "and from_state is not to_state"
        )
        assert colleague.rows(sql, m1) == [(1,)]


async def test_a_run_that_is_being_stopped_asks_nobody(open_colleague: Open) -> None:
    """The gateway takes answers until it has ended: they would be lost there."""
    stage = Stage()
    agent = StubbornAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await asked(colleague, "which one")
        await colleague.says("alice", "@hermes /stop", thread=m1)
        await colleague.until_state(m1, "stopping")
        ((key,),) = colleague.rows("select session_key from turns where message_id = ?", m1)
        assert colleague.gateway.waits_for(str(key)) == {Question.CHOICE}
        waiting = [
            await colleague.says("alice", "@hermes the second", thread=m1),
            await colleague.says("bob", "@hermes me, too", thread=m1),
        ]
        for id_ in waiting:
            await colleague.until_state(id_, "queued")
        agent.waiting.cancel()
        for id_ in waiting:
            await colleague.until_state(id_, "answered")

        posted = [post.body for post in colleague.answers()]
        assert [body for body in posted if "I have asked" in body] == []


async def test_a_question_of_a_dead_process_is_withdrawn(open_colleague: Open) -> None:
    """The gateway's own register died with it; a resumed run asks anew."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await asked(colleague)
        (order,), ((key, session),) = colleague.gateway.orders, colleague.sessions.items()
        await colleague.dies()
        session.remains = Remains.RESUMES
        await colleague.starts()
        assert prompts(colleague) == [("approval", "withdrawn", "process_died", None)]
        colleague.gateway.resume(key, order)
        await colleague.until(lambda: [row[1] for row in prompts(colleague)][1:] == ["open"])
        await colleague.says("alice", "/approve", thread=m1)
        await colleague.until_state(m1, "answered")

        assert [row[1] for row in prompts(colleague)] == ["withdrawn", "approved"]


async def test_a_question_that_is_not_posted_is_withdrawn(open_colleague: Open) -> None:
    """With the server's reason."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        colleague.faults.before = [Code.PERMISSION_DENIED]
        await colleague.says("alice", "@hermes risky")
        await colleague.until(lambda: [row[1] for row in prompts(colleague)] == ["withdrawn"])

        assert prompts(colleague) == [("approval", "withdrawn", "permission_denied", None)]


async def test_a_question_that_was_on_its_way_at_the_end_is_not_posted(
    open_colleague: Open,
) -> None:
    """Whoever answered it would answer nobody."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        colleague.faults.before = [Code.RESOURCE_EXHAUSTED]
        m1 = await colleague.says("alice", "@hermes risky")
        await colleague.until(lambda: colleague.rows("select reason from outbox") == [("busy",)])
        await colleague.dies()
        await colleague.starts()
        await colleague.until_state(m1, "failed")
        await colleague.until(
            lambda: colleague.rows("select state from outbox") == [("superseded",)]
        )

        assert colleague.answers() == []


async def test_an_approval_of_all_settles_all(open_colleague: Open) -> None:
    """Several tools may ask at the same time."""
    stage = Stage()

    async def twice(order: TurnOrder) -> str:
        gateway = stage.gateway()
        for number in range(2):
            stage.colleague.tasks.start_soon(
                gateway.ask, order, f"may I {number}?", Question.APPROVAL
            )
        await stage.colleague.until(lambda: [row[1] for row in prompts(stage.colleague)] == done)
        return "ok"

    done = ["approved", "approved"]
    async with open_colleague(policy=QUICK, agent=twice, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await colleague.says("alice", "@hermes both")
        await colleague.until(lambda: [row[1] for row in prompts(colleague)] == ["open", "open"])
        await colleague.says("alice", "/approve all", thread=m1)
        await colleague.until_state(m1, "answered")

        assert [row[1] for row in prompts(colleague)] == done


async def test_an_answer_may_come_before_the_servers_word_that_it_is_posted(
    open_colleague: Open,
) -> None:
    """People see a message as soon as it is there; the row learns later which it is."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        colleague.faults.slow_answers[POST] = 0.3
        m1 = await colleague.says("alice", "@hermes risky")
        await colleague.until(lambda: len(colleague.answers()) == 1)
        await colleague.says("alice", "/approve", thread=m1)
        await colleague.until(lambda: [row[1] for row in prompts(colleague)] == ["approved"])
        (question,) = colleague.answers()
        sql = "select message_id from prompts"
        assert colleague.rows(sql) == [(None,)]
        await colleague.until(lambda: colleague.rows(sql) == [(question.message_id,)])

        assert [row[1] for row in prompts(colleague)] == ["approved"]


async def test_other_commands_answer_nothing(open_colleague: Open) -> None:
    """The question stays open, and so does a choice while an approval is given."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await asked(colleague, "which one")
        for command in ("/status", "/approve"):
            given = await colleague.says("alice", f"@hermes {command}", thread=m1)
            await colleague.until_state(given, "bypassed")
        assert [row[1] for row in prompts(colleague)] == ["open"]
        await colleague.says("alice", "the first", thread=m1)
        await colleague.until_state(m1, "answered")

        assert [row[1] for row in prompts(colleague)] == ["answered"]


@pytest.mark.parametrize(("by", "heard"), [("alice", "/approve"), ("bob", None)])
async def test_the_run_of_a_command_is_approved_by_whoever_gave_it(
    open_colleague: Open, by: str, heard: str | None
) -> None:
    """The gateway runs `/queue risky` in no lane, and takes an approval from anybody."""
    stage = Stage()
    agent = AskingAgent(stage.gateway)
    async with open_colleague(policy=QUICK, agent=agent, limits=LIMITS) as colleague:
        stage.colleague = colleague
        m1 = await colleague.says("alice", "@hermes /queue risky")
        await colleague.until(lambda: len(colleague.answers()) == 1)
        given = await colleague.says(by, "@hermes /approve", thread=m1)
        await colleague.until_state(given, "bypassed" if heard else "refused")
        if heard is None:
            place = colleague.gateway.commands[0].place
            colleague.gateway.give_up(colleague.gateway.session_key(place))
        await colleague.until(lambda: len(agent.heard) == 1)

        assert agent.heard == [heard]
