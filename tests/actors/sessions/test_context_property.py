"""Over any order of events the agent is told what its session lacks: all of it, each once.

Played on the embedded server's real pages: posts of people, strangers and other programs under
the account, questions, restarts, deaths, cut streams, deletions, new and lost conversations.
"""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_chatto.actors.sandbox.scripted_gateway import Session
from hermes_chatto.actors.sandbox.stage import Colleague, colleague
from hermes_chatto.actors.sessions.policy import ContextLimits, FollowUps, Policy

POLICY = Policy(allowed_user_entries=("alice", "bob"), follow_ups=FollowUps.OFF)
DRAINED_AFTER = 80  # questions; more than any of the backlogs needs

POSTS = st.tuples(st.just("post"), st.sampled_from(["bob", "carol", "hermes"]), st.integers(1, 4))
ASKS = st.tuples(st.just("ask"), st.sampled_from(["alice", "bob"]), st.just(1))
DELETIONS = st.tuples(st.just("delete"), st.sampled_from(["post", "trigger"]), st.integers(0, 50))
UPSETS = st.tuples(
    st.sampled_from(["restart", "die", "cut", "new", "lose"]), st.just(""), st.just(0)
)
STEPS = st.lists(st.one_of(POSTS, ASKS, ASKS, DELETIONS, UPSETS), min_size=3, max_size=9)


@dataclass
class Conversation:
    """What one session of the agent was told, and what it should have been told."""

    starts_clean: bool
    """Whether nothing from before it is told."""
    before: list[str] = field(default_factory=list)
    """Lines that were there when it began, oldest first, the root apart."""
    since: list[str] = field(default_factory=list)
    """Lines that came while it went on."""
    told: list[str] = field(default_factory=list)


@dataclass
class Play:
    """One thread, and everything that happened in it."""

    stage: Colleague
    root: str
    window: int
    lines: dict[str, str] = field(default_factory=dict)
    """Body by message ID, of what is neither deleted nor a turn or answer of this session."""
    triggers: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """Bodies that were deleted at some time: they may have been told before, or never."""
    talks: list[Conversation] = field(default_factory=lambda: [Conversation(starts_clean=False)])
    number: int = 0

    async def step(self, what: str, who: str, count: int) -> None:
        """Let one thing happen."""
        match what:
            case "post":
                for _ in range(count):
                    self.post(who)
            case "ask":
                await self.ask(who)
            case "delete":
                await self.delete(who, count)
            case _:
                await self.upset(what)

    async def upset(self, what: str) -> None:
        """Let something go wrong, or begin anew."""
        match what:
            case "restart":
                await self.stage.stops()
                await self.stage.starts()
            case "die":
                await self.stage.dies()
                await self.stage.starts()
            case "cut":
                await self.cut()
            case "new":
                await self.begin_anew()
            case _:
                await self.lose()

    def post(self, who: str) -> None:
        """Let somebody post a line, without asking anything."""
        self.number += 1
        body = f"p{self.number}"
        message_id = self.stage.posts(who, body, thread=self.root)
        self.lines[message_id] = body
        self.talks[-1].since.append(body)

    async def ask(self, who: str) -> None:
        """Let somebody ask, and note what the agent is told."""
        self.number += 1
        body = f"@hermes q{self.number}"
        await self.live()
        message_id = await self.stage.says(who, body, thread=self.root)
        await self.stage.until_state(message_id, "answered")
        talk = self.talks[-1]
        if not talk.told and not self.triggers_of_talk:
            talk.before, talk.since = [*talk.before, *talk.since], []
        self.triggers.append(message_id)
        self.triggers_of_talk.append(message_id)
        context = self.stage.gateway.orders[-1].context or ""
        told = [line.partition(": ")[2] for line in context.split("\n") if line.startswith("- ")]
        talk.told += [body for body in told if body != "root"]
        # For a session that comes later this one's questions and answers are lines.
        self.asked.append(body)
        self.asked.append(f"ok: {body}")

    async def cut(self) -> None:
        """Break the stream, and wait until another one is open."""
        ((gap,),) = self.stage.rows("select gap from connection")
        self.stage.cuts_stream()
        sql = "select state from connection where gap > ?"
        await self.stage.until(lambda: self.stage.rows(sql, gap) == [("live",)])

    async def live(self) -> None:
        """Wait until the stream is open again: what nobody hears is no question yet."""
        await self.stage.until(
            lambda: self.stage.rows("select state from connection") == [("live",)]
        )

    async def delete(self, kind: str, number: int) -> None:
        """Delete a line, or a question that was answered."""
        ids = list(self.lines) if kind == "post" else self.triggers
        if not ids:
            return
        message_id = ids[number % len(ids)]
        self.gone.add(self.lines.pop(message_id, ""))
        if kind == "trigger":
            self.triggers.remove(message_id)
            row = self.stage.sandbox.world.log.any(message_id)
            self.gone.add(getattr(row, "body", ""))
        self.stage.retracts(message_id)

    async def begin_anew(self) -> None:
        """Let a person ask for a new conversation."""
        if not self.triggers_of_talk:
            return
        await self.live()
        command = await self.stage.says("alice", "@hermes /new", thread=self.root)
        await self.stage.until_state(command, "bypassed")
        await self.stage.until(lambda: self.done_posted(command))
        self.begin(Conversation(starts_clean=True, since=["done: /new"]))

    def done_posted(self, command: str) -> bool:
        """Tell whether the reply to a command is in the room and in the rows."""
        sql = "select count(*) from outbox where turn_id = ? and state = 'delivered'"
        return self.stage.rows(sql, command) == [(1,)]

    async def lose(self) -> None:
        """Let the gateway replace the conversation behind our back."""
        kept = self.stage.rows("select token_kept_at from threads")
        if not self.triggers_of_talk or not kept or kept[0][0] is None:
            return
        (key,) = self.stage.sessions
        self.stage.sessions[key] = Session()
        history = [*self.talks[-1].before, *self.talks[-1].since, *self.asked]
        self.begin(Conversation(starts_clean=False, before=history))

    def begin(self, talk: Conversation) -> None:
        """A new conversation takes the place of the one before."""
        self.talks.append(talk)
        self.triggers_of_talk.clear()
        self.asked.clear()

    triggers_of_talk: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def check(self, talk: Conversation) -> None:
        """Compare what a conversation was told with what it should have been told."""
        told = Counter(talk.told)
        assert max(told.values(), default=1) == 1, f"told twice: {told.most_common(3)}"
        must = set(talk.since) - self.gone
        assert must <= set(talk.told), f"never told: {sorted(must - set(talk.told))}"
        may = set(talk.since) | set(talk.before) | self.gone
        assert set(talk.told) <= may, f"none of it: {sorted(set(talk.told) - may)}"


@given(steps=STEPS, window=st.sampled_from([2, 5, 20]))
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@pytest.mark.timeout(240)
async def test_what_is_told_is_what_the_session_lacks_each_once(
    steps: list[tuple[str, str, int]], window: int
) -> None:
    """S11, S13, S17: nothing skipped, nothing repeated, whatever happens in between."""
    with tempfile.TemporaryDirectory() as folder:
        limits = ContextLimits(thread_lines=window)
        async with colleague(Path(folder), policy=POLICY, context=limits) as stage:
            root = await stage.says("alice", "root")
            play = Play(stage, root, window)
            for step in steps:
                await play.step(*step)
            for _ in range(DRAINED_AFTER):
                await play.ask("alice")
                if stage.rows("select state from threads") == [("seeded",)]:
                    break

            for talk in play.talks[-1:]:
                play.check(talk)
