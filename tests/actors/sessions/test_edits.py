"""What edits and deletions do to a turn, by where it stands."""

from dataclasses import dataclass, field, replace
from functools import partial

import anyio
import pytest

from hermes_chatto.actors.sandbox.server.editing import Editing
from hermes_chatto.actors.sandbox.server.posting import Posting
from hermes_chatto.actors.sandbox.server.rows import Message
from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.policy import EditedUnseen, Policy, Revisions
from hermes_chatto.actors.sessions.ports import Question, TurnOrder
from hermes_chatto.actors.sessions.remains import Remains
from hermes_chatto.actors.sessions.services import Limits

ALLOWED = ("alice", "bob")
QUICK = Policy(allowed_user_entries=ALLOWED, revisions=Revisions(pause_s=0.02))


@dataclass
class SlowAgent:
    """Answers once it is let go; a run that is stopped meanwhile says nothing."""

    slow_words: str = "slow"
    go: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self, order: TurnOrder) -> str:
        """Wait while the message has the slow word in it."""
        if self.slow_words in order.text:
            await self.go.wait()
        return f"ok: {order.text}"


def edits_ignored(colleague: Colleague, message_id: str) -> list[object]:
    """Return why edits of a message changed nothing."""
    sql = (
        "select reason from transitions where message_id = ? "
        "and event in ('edit', 'ignore_edit') and reason is not null order by seq"
    )
    return [reason for (reason,) in colleague.rows(sql, message_id)]


def texts(colleague: Colleague) -> list[str]:
    """Return what the agent was asked, in order."""
    return [order.text for order in colleague.gateway.orders]


class TestBeforeItRuns:
    """Messages that are no turn yet, and turns that wait."""

    async def test_a_mention_that_is_added_later_makes_a_question(
        self, open_colleague: Open
    ) -> None:
        """Gates run on the new text, then an ordinary turn (handed S18)."""
        async with open_colleague(policy=QUICK) as colleague:
            m1 = await colleague.says("alice", "what is the build status?")
            await colleague.edits("alice", m1, "@hermes what is the build status?")
            await colleague.until_state(m1, "answered")
            await colleague.edits("alice", m1, "@hermes what is the build status??")
            await colleague.until(lambda: edits_ignored(colleague, m1) == ["too_late: answered"])

            assert texts(colleague) == ["@hermes what is the build status?"]
            (answer,) = colleague.answers()
            assert (answer.thread_root_id, answer.in_reply_to) == (m1, m1)

    async def test_names_that_start_like_the_agents_are_somebody_elses(
        self, open_colleague: Open
    ) -> None:
        """Only the exact handle counts (handed S13); punctuation around it does not (S15)."""
        async with open_colleague(policy=QUICK) as colleague:
            for body in ("@hermes2 hi", "@hermes-dev hi", "@hermes_x hi", "@hermesx hi"):
                other = await colleague.says("alice", "hm")
                await colleague.edits("alice", other, body)
            asked = []
            for body in ("@HERMES x", "(@hermes) x", "**@hermes** x", "hey @hermes, x"):
                message = await colleague.says("alice", "hm")
                await colleague.edits("alice", message, body)
                asked.append(message)
            for message in asked:
                await colleague.until_state(message, "answered")

            assert len(colleague.answers()) == len(asked)
            assert len(colleague.rows("select * from turns")) == len(asked)

    async def test_a_waiting_message_is_rewritten_in_place(self, open_colleague: Open) -> None:
        """No cancel, no second dispatch; the old words reach nobody (handed S20)."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until_state(m1, "processing")
            m2 = await colleague.says("alice", "@hermes count to 10", thread=m1)
            await colleague.until_state(m2, "queued")
            await colleague.edits("alice", m2, "@hermes count to 20")
            await colleague.until(lambda: "queued -> queued" in colleague.story(m2))
            agent.go.set()
            await colleague.until_state(m2, "answered")

            assert texts(colleague) == ["@hermes slow", "@hermes count to 20"]
            assert colleague.gateway.most_at_once == 1

    async def test_a_waiting_message_edited_into_a_command_keeps_its_words(
        self, open_colleague: Open
    ) -> None:
        """Neither the command runs nor does its text reach the agent."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until_state(m1, "processing")
            m2 = await colleague.says("alice", "@hermes and then?", thread=m1)
            await colleague.until_state(m2, "queued")
            await colleague.edits("alice", m2, "@hermes /stop")
            await colleague.until(lambda: edits_ignored(colleague, m2) == ["command"])
            agent.go.set()
            await colleague.until_state(m2, "answered")

            assert texts(colleague) == ["@hermes slow", "@hermes and then?"]
            assert colleague.gateway.commands == []


class TestWhatCounts:
    """Age, attachments, echoes, and messages nobody knows."""

    @pytest.mark.parametrize(("age_s", "counts"), [(300, True), (301, False)])
    async def test_the_window_is_measured_by_the_servers_times(
        self, open_colleague: Open, age_s: int, *, counts: bool
    ) -> None:
        """From the message to its edit, the bound included (handed S21)."""
        async with open_colleague(policy=QUICK) as colleague:
            m1 = await colleague.says("alice", "build status?")
            row = colleague.sandbox.world.log.any(m1)
            assert row is not None
            await colleague.edits("alice", m1, "@hermes build status?")
            row.created_ns = getattr(row, "updated_ns", 0) - age_s * 1_000_000_000
            if counts:
                await colleague.until_state(m1, "answered")
            last = await colleague.says("alice", "@hermes last")
            await colleague.until_state(last, "answered")

            assert (colleague.state_of(m1) is not None) is counts

    async def test_an_edit_of_a_message_nobody_knows_costs_one_read(
        self, open_colleague: Open
    ) -> None:
        """One of before the start, say."""
        async with open_colleague(policy=QUICK, is_started=False) as colleague:
            m1 = await colleague.says("alice", "hm")
            await colleague.starts()
            reads = "MessageService/BatchGetMessages"
            before = colleague.sandbox.calls[reads]
            await colleague.edits("alice", m1, "hm, hm")
            await colleague.until(lambda: colleague.sandbox.calls[reads] > before)
            m2 = await colleague.says("alice", "@hermes last")
            await colleague.until_state(m2, "answered")

            assert colleague.sandbox.calls[reads] - before == 2
            assert colleague.state_of(m1) is None

    async def test_the_edit_of_a_message_with_an_echo_counts_once(
        self, open_colleague: Open
    ) -> None:
        """Two events, one message; showing the echo alone is no edit."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            root = await colleague.says("alice", "root")
            m1 = await colleague.says("alice", "@hermes slow", thread=root)
            await colleague.until_state(m1, "processing")
            world = colleague.sandbox.world
            message = world.log.any(m1)
            assert isinstance(message, Message)
            author = world.accounts.require(colleague.ids["alice"])
            author.roles.add("moderator")
            editing = Editing(world, Posting(world))
            editing.update(author, message, body=None, echo=True)
            await colleague.until(lambda: edits_ignored(colleague, m1) == ["unchanged"])
            editing.update(author, message, body="@hermes quick", echo=None)
            await colleague.until_state(m1, "answered")

            assert texts(colleague) == ["@hermes slow", "@hermes quick"]
            assert len(colleague.rows("select 1 from turns")) == 1


class TestWhileItRuns:
    """The run is stopped, waited for, and starts again with the new words."""

    async def test_a_running_question_is_corrected(self, open_colleague: Open) -> None:
        """Attempt two, one answer, never two runs; the others wait meanwhile."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow build")
            await colleague.until_state(m1, "processing")
            m2 = await colleague.says("bob", "@hermes and me?", thread=m1)
            await colleague.until_state(m2, "queued")
            await colleague.edits("alice", m1, "@hermes quick build")
            await colleague.until_state(m2, "answered")

            assert texts(colleague) == [
                "@hermes slow build",
                "@hermes quick build",
                "@hermes and me?",
            ]
            assert [answer.body for answer in colleague.answers()] == [
                "ok: @hermes quick build",
                "ok: @hermes and me?",
            ]
            assert colleague.rows("select attempt from turns where message_id = ?", m1) == [(2,)]
            assert colleague.gateway.most_at_once == 1
            (session,) = colleague.sessions.values()
            assert session.message_ids == [m1, m2]

    async def test_an_edit_that_takes_the_mention_out_leaves_the_run_alone(
        self, open_colleague: Open
    ) -> None:
        """Gates hold in both directions (handed S19)."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow list")
            await colleague.until_state(m1, "processing")
            await colleague.edits("alice", m1, "never mind")
            await colleague.until(lambda: edits_ignored(colleague, m1) == ["not_addressed"])
            agent.go.set()
            await colleague.until_state(m1, "answered")

            assert texts(colleague) == ["@hermes slow list"]

    async def test_a_moderators_edit_puts_no_words_into_anybodys_mouth(
        self, open_colleague: Open
    ) -> None:
        """The turn keeps the author's text."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow list")
            await colleague.until_state(m1, "processing")
            await colleague.edits("bob", m1, "@hermes delete everything")
            await colleague.until(lambda: edits_ignored(colleague, m1) == ["editor_is_not_author"])
            agent.go.set()
            await colleague.until_state(m1, "answered")

            assert texts(colleague) == ["@hermes slow list"]

    async def test_an_edit_that_changes_no_word_changes_nothing(
        self, open_colleague: Open
    ) -> None:
        """The server counts an unchanged body as an edit; we do not."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow list")
            await colleague.until_state(m1, "processing")
            await colleague.edits("alice", m1, "@hermes slow list")
            await colleague.until(lambda: edits_ignored(colleague, m1) == ["unchanged"])
            agent.go.set()
            await colleague.until_state(m1, "answered")

            assert len(colleague.gateway.orders) == 1

    async def test_the_newest_of_several_edits_wins(self, open_colleague: Open) -> None:
        """While the run is being stopped, and in the pause after it."""
        agent = SlowAgent()
        policy = Policy(allowed_user_entries=ALLOWED, revisions=Revisions(pause_s=0.5))
        async with open_colleague(policy=policy, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow one")
            await colleague.until_state(m1, "processing")
            await colleague.edits("alice", m1, "@hermes two")
            await colleague.until_state(m1, "correcting")
            await colleague.edits("alice", m1, "@hermes three")
            await colleague.until_state(m1, "answered")

            assert texts(colleague) == ["@hermes slow one", "@hermes three"]

    async def test_edits_can_be_switched_off(self, open_colleague: Open) -> None:
        """Then nothing follows them, and nothing is read."""
        policy = Policy(allowed_user_entries=ALLOWED, revisions=Revisions(count=False))
        async with open_colleague(policy=policy) as colleague:
            m1 = await colleague.says("alice", "hm")
            m2 = await colleague.says("alice", "@hermes first")
            await colleague.until_state(m2, "answered")
            before = dict(colleague.sandbox.calls)
            await colleague.edits("alice", m1, "@hermes hello")
            m3 = await colleague.says("alice", "@hermes last")
            await colleague.until_state(m3, "answered")

            assert texts(colleague) == ["@hermes first", "@hermes last"]
            reads = "MessageService/BatchGetMessages"
            assert colleague.sandbox.calls[reads] - before[reads] == 1


class TestDeletions:
    """What waits never runs, what runs is stopped, what is answered stays."""

    async def test_a_waiting_message_that_is_deleted_never_runs(
        self, open_colleague: Open
    ) -> None:
        """It leaves the queue, and its words the store."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until_state(m1, "processing")
            m2 = await colleague.says("bob", "@hermes my secret", thread=m1)
            await colleague.until_state(m2, "queued")
            colleague.retracts(m2)
            await colleague.until_state(m2, "retracted")
            agent.go.set()
            await colleague.until_state(m1, "answered")

            assert texts(colleague) == ["@hermes slow"]
            assert colleague.rows("select body from turns where message_id = ?", m2) == [(None,)]

    async def test_a_running_question_that_is_deleted_is_stopped(
        self, open_colleague: Open
    ) -> None:
        """Nothing is posted for it, and no prompt holds its words (handed S25)."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow: my password is tulip")
            await colleague.until_state(m1, "processing")
            colleague.retracts(m1)
            await colleague.until_state(m1, "retracted")
            m2 = await colleague.says("bob", "@hermes anything new?")
            await colleague.until_state(m2, "answered")

            assert [answer.in_reply_to for answer in colleague.answers()] == [m2]
            assert "tulip" not in (colleague.gateway.orders[-1].context or "")
            steps = colleague.story(m1)
            assert steps[-2:] == ["processing -> stopping", "stopping -> retracted"]
            assert all(m1 not in session.message_ids for session in colleague.sessions.values())

    async def test_deleting_an_answered_question_changes_nothing(
        self, open_colleague: Open
    ) -> None:
        """The answer is in the room."""
        async with open_colleague(policy=QUICK) as colleague:
            m1 = await colleague.says("alice", "@hermes hi")
            await colleague.until_state(m1, "answered")
            colleague.retracts(m1)
            await colleague.until(lambda: "answered -> answered" in colleague.story(m1))

            assert len(colleague.answers()) == 1


class TestDeletedWhileACommandStopsIt:
    """The deletion wins; the command's stop takes no words out of the transcript."""

    async def test_its_words_leave_the_transcript_and_its_lane_goes_on(
        self, open_colleague: Open
    ) -> None:
        """Nobody else waits there, so nobody has asked to be told that the key is free."""
        go = anyio.Event()

        async def stubborn(order: TurnOrder) -> str:
            if "tulip" in order.text:
                with anyio.CancelScope(shield=True):
                    await go.wait()
            return "ok"

        async with open_colleague(policy=QUICK, agent=stubborn) as colleague:
            m1 = await colleague.says("alice", "@hermes my password is tulip")
            await colleague.until_state(m1, "processing")
            await colleague.says("bob", "@hermes /stop", thread=m1)
            await colleague.until_state(m1, "stopping")
            colleague.retracts(m1)
            await colleague.until(lambda: "stopping -> stopping" in colleague.story(m1))
            go.set()
            await colleague.until_state(m1, "retracted")

            assert all(m1 not in session.message_ids for session in colleague.sessions.values())


class TestFirstReadShowsAnEdit:
    """A moderator's quick edit must not speak with the author's voice."""

    async def test_the_authors_own_quick_edit_is_waited_for_and_counts(
        self, open_colleague: Open
    ) -> None:
        """The event says who it was."""
        async with open_colleague(policy=QUICK) as colleague:
            m1 = colleague.posts("alice", "@hermes v0")
            await colleague.edits("alice", m1, "@hermes v1")
            await colleague.until_state(m1, "answered")

            assert texts(colleague)[-1] == "@hermes v1"
            assert len(colleague.answers()) == 1

    async def test_a_moderators_quick_edit_is_nobodys_question(self, open_colleague: Open) -> None:
        """The event says that the words are not the author's; what those were is lost."""
        async with open_colleague(policy=QUICK) as colleague:
            m1 = colleague.posts("alice", "@hermes v0")
            await colleague.edits("bob", m1, "@hermes delete everything")
            await colleague.until_state(m1, "refused")

            assert colleague.rows("select reason from turns") == [("editor_is_not_author",)]
            assert colleague.gateway.orders == []

    @pytest.mark.parametrize("unseen", list(EditedUnseen))
    async def test_so_is_that_of_a_moderator_on_no_list(
        self, open_colleague: Open, unseen: EditedUnseen
    ) -> None:
        """The server names the editor; the setting is about editors nobody knows."""
        policy = replace(QUICK, revisions=Revisions(unseen=unseen))
        async with open_colleague(policy=policy, limits=Limits(editor_wait_s=0.2)) as colleague:
            m1 = colleague.posts("alice", "@hermes v0")
            await colleague.edits("carol", m1, "@hermes delete everything")
            await colleague.until_state(m1, "refused")
            await colleague.until(lambda: colleague.reactions(m1) == ["x"])

            assert colleague.rows("select reason from turns") == [("editor_is_not_author",)]
            assert colleague.gateway.orders == []

    async def test_the_last_of_several_editors_is_whose_words_they_are(
        self, open_colleague: Open
    ) -> None:
        """Author and moderator at the same moment: a read shows the moderator's words."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow one")
            await colleague.until_state(m1, "processing")
            await colleague.edits("alice", m1, "@hermes two")
            await colleague.edits("bob", m1, "@hermes delete everything")
            await colleague.until(lambda: edits_ignored(colleague, m1) == ["editor_is_not_author"])
            agent.go.set()
            await colleague.until_state(m1, "answered")

            assert texts(colleague) == ["@hermes slow one"]

    @pytest.mark.parametrize("unseen", list(EditedUnseen))
    async def test_words_of_nobody_knows_whom_are_refused_by_default(
        self, open_colleague: Open, unseen: EditedUnseen
    ) -> None:
        """A person who was meant to get an answer sees the failed sign."""
        policy = Policy(allowed_user_entries=ALLOWED, revisions=Revisions(unseen=unseen))
        async with open_colleague(policy=policy) as colleague:
            m1 = colleague.posts("alice", "@hermes v0")
            colleague.rewrites(m1, "@hermes v1")
            if unseen is EditedUnseen.ANSWER:
                await colleague.until_state(m1, "answered")
                return
            await colleague.until_state(m1, "refused")
            await colleague.until(lambda: colleague.reactions(m1) == ["x"])

            assert colleague.rows("select reason from turns") == [("edited_unseen",)]
            assert colleague.gateway.orders == []


class TestReadShowsALaterEdit:
    """Between the event of the author's edit and our read somebody else may have edited."""

    @pytest.mark.parametrize("is_running", [True, False])
    async def test_a_moderators_later_edit_is_not_the_authors(
        self, open_colleague: Open, *, is_running: bool
    ) -> None:
        """Its event is waited for, and says whose words they are."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow" if is_running else "slow, I said")
            if is_running:
                await colleague.until_state(m1, "processing")
            else:
                await read_once(colleague)
            before = list(texts(colleague))
            await edits_and_is_overwritten(colleague, m1, "@hermes delete everything")
            assert texts(colleague) == before
            colleague.tells_room("bob", "message_edited", message_event_id=m1)
            if is_running:
                await colleague.until(
                    lambda: edits_ignored(colleague, m1) == ["editor_is_not_author"]
                )
                agent.go.set()
                await colleague.until_state(m1, "answered")
            else:
                await colleague.until_state(m1, "refused")
                sql = "select reason from turns where message_id = ?"
                assert colleague.rows(sql, m1) == [("editor_is_not_author",)]

            assert "everything" not in str(texts(colleague))

    async def test_the_authors_own_later_edit_counts(self, open_colleague: Open) -> None:
        """Two edits in a row, the second of them read already with the first."""
        async with open_colleague(policy=QUICK, agent=SlowAgent()) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until_state(m1, "processing")
            await edits_and_is_overwritten(colleague, m1, "@hermes third")
            assert colleague.state_of(m1) == "processing"
            colleague.tells_room("alice", "message_edited", message_event_id=m1)
            await colleague.until_state(m1, "answered")

            assert texts(colleague) == ["@hermes slow", "@hermes third"]

    @pytest.mark.parametrize("unseen", list(EditedUnseen))
    @pytest.mark.parametrize("is_running", [True, False])
    async def test_an_edit_nobody_announces_is_treated_as_unseen(
        self, open_colleague: Open, unseen: EditedUnseen, *, is_running: bool
    ) -> None:
        """By the operator's setting; a running question keeps the words it had."""
        agent = SlowAgent()
        policy = replace(QUICK, revisions=Revisions(pause_s=0.02, unseen=unseen))
        limits = Limits(editor_wait_s=0.2)
        async with open_colleague(policy=policy, agent=agent, limits=limits) as colleague:
            m1 = await colleague.says("alice", "@hermes slow" if is_running else "slow, I said")
            if is_running:
                await colleague.until_state(m1, "processing")
            else:
                await read_once(colleague)
            await edits_and_is_overwritten(colleague, m1, "@hermes nobody knows")
            if unseen is EditedUnseen.ANSWER:
                await colleague.until_state(m1, "answered")
                assert texts(colleague)[-1] == "@hermes nobody knows"
            elif is_running:
                await colleague.until(lambda: edits_ignored(colleague, m1) == ["edited_unseen"])
                agent.go.set()
                await colleague.until_state(m1, "answered")
                assert texts(colleague) == ["@hermes slow"]
            else:
                await colleague.until_state(m1, "refused")
                assert texts(colleague) == ["@hermes first"]

    async def test_a_moderators_quick_edit_is_nobodys_question_whatever_is_set(
        self, open_colleague: Open
    ) -> None:
        """The setting is about editors nobody knows."""
        revisions = Revisions(pause_s=0.02, unseen=EditedUnseen.ANSWER)
        limits = Limits(editor_wait_s=0.2)
        policy = replace(QUICK, revisions=revisions)
        async with open_colleague(policy=policy, limits=limits) as colleague:
            m1 = colleague.posts("alice", "@hermes v0")
            await colleague.edits("bob", m1, "@hermes delete everything")
            await colleague.until_state(m1, "refused")

            assert colleague.gateway.orders == []


async def edits_and_is_overwritten(colleague: Colleague, message_id: str, body: str) -> None:
    """Let the author's edit be announced, and read when another one stands there already."""
    reads = "MessageService/BatchGetMessages"
    before = colleague.sandbox.calls[reads]
    colleague.tells_room("alice", "message_edited", message_event_id=message_id)
    colleague.rewrites(message_id, body)
    await colleague.until(lambda: colleague.sandbox.calls[reads] > before)


async def read_once(colleague: Colleague) -> None:
    """Wait until what was posted before was read, and not meant."""
    message = await colleague.says("bob", "@hermes first")
    await colleague.until_state(message, "answered")


class TestSigns:
    """One reaction at a time, none left behind."""

    async def test_a_turn_shows_that_it_was_seen_and_nothing_afterwards(
        self, open_colleague: Open
    ) -> None:
        """Eyes while it runs; the answer speaks for itself."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until(lambda: colleague.reactions(m1) == ["eyes"])
            agent.go.set()
            await colleague.until_state(m1, "answered")
            await colleague.until(lambda: colleague.reactions(m1) == [])

    async def test_a_stopped_run_shows_it(self, open_colleague: Open) -> None:
        """The cancelled sign takes the place of the other."""
        async with open_colleague(policy=QUICK, agent=SlowAgent()) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until_state(m1, "processing")
            await colleague.says("bob", "@hermes /stop", thread=m1)
            await colleague.until_state(m1, "cancelled")
            await colleague.until(lambda: colleague.reactions(m1) == ["no_entry_sign"])

            who = colleague.rows("select ended_by, ended_with from turns where message_id = ?", m1)
            assert who == [(colleague.ids["bob"], "stop")]

    async def test_a_sign_of_a_process_that_died_is_taken_back(self, open_colleague: Open) -> None:
        """The row keeps what is shown."""
        async with open_colleague(policy=QUICK, agent=SlowAgent()) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until(lambda: colleague.reactions(m1) == ["eyes"])
            await colleague.until(lambda: colleague.rows("select sign from turns") == [("eyes",)])
            await colleague.dies()
            await colleague.starts()
            await colleague.until_state(m1, "failed")
            await colleague.until(lambda: colleague.reactions(m1) == ["x"])

    async def test_a_sign_that_a_stop_came_before_shows_after_the_next_start(
        self, open_colleague: Open
    ) -> None:
        """The question ended without an answer, and nothing was on it yet."""
        async with open_colleague(policy=QUICK, agent=SlowAgent()) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until(lambda: colleague.reactions(m1) == ["eyes"])
            await colleague.stops()
            colleague.gateway.dies()
            colleague.sandbox.world.reactions.on(m1).clear()
            colleague.write("update turns set state = 'failed', reason = 'not_taken', sign = null")
            colleague.write("update turns set closed_at = updated_at")
            await colleague.starts()
            await colleague.until(lambda: colleague.reactions(m1) == ["x"])


class TestAskingBack:
    """Approvals and answers to the agent's questions go past the lane."""

    async def test_an_approval_by_anybody_else_is_refused(self, open_colleague: Open) -> None:
        """The gateway would take it for that of the person whose turn waits."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until_state(m1, "processing")
            m2 = await colleague.says("bob", "@hermes /approve", thread=m1)
            await colleague.until_state(m2, "refused")
            m3 = await colleague.says("alice", "/approve", thread=m1)
            await colleague.until_state(m3, "bypassed")
            agent.go.set()
            await colleague.until_state(m1, "answered")

            assert [order.message_id for order in colleague.gateway.commands] == [m3]

    async def test_an_answer_to_the_agents_question_does_not_wait(
        self, open_colleague: Open
    ) -> None:
        """It is what the run waits for; other people's messages are ordinary turns."""
        agent = SlowAgent()
        async with open_colleague(policy=QUICK, agent=agent) as colleague:
            m1 = await colleague.says("alice", "@hermes slow")
            await colleague.until_state(m1, "processing")
            (order,) = colleague.gateway.orders
            asked = partial(colleague.gateway.ask, order, "Which one?", Question.CHOICE)
            colleague.tasks.start_soon(asked)
            await colleague.until(lambda: len(colleague.answers()) == 1)
            m2 = await colleague.says("alice", "the second one", thread=m1)
            await colleague.until_state(m2, "bypassed")
            m3 = await colleague.says("bob", "@hermes me too", thread=m1)
            await colleague.until_state(m3, "queued")
            agent.go.set()
            await colleague.until_state(m3, "answered")


class TestStoppedInThePause:
    """Between the end of a stopped run and its new start nothing runs that could end."""

    async def test_a_command_ends_a_correction_that_waits_for_its_pause(
        self, open_colleague: Open
    ) -> None:
        """No run's end will be reported any more: the lane goes on all the same."""
        policy = Policy(allowed_user_entries=ALLOWED, revisions=Revisions(pause_s=0.3))
        limits = Limits(start_within_s=0.05)
        async with open_colleague(policy=policy, agent=SlowAgent(), limits=limits) as colleague:
            m1 = await colleague.says("alice", "@hermes slow one")
            await colleague.until_state(m1, "processing")
            await anyio.sleep(0.1)  # the limit itself: its reminder would end the turn, too
            await colleague.edits("alice", m1, "@hermes two")
            await colleague.until(lambda: colleague.sessions != {} and held(colleague) == [])
            await colleague.says("bob", "@hermes /stop", thread=m1)
            await colleague.until_state(m1, "cancelled")
            m2 = await colleague.says("bob", "@hermes and me?", thread=m1)
            await colleague.until_state(m2, "answered")

            assert texts(colleague) == ["@hermes slow one", "@hermes and me?"]


def held(colleague: Colleague) -> list[str]:
    """Return what the transcripts hold."""
    return [id_ for session in colleague.sessions.values() for id_ in session.message_ids]


class TestBeforeTheGatewayResumes:
    """After a restart the gateway begins some runs anew: with the words of before."""

    @pytest.mark.parametrize("what", ["edit", "deletion", "command"])
    async def test_a_run_that_is_resumed_after_its_edit_is_stopped(
        self, open_colleague: Open, what: str
    ) -> None:
        """Its old words are answered by nobody; corrected, it runs once."""
        async with open_colleague(policy=QUICK, agent=SlowAgent()) as colleague:
            m1 = await colleague.says("alice", "@hermes slow one")
            await colleague.until_state(m1, "processing")
            (old,) = colleague.gateway.orders
            ((key, session),) = colleague.sessions.items()
            await colleague.dies()
            session.remains = Remains.RESUMES
            await colleague.starts(replace(colleague.script, is_gate_open=False))
            await colleague.until_state(m1, "interrupted")
            if what == "edit":
                await colleague.edits("alice", m1, "@hermes two")
                await colleague.until_state(m1, "correcting")
            elif what == "deletion":
                colleague.retracts(m1)
                await colleague.until_state(m1, "stopping")
            else:
                await colleague.says("bob", "@hermes /stop", thread=m1)
                await colleague.until_state(m1, "stopping")
            colleague.gateway.resume(key, old)
            colleague.gateway.open_gate()
            ends = {"edit": "answered", "deletion": "retracted", "command": "cancelled"}
            await colleague.until_state(m1, ends[what])

            assert texts(colleague) == (["@hermes two"] if what == "edit" else [])
            said = [answer.body for answer in colleague.answers() if answer.in_reply_to == m1]
            assert said == (["ok: @hermes two"] if what == "edit" else [])


async def test_the_receipt_says_when_a_message_became_a_question_by_an_edit(
    open_colleague: Open,
) -> None:
    """One that was posted as one says nothing of it."""
    async with open_colleague(policy=QUICK) as colleague:
        edited = await colleague.says("alice", "hello")
        posted = await colleague.says("bob", "@hermes hello")
        await colleague.until_state(posted, "answered")
        await colleague.edits("alice", edited, "@hermes hello")
        await colleague.until_state(edited, "answered")

        sql = "select message_id, reason from transitions where event = 'receive'"
        assert dict(colleague.rows(sql)) == {posted: None, edited: "edited"}  # type: ignore[arg-type]
