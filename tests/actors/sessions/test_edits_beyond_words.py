"""Edits that touch something else than the words, and edits of what a command has ended."""

import hashlib
from dataclasses import replace

from hermes_chatto.actors.sandbox.server.assets import Declared
from hermes_chatto.actors.sandbox.server.editing import Editing
from hermes_chatto.actors.sandbox.server.posting import Draft, Posting
from hermes_chatto.actors.sandbox.server.rows import Message
from hermes_chatto.actors.sandbox.stage import Colleague, Open

from .test_edits import QUICK, SlowAgent, edits_ignored, texts


def file_of(colleague: Colleague, login: str, name: str = "notes.txt") -> str:
    """Let a person upload a small file; return its ID."""
    world, content = colleague.sandbox.world, b"hello"
    digest = hashlib.sha256(content).hexdigest()
    room = world.rooms.require(colleague.rooms["R1"])
    declared = Declared(name, "text/plain", len(content), digest)
    upload = world.assets.open_upload(colleague.ids[login], room, declared)
    world.assets.append(upload, 0, content, digest)
    return world.assets.complete(upload).id


def message_of(colleague: Colleague, message_id: str) -> Message:
    """Return a message as the server keeps it."""
    message = colleague.sandbox.world.log.any(message_id)
    assert isinstance(message, Message)
    return message


async def asks_with_file(colleague: Colleague) -> tuple[str, str]:
    """Let Alice ask something slow with a file; return the message's and the file's ID."""
    world, file_id = colleague.sandbox.world, file_of(colleague, "alice")
    alice = world.accounts.require(colleague.ids["alice"])
    room_id = colleague.rooms["R1"]
    draft = Draft(room_id=room_id, body="@hermes slow", asset_ids=(file_id,))
    message_id = Posting(world).post(alice, draft).id
    await colleague.until_state(message_id, "processing")
    return message_id, file_id


async def test_a_file_that_is_taken_off_is_an_edit(open_colleague: Open) -> None:
    """The words are the same, what was asked is not: the run starts again."""
    agent = SlowAgent()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m1, file_id = await asks_with_file(colleague)
        world = colleague.sandbox.world
        alice = world.accounts.require(colleague.ids["alice"])
        Editing(world, Posting(world)).remove_attachment(alice, message_of(colleague, m1), file_id)
        await colleague.until(lambda: "correcting -> queued" in colleague.story(m1))
        agent.go.set()
        await colleague.until_state(m1, "answered")

        assert texts(colleague) == ["@hermes slow"] * 2
        assert colleague.rows("select attachment_ids, attempt from turns") == [("[]", 2)]


async def test_a_file_that_is_added_is_an_edit(open_colleague: Open) -> None:
    """Clients of today cannot; whoever can is heard."""
    agent = SlowAgent()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        file_id, message = file_of(colleague, "alice"), message_of(colleague, m1)
        message.asset_ids.append(file_id)
        colleague.rewrites(m1, message.body)
        colleague.tells_room("alice", "message_edited", message_event_id=m1)
        await colleague.until(lambda: "correcting -> queued" in colleague.story(m1))
        agent.go.set()
        await colleague.until_state(m1, "answered")

        assert colleague.rows("select attachment_ids from turns") == [(f'["{file_id}"]',)]


async def test_a_link_preview_that_is_taken_off_is_no_edit(open_colleague: Open) -> None:
    """The server announces it as one; words and files are the same."""
    agent = SlowAgent()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m1 = await colleague.says("alice", "@hermes slow: https://example.org")
        await colleague.until_state(m1, "processing")
        colleague.rewrites(m1, message_of(colleague, m1).body)
        colleague.tells_room("alice", "message_edited", message_event_id=m1)
        await colleague.until(lambda: edits_ignored(colleague, m1) == ["unchanged"])
        agent.go.set()
        await colleague.until_state(m1, "answered")

        assert len(texts(colleague)) == 1


async def test_an_edit_of_a_question_that_was_stopped_starts_nothing(open_colleague: Open) -> None:
    """While it is being stopped and afterwards: `/stop` is not taken back by an edit."""
    agent = SlowAgent()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        await colleague.says("alice", "@hermes /stop", thread=m1)
        await colleague.edits("alice", m1, "@hermes quick")
        await colleague.until_state(m1, "cancelled")
        await colleague.edits("alice", m1, "@hermes quicker")
        await colleague.until(lambda: "too_late: cancelled" in edits_ignored(colleague, m1))

        assert texts(colleague) == ["@hermes slow"]
        assert colleague.rows("select count(*) from turns where state = 'cancelled'") == [(1,)]


async def test_what_was_cancelled_while_it_waited_is_heard_with_its_newest_words(
    open_colleague: Open,
) -> None:
    """It is a line like any other: read when it is told."""
    agent = SlowAgent()
    async with open_colleague(policy=QUICK, agent=agent) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        m2 = await colleague.says("bob", "@hermes pears?", thread=m1)
        await colleague.until_state(m2, "queued")
        await colleague.says("bob", "@hermes /stop", thread=m1)
        await colleague.until_state(m2, "cancelled")
        await colleague.edits("bob", m2, "@hermes plums?")
        await colleague.until(lambda: edits_ignored(colleague, m2) == ["too_late: cancelled"])
        m3 = await colleague.says("alice", "@hermes and now", thread=m1)
        await colleague.until_state(m3, "answered")

        context = str(colleague.gateway.orders[-1].context)
        assert ("plums" in context, "pears" in context) == (True, False)


async def test_an_edit_by_somebody_else_after_a_stop_costs_nothing(open_colleague: Open) -> None:
    """No read, and nobody else's words."""
    agent = SlowAgent()
    policy = replace(QUICK, allowed_user_entries=("alice",))
    async with open_colleague(policy=policy, agent=agent) as colleague:
        m1 = await colleague.says("alice", "@hermes slow")
        await colleague.until_state(m1, "processing")
        await colleague.says("alice", "@hermes /stop", thread=m1)
        await colleague.until_state(m1, "cancelled")
        await colleague.until(lambda: len(colleague.answers()) == 1)
        reads = "MessageService/BatchGetMessages"
        before = colleague.sandbox.calls[reads]
        await colleague.edits("bob", m1, "@hermes delete everything")
        m2 = await colleague.says("alice", "@hermes last")
        await colleague.until_state(m2, "answered")

        assert colleague.sandbox.calls[reads] == before + 1
        assert "everything" not in str(texts(colleague))
