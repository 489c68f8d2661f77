"""Over any order of events every turn runs alone, with its newest words, to one end.

Played on the embedded server: posts, edits by authors and moderators, deletions, commands, runs
that answer, ask back, fall silent, fail, are dropped or do not look for their stop, deaths and
restarts of the profile, runs the gateway resumes, broken streams; waiting for quiet between them,
or not.
"""

import os
import re
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from hermes_chatto.actors.sandbox.scripted_gateway import ScriptedGateway
from hermes_chatto.actors.sandbox.stage import Colleague, Script, colleague
from hermes_chatto.actors.sessions.policy import FollowUps, Policy, Revisions, Signs
from hermes_chatto.actors.sessions.ports import HandOver, Outgoing, Question, TurnOrder
from hermes_chatto.actors.sessions.services import Limits
from hermes_chatto.actors.sessions.signage import sign_of

T = TypeVar("T")

POLICY = Policy(
    allowed_user_entries=("alice", "bob"),
    follow_ups=FollowUps.OFF,
    revisions=Revisions(pause_s=0.02),
    signs=Signs(waiting="hourglass"),
)
LIMITS = Limits(
    start_within_s=0.15,
    editor_wait_s=0.05,
    reconnect_first_s=0.01,
    reconnect_longest_s=0.05,
    repair_wait_s=0.01,
    question_look_s=0.01,
)
NOTICED_S = 0.5
"""Longest wait for what may never be noticed: a message deleted before it was read, say."""
QUIET_S = 0.03
"""Nothing was written for so long: what came is dealt with."""
SETTLED_S = 8.0
"""Longest wait for something that has to come."""

WORD = re.compile(r"\bw\d+\b")
EDITS = ["counts", "counts", "counts", "unmentioned", "command", "moderator"]
ENDS = ["answer", "answer", "chatty", "silent", "fail", "approval", "choice"]
COMMANDS = ["/stop", "/stop", "/new", "/new", "/approve", "/deny all"]
EXAMPLES = int(os.environ.get("TURN_EXAMPLES", "10"))
PEOPLE = st.sampled_from(["alice", "bob"])
PICKS = st.integers(0, 20)
SETTLES = st.booleans()


@dataclass
class Run:
    """A run of the agent that waits for the word to end."""

    order: TurnOrder
    gateway: ScriptedGateway
    is_stubborn: bool
    how: str = "answer"
    go: anyio.Event = field(default_factory=anyio.Event)
    is_stopped: bool = False


@dataclass
class Note:
    """What is known of one message that asks something."""

    author: str
    root: str
    words: list[str]
    """Words of its author that count, oldest first."""
    settled: int = 0
    """Index of the words that everybody knows of by now."""
    is_gone: bool = False
    """Whether its deletion is known to everybody."""


@dataclass(frozen=True)
class Told:
    """Something that the server told of, and the profile may not have heard yet."""

    message_id: str
    what: str
    """`post`, `edit` or `deletion`."""
    word: str | None
    """What an edit that counts brought."""
    since: int
    """Number of the last step that was written before it."""


class Play:
    """The stage, the agent, and what was said; lives in the event loop."""

    def __init__(self, stage: Colleague) -> None:
        self.stage = stage
        self.stage.script = Script(agent=self.agent, policy=POLICY, limits=LIMITS)
        self.runs: list[Run] = []
        self.notes: dict[str, Note] = {}
        self.roots: list[str] = []
        self.numbers = count(1)
        self.stubborn = False
        self.resumed: list[TurnOrder] = []
        self.is_free = False
        self.active: Counter[tuple[int, str]] = Counter()
        self.most_at_once = 0
        self.pending: list[Told] = []
        """What is not known to everybody yet."""
        self.checked: Counter[int] = Counter()
        self.gateways: list[ScriptedGateway] = []

    async def begin(self) -> None:
        """Start, with two threads and nothing asked."""
        await self.stage.starts()
        self.gateways.append(self.stage.gateway)
        self.roots = [await self.stage.says("alice", "root") for _ in range(2)]

    # --- the agent ----------------------------------------------------------------------------

    async def agent(self, order: TurnOrder) -> str | None:
        """Wait for the word, and end as it says."""
        gateway = self.stage.gateway
        run = Run(order, gateway, self.stubborn)
        key = (id(gateway), gateway.session_key(order.place))
        self.active[key] += 1
        self.most_at_once = max(self.most_at_once, self.active[key])
        self.runs.append(run)
        try:
            return await self.act(run)
        finally:
            self.active[key] -= 1
            self.runs.remove(run)

    async def act(self, run: Run) -> str | None:
        """Do it; a stubborn one goes on after its stop, and says what it has to say."""
        with anyio.CancelScope(shield=run.is_stubborn):
            if not self.is_free:
                await run.go.wait()
        if run.how == "fail":
            message = "planned"
            raise ValueError(message)
        if run.how == "silent":
            return None
        if run.how in {"approval", "choice"}:
            await run.gateway.ask(run.order, f"{run.how}?", Question(run.how))
        if run.how == "chatty":
            place = run.order.place
            step = Outgoing(place.room_id, place.thread_root_id, "hm", is_final=False)
            await run.gateway.desk.deliver(step)
        return f"ok {run.order.message_id}"

    # --- what happens -------------------------------------------------------------------------

    def word(self) -> str:
        """Return a word that was never said."""
        return f"w{next(self.numbers)}"

    async def ask(self, who: str, where: int) -> None:
        """Let somebody ask in one of the threads, or in the room."""
        word = self.word()
        root = self.roots[where] if where < len(self.roots) else None
        id_ = await self.stage.says(who, f"@hermes {word}", thread=root)
        self.notes[id_] = Note(who, root or id_, [word])
        self.tell(id_, "post")

    async def command(self, who: str, where: int, name: str) -> None:
        """Let somebody give a command in one of the threads that were asked in."""
        if where < len(self.roots):
            root = self.roots[where]
        else:
            root = picked([note.root for note in self.notes.values()], where) or self.roots[0]
        self.tell(await self.stage.says(who, f"@hermes {name}", thread=root), "post")

    async def edit(self, number: int, how: str) -> None:
        """Let a question be edited: so that it counts, or so that it does not."""
        id_ = picked(list(self.notes), number)
        if id_ is None or self.is_deleted(id_):
            return
        note, word = self.notes[id_], self.word()
        match how:
            case "counts":
                await self.stage.edits(note.author, id_, f"@hermes {word}")
                note.words.append(word)
                self.tell(id_, "edit", word)
                return
            case "unmentioned":
                await self.stage.edits(note.author, id_, word)
            case "command":
                await self.stage.edits(note.author, id_, f"@hermes /{word}")
            case _:
                other = "bob" if note.author == "alice" else "alice"
                await self.stage.edits(other, id_, f"@hermes {word}")
        self.tell(id_, "edit")

    async def delete(self, number: int) -> None:
        """Delete a question."""
        id_ = picked(list(self.notes), number)
        if id_ is not None and not self.is_deleted(id_):
            self.stage.retracts(id_)
            self.tell(id_, "deletion")

    async def finish(self, number: int, how: str) -> None:
        """Let one run end."""
        run = picked([run for run in self.runs if not run.go.is_set()], number)
        if run is not None:
            run.how = how
            run.go.set()

    async def give_up(self) -> None:
        """Let the gateway wait for no answer any more."""
        for key in list(self.stage.sessions):
            for gateway in self.gateways:
                gateway.give_up(key)

    async def drop(self, how: HandOver) -> None:
        """Let the gateway not run the next turn it is handed."""
        self.stage.gateway.planned = [how]

    async def cut(self) -> None:
        """Break the stream."""
        ((gap,),) = self.stage.rows("select gap from connection")
        self.stage.cuts_stream()
        sql = "select state from connection where gap > ?"
        await self.stage.until(lambda: self.stage.rows(sql, gap) == [("live",)], SETTLED_S)

    async def restart(self, *, dies: bool, resumes: bool, opens: bool) -> None:
        """End the profile, and start it again; the gateway may resume what it ran."""
        cut_short = list(self.runs)
        if dies:
            await self.stage.dies()
        else:
            await self.stage.stops()
            self.stage.gateway.dies()
        for run in cut_short:
            run.go.set()
        await self.give_up()
        await self.stage.until(lambda: not self.runs)
        script = self.stage.script
        await self.stage.starts(replace(script, is_gate_open=False))
        self.stage.script = script
        self.gateways.append(self.stage.gateway)
        self.resumed = [run.order for run in cut_short] if resumes else []
        await self.stage.until(self.is_live, SETTLED_S)
        if opens:
            await self.open()

    async def open(self) -> None:
        """Open the gateway's gate, after it resumed what it ran before."""
        for order in self.resumed:
            self.stage.gateway.resume(self.stage.gateway.session_key(order.place), order)
        self.resumed = []
        self.stage.gateway.open_gate()

    # --- what must hold -----------------------------------------------------------------------

    async def settle(self) -> None:
        """Wait until nothing more is written, then look at everything."""
        with anyio.move_on_after(NOTICED_S):
            while not all(map(self.is_noticed, self.pending)):  # noqa: ASYNC110 - rows tell nobody
                await anyio.sleep(0.01)
        with anyio.move_on_after(SETTLED_S) as limit:
            await self.quiet()
        assert not limit.cancelled_caught, f"no end: {self.newest_steps()}"
        self.check()
        self.check_questions()
        for told in filter(self.is_noticed, self.pending):
            note = self.notes.get(told.message_id)
            if note is not None and told.what == "deletion":
                note.is_gone = True
            elif note is not None and told.word in note.words:
                note.settled = max(note.settled, note.words.index(told.word))
        self.pending.clear()
        await self.check_signs()

    def is_noticed(self, told: Told) -> bool:
        """Tell whether the rows show that something came to the profile's ears."""
        sql = "select body from turns where message_id = ?"
        row = self.stage.rows(sql, told.message_id)
        if told.what == "post":
            return bool(row)
        events = "('retract')" if told.what == "deletion" else "('edit', 'ignore_edit')"
        sql = (
            f"select 1 from transitions where message_id = ? and event in {events} "  # noqa: S608
            "and seq > ?"
        )
        in_words = told.word is not None and told.word in str(row[0][0] if row else "")
        return in_words or bool(self.stage.rows(sql, told.message_id, told.since))

    def tell(self, message_id: str, what: str, word: str | None = None) -> None:
        """Remember what the profile has to hear of."""
        ((since,),) = self.stage.rows("select coalesce(max(seq), 0) from transitions")
        self.pending.append(Told(message_id, what, word, int(str(since))))

    async def quiet(self) -> None:
        """Wait until nothing more is written."""
        before, quiet = -1, 0
        while quiet < 3:
            await anyio.sleep(QUIET_S / 3)
            ((now,),) = self.stage.rows("select coalesce(max(seq), 0) from transitions")
            quiet = quiet + 1 if now == before and self.is_live() else 0
            before = int(str(now))

    def newest_steps(self) -> list[tuple[object, ...]]:
        """Return what was written last."""
        return self.stage.rows(
            "select message_id, event, from_state, to_state, reason from transitions "
            "order by seq desc limit 12"
        )

    def check(self) -> None:
        """Look at what must hold at any time."""
        assert self.most_at_once <= 1, "two runs on a key"
        assert all(gateway.most_at_once <= 1 for gateway in self.gateways)
        assert not self.stage.rows("select 1 from transitions where to_state = 'folded'")
        replies = Counter(answer.in_reply_to for answer in self.stage.answers())
        bodies = Counter(a.body for a in self.stage.answers() if a.body.startswith("ok "))
        assert all(replies[id_] <= 1 for id_ in self.notes), f"answered twice: {replies}"
        assert max(bodies.values(), default=1) == 1, f"answered twice: {bodies.most_common(2)}"
        for gateway in self.gateways:
            new = gateway.orders[self.checked[id(gateway)] :]
            self.checked[id(gateway)] = len(gateway.orders)
            for order in new:
                self.check_order(order)

    def check_questions(self) -> None:
        """Look whether each question is open as long as its run may wait, and whose answer counts.

        Call it when everything is quiet.
        """
        sql = (
            "select t.state, p.state from prompts as p "
            "join turns as t on t.message_id = p.turn_id where p.state in ('posting', 'open')"
        )
        may_ask = {"handed", "processing", "folded"}
        wrong = [states for states in self.stage.rows(sql) if states[0] not in may_ask]
        assert not wrong, f"asked for a run that waits no more: {wrong}"
        sql = (
            "select 1 from prompts as p join turns as t on t.message_id = p.turn_id "
            "where p.settled_by is not null and p.settled_by <> t.author_id"
        )
        assert not self.stage.rows(sql), "settled by somebody else"

    def check_order(self, order: TurnOrder) -> None:
        """Compare what the agent was told with what people last said."""
        asked = self.notes[order.message_id]
        assert not asked.is_gone, f"deleted before: {order.text}"
        (word,) = WORD.findall(order.text)
        assert word in asked.words, f"not its author's words: {order.text}"
        assert asked.words.index(word) >= asked.settled, f"edited before: {order.text}"
        told = set(WORD.findall(f"{order.context or ''} {order.reply_to_text or ''}"))
        for note in self.notes.values():
            stale = note.words if note.is_gone else note.words[: note.settled]
            assert told.isdisjoint(stale), f"told of what was edited or deleted: {order}"

    async def check_signs(self) -> None:
        """Wait until the signs are what the rows ask for."""
        wrong: dict[str, object] = {}
        with anyio.move_on_after(2.0):
            while wrong := self.wrong_signs():  # noqa: ASYNC110 - nor does the server
                await anyio.sleep(0.02)
        assert not wrong, f"signs that do not fit: {wrong}"

    def wrong_signs(self) -> dict[str, object]:
        """Return the messages whose sign does not fit."""
        rows = self.stage.rows("select message_id, state, reason from turns")
        return {
            str(id_): (state, reason, shown)
            for id_, state, reason in rows
            if not self.is_deleted(str(id_))
            and (shown := self.stage.reactions(str(id_)))
            != [
                sign
                for sign in [sign_of(str(state), _text(reason), POLICY.signs)]
                if sign is not None
            ]
        }

    async def end(self) -> None:
        """Let everything run to its end, and look."""
        self.is_free = True
        self.stage.gateway.planned.clear()
        await self.open()
        for run in self.runs:
            run.go.set()
        await self.give_up()
        await self.settle()
        await self.give_up()  # what was asked meanwhile
        with anyio.move_on_after(SETTLED_S):
            while self.stage.rows("select 1 from open_turns"):  # noqa: ASYNC110 - rows again
                await anyio.sleep(0.02)
        left = self.stage.rows(
            "select message_id, state, reason from turns where closed_at is null"
        )
        assert left == [], f"nobody moves them: {left}"
        asked = self.stage.rows("select 1 from prompts where state in ('posting', 'open')")
        assert not asked, "nobody moves a question"
        await self.settle()
        assert not self.stage.gateway.crashes

    # --- looking ------------------------------------------------------------------------------

    def is_live(self) -> bool:
        return self.stage.rows("select state from connection") == [("live",)]

    def is_deleted(self, id_: str) -> bool:
        return bool(getattr(self.stage.sandbox.world.log.any(id_), "is_deleted", False))


def picked(things: Sequence[T], number: int) -> T | None:
    """Return one of some things; None: there is none."""
    return things[number % len(things)] if things else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


class TurnsTogether(RuleBasedStateMachine):
    """Drive the stage from the outside; each rule may wait for quiet, or leave a race."""

    def __init__(self) -> None:
        super().__init__()
        self.exit = ExitStack()
        folder = self.exit.enter_context(tempfile.TemporaryDirectory())
        self.portal = self.exit.enter_context(start_blocking_portal())
        opened = colleague(Path(folder), is_started=False)
        self.play = Play(self.exit.enter_context(self.portal.wrap_async_context_manager(opened)))
        self.portal.call(self.play.begin)

    def do(self, step: Callable[[], Awaitable[None]], *, settles: bool = True) -> None:
        self.portal.call(step)
        if settles:
            self.portal.call(self.play.settle)

    @rule(who=PEOPLE, where=st.integers(0, 2), settles=SETTLES)
    def somebody_asks(self, who: str, where: int, *, settles: bool) -> None:
        self.do(partial(self.play.ask, who, where), settles=settles)

    @rule(who=PEOPLE, where=st.integers(0, 1))
    def somebody_asks_in_a_thread(self, who: str, where: int) -> None:
        self.do(partial(self.play.ask, who, where))

    @rule(who=PEOPLE, where=PICKS, name=st.sampled_from(COMMANDS), settles=SETTLES)
    def somebody_commands(self, who: str, where: int, name: str, *, settles: bool) -> None:
        self.do(partial(self.play.command, who, where, name), settles=settles)

    @rule(number=PICKS, how=st.sampled_from(EDITS), settles=SETTLES)
    def a_question_is_edited(self, number: int, how: str, *, settles: bool) -> None:
        self.do(partial(self.play.edit, number, how), settles=settles)

    @rule(number=PICKS, settles=SETTLES)
    def a_question_is_deleted(self, number: int, *, settles: bool) -> None:
        self.do(partial(self.play.delete, number), settles=settles)

    @rule(number=PICKS, how=st.sampled_from(ENDS), settles=SETTLES)
    def a_run_ends(self, number: int, how: str, *, settles: bool) -> None:
        self.do(partial(self.play.finish, number, how), settles=settles)

    @rule(how=st.sampled_from([HandOver.NOT_TAKEN, HandOver.TAKEN]))
    def the_next_turn_will_be_dropped(self, how: HandOver) -> None:
        self.do(partial(self.play.drop, how), settles=False)

    @rule(is_stubborn=st.booleans())
    def runs_from_now_on_do_or_do_not_look_for_their_stop(self, *, is_stubborn: bool) -> None:
        self.play.stubborn = is_stubborn

    @rule(settles=SETTLES)
    def the_stream_breaks(self, *, settles: bool) -> None:
        self.do(self.play.cut, settles=settles)

    @rule(dies=st.booleans(), resumes=st.booleans(), opens=st.booleans(), settles=SETTLES)
    def the_profile_starts_again(
        self, *, dies: bool, resumes: bool, opens: bool, settles: bool
    ) -> None:
        step = partial(self.play.restart, dies=dies, resumes=resumes, opens=opens)
        self.do(step, settles=settles)

    @rule(settles=SETTLES)
    def the_gateway_takes_turns(self, *, settles: bool) -> None:
        self.do(self.play.open, settles=settles)

    @rule(settles=SETTLES)
    def the_gateway_waits_for_no_answer_any_more(self, *, settles: bool) -> None:
        self.do(self.play.give_up, settles=settles)

    @rule()
    def time_passes(self) -> None:
        self.do(partial(anyio.sleep, LIMITS.start_within_s))

    def teardown(self) -> None:
        with self.exit:
            self.portal.call(self.play.end)


@pytest.mark.timeout(300)
def test_turns_keep_their_promises_whatever_happens() -> None:
    """Never two runs on a key, two answers, a row nobody moves, old words, or a wrong sign."""
    run_state_machine_as_test(
        TurnsTogether,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=14,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
