"""Over any order of events the agent is told what its session lacks: all of it, each once.

Played on the embedded server's real pages: posts of people, strangers and other programs under
the account, questions, also those that a gap hides, those that an edit makes and those that never
run, restarts, deaths, cut streams, edits, deletions, new, lost and forgotten conversations. What
should have been told is read off the server.
"""

import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_chatto.actors.sandbox.scripted_gateway import Session
from hermes_chatto.actors.sandbox.server.rows import Message
from hermes_chatto.actors.sandbox.stage import Colleague, colleague
from hermes_chatto.actors.sessions.policy import ContextLimits, FollowUps, Policy
from hermes_chatto.actors.sessions.ports import HandOver, TurnOrder

from .gaps import QUICK

POLICY = Policy(allowed_user_entries=("alice", "bob"), follow_ups=FollowUps.OFF)
DRAINED_AFTER = 80  # questions; more than any of the backlogs needs
APART_S = 0.01  # between two posts: times are kept in milliseconds

WHO = st.sampled_from(["bob", "carol", "hermes"])
PLACES = st.integers(0, 50)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("post"), WHO, st.integers(1, 4)),
        st.tuples(st.just("post"), WHO, st.integers(1, 14)),
        st.tuples(st.just("ask"), st.sampled_from(["alice", "bob"]), st.just(1)),
        st.tuples(st.just("ask"), st.sampled_from(["alice", "bob"]), st.just(1)),
        st.tuples(st.just("ask_unheard"), st.sampled_from(["stop", "die"]), st.integers(0, 9)),
        st.tuples(st.sampled_from(["edit", "edit_into_question"]), st.just(""), PLACES),
        st.tuples(st.just("delete"), st.sampled_from(["line", "question"]), PLACES),
        st.tuples(
            st.sampled_from(["restart", "die", "cut", "new", "lose", "forget", "not_taken"]),
            st.just(""),
            st.just(0),
        ),
    ),
    min_size=3,
    max_size=10,
)


@dataclass
class Talk:
    """One conversation of the agent: what it was told, and by which questions."""

    starts_after: str | None
    """The command that began it; None: its first question brings the newest lines along."""
    triggers: list[str] = field(default_factory=list)
    blocks: list[Sequence[tuple[str, bool]]] = field(default_factory=list)
    """Words of the lines of each block, and whether they were handed over ahead."""
    forgotten: int = 0
    """Blocks it had before nobody knew any more what it holds; their lines may come again."""


@dataclass
class Play:
    """One thread, or one group, and everything that happened in it."""

    stage: Colleague
    room: str
    root: str
    """Of the thread; empty in a direct conversation."""
    window: int
    talks: list[Talk] = field(default_factory=lambda: [Talk(None)])
    ids: list[str] = field(default_factory=list)
    """Posts that are neither questions nor the agent's answers."""
    words: dict[str, str] = field(default_factory=dict)
    """What each message says first, which nobody else says: a line is known by it."""
    commands: set[str] = field(default_factory=set)
    has_unanswered: bool = False
    number: int = 0

    @property
    def talk(self) -> Talk:
        """The present conversation."""
        return self.talks[-1]

    async def step(self, what: str, who: str, count: int) -> None:
        """Let one thing happen."""
        await self.live()
        match what:
            case "post":
                for _ in range(count):
                    self.post(who)
            case "ask":
                await self.ask(who)
            case "ask_unheard":
                await self.ask_unheard(who, count)
            case "edit" | "edit_into_question":
                await self.edit(count, is_question=what != "edit")
            case "delete":
                self.delete(who, count)
            case "not_taken":
                await self.ask_in_vain()
            case _:
                await self.upset(what)

    async def upset(self, what: str) -> None:
        """Let something go wrong, or begin anew."""
        happen: dict[str, Callable[[], Awaitable[None]]] = {
            "restart": self.restart,
            "die": self.die,
            "cut": self.cut,
            "new": self.begin_anew,
            "lose": self.lose,
            "forget": self.forget,
        }
        await happen[what]()

    # --- what people do -----------------------------------------------------------------------

    def post(self, who: str, body: str = "") -> str:
        """Let somebody post a line, without asking anything."""
        self.number += 1
        word = f"w{self.number}"
        self.stage.clock.ahead_s += APART_S
        message_id = self.stage.posts(who, f"{body}{word}", room=self.room, thread=self.root)
        self.words[message_id] = word
        if not body:
            self.ids.append(message_id)
        return message_id

    async def ask(self, who: str) -> None:
        """Let somebody ask, and note what the agent is told."""
        await self.asked(self.post(who, "@hermes "))

    async def asked(self, message_id: str) -> None:
        """Wait for the answer to a question, and note what it was told with."""
        await self.stage.until_state(message_id, "answered")
        self.talk.triggers.append(message_id)
        orders = self.stage.gateway.orders
        self.note(next(each for each in reversed(orders) if each.message_id == message_id))

    def note(self, order: TurnOrder) -> None:
        """Note a block, and see that it shows what each message says now."""
        block: list[tuple[str, bool]] = []
        is_ahead = False
        now = {self.words[row.id]: row.body for row in self.rows() if row.id in self.words}
        for line in (order.context or "").split("\n"):
            is_ahead = is_ahead or "still to come" in line
            body = line.partition(": ")[2]
            if line.startswith("- ") and body != "root":
                word = _word_of(body)
                assert now.get(word, body) == body, f"old words: {body}"
                block.append((word, is_ahead))
        assert sum(is_ahead for _, is_ahead in block) <= 5
        talk = self.talk
        if talk.starts_after is None and len(talk.triggers) == 1 and not talk.forgotten:
            newest = [_word_of(row.body) for row in self.before(order.message_id)][-self.window :]
            assert [word for word, _ in block] == newest, "not the newest of a beginning"
        talk.blocks.append(block)

    def before(self, message_id: str) -> list[Message]:
        """Return what is there before a message, the root and commands apart."""
        rows = self.rows()
        until = next(row.sequence for row in rows if row.id == message_id)
        return [row for row in rows if row.sequence < until and row.id not in self.commands]

    async def ask_unheard(self, way: str, count: int) -> None:
        """Let somebody ask while nobody listens, between the lines of others."""
        await (self.stage.stops() if way == "stop" else self.stage.dies())
        for _ in range(count // 2):
            self.post("carol")
        first = self.post("alice", "@hermes ")
        for _ in range(count):
            self.post("hermes")
        second = self.post("bob", "@hermes ") if count % 3 else None
        if count % 2:
            self.post("carol")
        await self.stage.starts()
        await self.asked(first)
        if second is not None:
            await self.asked(second)

    async def ask_in_vain(self) -> None:
        """Let somebody ask what the gateway does not take: a line then, told later."""
        self.stage.gateway.planned.append(HandOver.NOT_TAKEN)
        self.has_unanswered = True
        message_id = self.post("alice", "@hermes ")
        await self.stage.until_state(message_id, "failed")

    async def edit(self, number: int, *, is_question: bool) -> None:
        """Let Bob change one of his lines, or make a question of it."""
        author = self.stage.ids["bob"]
        his = [row.id for row in self.rows() if row.actor_id == author and row.id in self.ids]
        if not his:
            return
        message_id = his[number % len(his)]
        self.number += 1
        body = f"{self.words[message_id]} edited {self.number}"
        await self.stage.edits("bob", message_id, f"@hermes {body}" if is_question else body)
        if is_question:
            self.ids.remove(message_id)
            await self.asked(message_id)

    def delete(self, kind: str, number: int) -> None:
        """Delete a line, or a question that was answered."""
        there = {row.id for row in self.rows()}
        of_kind = self.ids if kind == "line" else self.talk.triggers
        ids = [message_id for message_id in of_kind if message_id in there]
        if ids:
            self.stage.retracts(ids[number % len(ids)])

    # --- what goes wrong ----------------------------------------------------------------------

    async def restart(self) -> None:
        """Stop the profile in order, and start it again."""
        await self.stage.stops()
        await self.stage.starts()

    async def die(self) -> None:
        """End the profile where it stands, and start it again."""
        await self.stage.dies()
        await self.stage.starts()

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

    async def begin_anew(self) -> None:
        """Let a person ask for a new conversation."""
        if not self.talk.triggers:
            return
        command = await self.stage.says("alice", "@hermes /new", room=self.room, thread=self.root)
        self.commands.add(command)
        await self.stage.until_state(command, "bypassed")
        sql = "select count(*) from outbox where turn_id = ? and state = 'delivered'"
        await self.stage.until(lambda: self.stage.rows(sql, command) == [(1,)])
        self.talks.append(Talk(command))

    async def lose(self) -> None:
        """Let the gateway replace the conversation behind our back."""
        kept = self.stage.rows("select token_kept_at from threads")
        if self.talk.triggers and kept and kept[0][0] is not None:
            (key,) = self.stage.sessions
            self.stage.sessions[key] = Session()
            self.talks.append(Talk(None))

    async def forget(self) -> None:
        """Lose the state file; the conversation itself goes on.

        Not where a question has no answer: without the file it would be answered now.
        """
        if not self.talk.triggers or self.has_unanswered:
            return
        await self.stage.stops()
        for file in self.stage.state_path.parent.glob("state.db*"):
            file.unlink()
        await self.stage.starts()
        self.talk.forgotten = len(self.talk.blocks)

    # --- what should have been told -----------------------------------------------------------

    def rows(self) -> list[Message]:
        """Return the messages that are there now, a root apart, oldest first."""
        log, ids = self.stage.sandbox.world.log, self.stage.ids.values()
        rows = [row for user_id in ids for row in log.messages_by(user_id)]
        there = [
            row
            for row in rows
            if (row.room.id, row.thread_root_id, row.is_deleted) == (self.room, self.root, False)
        ]
        return sorted(there, key=lambda row: row.sequence)

    def check(self) -> None:
        """Compare what the present conversation was told with what stands on the server."""
        talk = self.talk
        begins = talk.starts_after or talk.triggers[0]
        sequence = self.stage.sandbox.world.log.any(begins)
        assert sequence is not None
        agent = self.stage.agent_id
        own = {*talk.triggers, *self.commands}
        own |= {
            row.id
            for row in self.rows()
            if row.actor_id == agent and row.in_reply_to in talk.triggers
        }
        later = [row for row in self.rows() if row.sequence > sequence.sequence]
        lacked = [row for row in later if row.id not in own]
        told = [word for block in talk.blocks for word, _ in block]
        missing = [row.body for row in lacked if _word_of(row.body) not in told]
        assert not missing, f"never told: {missing}"
        answers = [row.body for row in later if row.id in own and row.actor_id == agent]
        assert not set(answers).intersection(told), "told its own answers"
        since = [word for block in talk.blocks[talk.forgotten :] for word, _ in block]
        twice = [word for word, count in Counter(since).items() if count > 1]
        assert not twice, f"told twice: {twice}"
        self.check_order(talk)

    def check_order(self, talk: Talk) -> None:
        """See that what was not handed over ahead came in the order of the server."""
        world = self.stage.sandbox.world
        everything = [
            row for user in self.stage.ids.values() for row in world.log.messages_by(user)
        ]
        place = {_word_of(row.body): row.sequence for row in everything}
        drained = [
            place[word]
            for block in talk.blocks[talk.forgotten :]
            for word, is_ahead in block
            if not is_ahead and word in place
        ]
        assert drained == sorted(drained), "out of order"


def _word_of(body: str) -> str:
    """Return the word by which a line is known; an answer is known by all it says."""
    words = body.removeprefix("@hermes ").split()
    return body if words[0] in {"ok:", "done:"} else words[0]


@given(
    steps=STEPS,
    window=st.sampled_from([1, 2, 5, 20]),
    page_rows=st.sampled_from([13, 23, 101]),
    is_thread=st.booleans(),
)
@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@pytest.mark.timeout(240)
async def test_what_is_told_is_what_the_session_lacks_each_once(
    steps: list[tuple[str, str, int]], window: int, page_rows: int, *, is_thread: bool
) -> None:
    """S11, S13, S17: nothing skipped, nothing repeated, whatever happens in between.

    In a thread, or in a direct conversation of several people.
    """
    with tempfile.TemporaryDirectory() as folder:
        context = ContextLimits(thread_lines=window, page_rows=page_rows)
        async with colleague(Path(folder), policy=POLICY, context=context, limits=QUICK) as stage:
            room, root = stage.rooms["R1"], ""
            if is_thread:
                root = await stage.says("alice", "root")
            else:
                room = await stage.opens_dm("alice", "bob", "carol")
            await play_all(Play(stage, room, root, window), steps)


async def play_all(play: Play, steps: Sequence[tuple[str, str, int]]) -> None:
    """Play, drain what is left, and compare."""
    for step in steps:
        await play.step(*step)
    for _ in range(DRAINED_AFTER):
        await play.ask("alice")
        if play.stage.rows("select state from threads") == [("seeded",)]:
            break

    play.check()
