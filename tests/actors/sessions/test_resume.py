"""A stream with resume cursors goes on where it stopped; one that cannot begins now, and says so.

The source is a scripted one: what a newer server would bring. The messages are real ones.
"""

import logging
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hermes_chatto.actors.sandbox.scripted_source import ScriptedSource
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.actors.sessions.policy import Signs
from hermes_chatto.actors.sessions.position import Position
from hermes_chatto.actors.sessions.stream_events import MessagePosted, Target, TargetKind
from hermes_chatto.tests.actors.sessions.gaps import (
    INBOX,
    QUICK,
    asked,
    ends,
    live_again,
    lives,
    reasons,
)
from hermes_chatto.tests.actors.sessions.test_failures import Cursed


def posted(
    colleague: Colleague, message_id: str, targets: tuple[Target, ...] | None = None
) -> MessagePosted:
    """Return the event of a message that stands on the server."""
    row = colleague.sandbox.world.log.any(message_id)
    assert row is not None
    root = getattr(row, "thread_root_id", "") or None
    return MessagePosted(
        room_id=row.room.id,
        message_id=message_id,
        thread_root_id=root,
        author_id=row.actor_id,
        posted_at=datetime.fromtimestamp(row.created_ns / 10**9, UTC),
        targets=targets,
    )


def cursor(colleague: Colleague) -> str | None:
    """Return the cursor in the file."""
    found = colleague.rows("select resume_cursor from position")
    return str(found[0][0]) if found and found[0][0] is not None else None


def on(source: ScriptedSource) -> Script:
    """Set a profile up on a scripted source."""
    return Script(limits=QUICK, source=source)


# --- in memory ------------------------------------------------------------------------------


def test_a_cursor_moves_after_its_event_is_applied() -> None:
    """Events before it may be applied in any order."""
    position = Position()
    position.arrive("E1")
    position.reach("c1")
    position.arrive("E2")
    position.reach("c2")
    position.apply(["E2"])
    assert position.cursor is None
    position.apply(["E1"])

    assert position.cursor == "c2"


def test_an_event_without_a_cursor_changes_nothing() -> None:
    """What cannot be gone on from takes no good place away."""
    position = Position()
    position.reach("c1")
    position.reach(None)

    assert position.cursor == "c1"


# --- on the stage ---------------------------------------------------------------------------


async def test_the_same_message_event_twice_is_one_turn(open_colleague: Open) -> None:
    """Handed S01: the stream breaks before the cursor was kept, and brings it again."""
    source = ScriptedSource()
    policy = replace(POLICY, signs=Signs())
    async with open_colleague(script=replace(on(source), policy=policy)) as colleague:
        m0 = colleague.posts("bob", "good morning")
        source.plays(posted(colleague, m0), "c0")
        await colleague.until(lambda: cursor(colleague) == "c0")
        m1 = colleague.posts("alice", "@hermes build?")
        source.plays(posted(colleague, m1), "c1", breaks=True)
        await colleague.until_state(m1, "answered")
        m2 = colleague.posts("alice", "@hermes and the tests?", thread=m1)
        source.plays(posted(colleague, m2), "c2")
        await colleague.until_state(m2, "answered")
        await colleague.until(lambda: cursor(colleague) == "c2")

        assert source.asked == [None, "c0"]
        assert [answer.in_reply_to for answer in colleague.answers()] == [m1, m2]
        assert asked(colleague) == ["@hermes build?", "@hermes and the tests?"]
        assert "@hermes build?" not in (colleague.gateway.orders[1].context or "")
        repeated = "select message_id from transitions where event = 'repeat'"
        assert colleague.rows(repeated) == [(m1,)]


async def test_what_arrives_during_a_start_is_answered_in_order(open_colleague: Open) -> None:
    """Handed S03: what was missed first, without a look into the inbox."""
    source = ScriptedSource()
    async with open_colleague(script=on(source)) as colleague:
        m5 = colleague.posts("alice", "@hermes five")
        source.plays(posted(colleague, m5), "c5")
        await colleague.until_state(m5, "answered")
        await colleague.until(lambda: cursor(colleague) == "c5")
        await colleague.stops()
        lists = colleague.sandbox.calls[INBOX]
        m6 = colleague.posts("alice", "@hermes one")
        source.plays(posted(colleague, m6), "c6")
        m7 = colleague.posts("alice", "@hermes two")
        source.plays(posted(colleague, m7), "c7")
        await colleague.starts()
        for message_id in (m6, m7):
            await colleague.until_state(message_id, "answered")
        await colleague.until(lambda: cursor(colleague) == "c7")

        assert source.asked == [None, "c5"]
        received = colleague.rows("select message_id from turns order by lane_order")
        assert received == [(m5,), (m6,), (m7,)]
        assert colleague.sandbox.calls[INBOX] == lists
        assert reasons(colleague) == ["resumed"]


async def test_a_replayed_command_is_refused(open_colleague: Open) -> None:
    """Nobody knows what it would do now."""
    source = ScriptedSource()
    async with open_colleague(script=on(source)) as colleague:
        m1 = colleague.posts("bob", "hm")
        source.plays(posted(colleague, m1), "c1")
        await colleague.until(lambda: cursor(colleague) == "c1")
        await colleague.stops()
        m2 = colleague.posts("alice", "@hermes /restart")
        source.plays(posted(colleague, m2), "c2")
        await colleague.starts()
        await colleague.until_state(m2, "refused")

        assert ends(colleague, m2) == ("refused", "command")


async def test_after_four_hours_the_stream_begins_now(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Handed S05: the cursor is too old, nothing old is answered, and a warning says so."""
    source = ScriptedSource()
    policy = replace(POLICY, signs=Signs())
    async with open_colleague(script=replace(on(source), policy=policy)) as colleague:
        m0 = colleague.posts("alice", "@hermes hello")
        source.plays(posted(colleague, m0), "c5")
        await colleague.until(lambda: cursor(colleague) == "c5")
        await colleague.stops()
        m1 = colleague.posts("alice", "@hermes /restart")
        m2 = colleague.posts("alice", "@hermes deploy", thread=m1)
        colleague.clock.ahead_s = 4 * 3600
        await colleague.starts()
        await colleague.until_state(m2, "expired")
        m3 = colleague.posts("alice", "@hermes what did I miss?", thread=m1)
        source.plays(posted(colleague, m3), "c6")
        await colleague.until_state(m3, "answered")

        assert source.asked == [None, None]
        assert ends(colleague, m1) == ("expired", "too_old")
        assert reasons(colleague) == ["position_too_old"]
        warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
        assert [text for text in warnings if "CHATTO_RESUME_WINDOW" in text]
        (order,) = colleague.gateway.orders
        assert "@hermes deploy" in (order.context or "")


@pytest.mark.parametrize(("ahead_s", "is_asked"), [(890, True), (910, False)])
async def test_a_cursor_is_used_within_the_window(
    open_colleague: Open, ahead_s: float, *, is_asked: bool
) -> None:
    """Older ones are not even tried."""
    source = ScriptedSource()
    async with open_colleague(script=on(source)) as colleague:
        m1 = colleague.posts("bob", "hm")
        source.plays(posted(colleague, m1), "c1")
        await colleague.until(lambda: cursor(colleague) == "c1")
        await colleague.stops()
        colleague.clock.ahead_s = ahead_s
        await colleague.starts()

        assert source.asked == [None, "c1" if is_asked else None]


async def test_a_cursor_the_server_refuses_degrades_to_the_inbox(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning that names the gap; what was missed is found all the same."""
    source = ScriptedSource(accepts=lambda _: False)
    async with open_colleague(script=on(source)) as colleague:
        m1 = colleague.posts("alice", "@hermes one")
        source.plays(posted(colleague, m1), "c1")
        await colleague.until(lambda: cursor(colleague) == "c1")
        await colleague.stops()
        m2 = colleague.posts("alice", "@hermes two")
        await colleague.starts()
        await colleague.until_state(m2, "answered")

        assert source.asked == [None, "c1"]
        (warning,) = [r.getMessage() for r in caplog.records if "does not go on" in r.getMessage()]
        assert "what was said since 20" in warning


async def test_the_cursor_of_another_profile_is_refused(open_colleague: Open) -> None:
    """Handed S46: its stream begins now; the other's position is left as it is."""
    source = ScriptedSource()
    async with open_colleague(script=on(source)) as colleague:
        m0 = colleague.posts("bob", "hm")
        source.plays(posted(colleague, m0), "c1")
        await colleague.until(lambda: cursor(colleague) == "c1")
        await colleague.stops()
        colleague.write("update position set scope = 'other'")
        foreign = colleague.rows("select * from position")
        await colleague.starts()
        m1 = colleague.posts("alice", "@hermes hi")
        source.plays(posted(colleague, m1), "c2")
        await colleague.until_state(m1, "answered")

        assert source.asked == [None, None]
        assert reasons(colleague) == ["foreign_profile"]
        assert colleague.rows("select * from position where scope = 'other'") == foreign
        assert len(colleague.answers()) == 1


async def test_a_handler_that_fails_leaves_the_cursor(open_colleague: Open) -> None:
    """Until what it could not do has an end with a name."""
    source = ScriptedSource()
    slow, quick = replace(QUICK, repair_wait_s=20), replace(QUICK, repair_wait_s=0.001)
    script = Script(limits=slow, source=source, around=Cursed)
    async with open_colleague(script=script) as colleague:
        m1 = colleague.posts("bob", "hm")
        source.plays(posted(colleague, m1), "c1")
        await colleague.until(lambda: cursor(colleague) == "c1")
        m2 = colleague.posts("alice", "@hermes bad")
        source.plays(posted(colleague, m2), "c2")
        m3 = colleague.posts("alice", "@hermes fine", room="R2")
        source.plays(posted(colleague, m3), "c3")
        await colleague.until_state(m3, "answered")
        await colleague.dies()
        assert cursor(colleague) == "c1"
        await colleague.starts(replace(script, limits=quick))
        await colleague.until_state(m2, "failed")
        await colleague.until(lambda: cursor(colleague) == "c3")

        assert source.asked == [None, "c1"]
        assert len(colleague.answers()) == 1


async def test_a_stream_that_breaks_is_gone_on_with(open_colleague: Open) -> None:
    """Without a catch-up, however often."""
    source = ScriptedSource()
    async with open_colleague(script=on(source)) as colleague:
        m0 = colleague.posts("bob", "hm")
        source.plays(posted(colleague, m0), "c0")
        await colleague.until(lambda: cursor(colleague) == "c0")
        lists = colleague.sandbox.calls[INBOX]
        for number in range(1, 4):
            before = lives(colleague)
            source.cuts()
            m1 = colleague.posts("alice", f"@hermes {number}")
            source.plays(posted(colleague, m1), f"c{number}")
            await colleague.until_state(m1, "answered")
            await live_again(colleague, before)

        assert colleague.sandbox.calls[INBOX] == lists
        assert len(colleague.answers()) == 3


# --- mention targets ------------------------------------------------------------------------


async def test_the_servers_list_decides_alone(open_colleague: Open) -> None:
    """Handed S14: whatever the text looks like, no member or role is read."""
    source = ScriptedSource()
    async with open_colleague(script=on(source)) as colleague:
        bodies = {
            "```\n@hermes\n```": (),
            "> @hermes said": (),
            "[profile](https://x.example/@hermes)": (),
            "@moderator help": (Target(TargetKind.ROLE, "moderator", includes_account=True),),
        }
        ids = []
        for body, targets in bodies.items():
            ids.append(colleague.posts("alice", body))
            source.plays(posted(colleague, ids[-1], targets))
        await colleague.until_state(ids[-1], "answered")

        assert [ends(colleague, id_) for id_ in ids[:-1]] == [None, None, None]
        assert colleague.rows("select cause from turns") == [("role",)]


@pytest.mark.parametrize(
    ("target", "state"),
    [
        (Target(TargetKind.PERSON, "hermes", includes_account=True), "answered"),
        (Target(TargetKind.ROLE, "crew", includes_account=False), None),
        (Target(TargetKind.ALL, "", includes_account=True), None),
        (Target(TargetKind.HERE, "", includes_account=True), None),
    ],
)
async def test_each_kind_of_target_has_its_rule(
    open_colleague: Open, target: Target, state: str | None
) -> None:
    """By name always, everybody only where the operator wants it."""
    source = ScriptedSource()
    async with open_colleague(script=on(source)) as colleague:
        name = colleague.ids.get(target.name, target.name)
        m1 = colleague.posts("alice", "some words")
        source.plays(posted(colleague, m1, (replace(target, name=name),)))
        m2 = colleague.posts("alice", "the last one")
        last = (Target(TargetKind.PERSON, colleague.ids["hermes"], includes_account=True),)
        source.plays(posted(colleague, m2, last))
        await colleague.until_state(m2, "answered")

        found = ends(colleague, m1)
        assert (found[0] if found else None) == state
