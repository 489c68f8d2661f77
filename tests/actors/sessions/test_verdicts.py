"""Where the reader and the server disagree about a mention, the log says so once."""

import logging

import pytest

from hermes_chatto.actors.sandbox.server.inbox import Level
from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.services import Limits

SOON = Limits(verdict_wait_s=0.3)


@pytest.fixture(autouse=True)
def _lines_are_heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def said(caplog: pytest.LogCaptureFixture, message_id: str) -> list[str]:
    """Return what the log says of the verdict on a message, without its place."""
    lines = (line for line in caplog.messages if line.startswith(f"message {message_id}"))
    return [line.partition(": ")[2] for line in lines]


async def answered(colleague: Colleague, words: str, room: str = "R1") -> str:
    """Let alice ask, and wait for the answer."""
    id_ = await colleague.says("alice", words, room=room)
    await colleague.until_state(id_, "answered")
    return id_


async def test_a_mention_the_server_is_silent_about_counts_and_is_logged(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """The text decides; its author's connection may have ended too early."""
    async with open_colleague(limits=SOON) as colleague:
        colleague.faults.withheld = {"notification_created"}
        unsaid = await answered(colleague, "@hermes hi")
        await colleague.until(lambda: bool(said(caplog, unsaid)))

        assert said(caplog, unsaid) == [
            "its text mentions the account, and the server does not say so"
        ]


async def test_a_verdict_that_nothing_in_the_text_explains_starts_nothing(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """A room looks like that which tells the account of everything, as long as nobody knows."""
    async with open_colleague(limits=SOON) as colleague:
        colleague.faults.withheld = {"notification_level_changed"}
        world = colleague.sandbox.world
        room = world.rooms.require(colleague.rooms["R1"])
        world.inbox.set_level(colleague.ids["hermes"], room, Level.ALL_MESSAGES)
        silent = await colleague.says("alice", "hello")
        await colleague.until(lambda: bool(said(caplog, silent)))

        assert said(caplog, silent) == [
            "the server says that it mentions the account, its text nobody"
        ]
        assert colleague.state_of(silent) is None


@pytest.mark.parametrize("room", ["R1", None], ids=["in a room", "everywhere"])
async def test_where_the_account_is_told_of_everything_being_told_means_nothing(
    room: str | None, open_colleague: Open
) -> None:
    """A handle of somebody else is no role of the account's; also where that was set just now."""
    async with open_colleague() as colleague:
        world = colleague.sandbox.world
        there = world.rooms.require(colleague.rooms[room]) if room else None
        world.inbox.set_level(colleague.ids["hermes"], there, Level.ALL_MESSAGES)
        to_bob = await colleague.says("alice", "@bob hello")
        await answered(colleague, "@hermes hi")

        assert colleague.state_of(to_bob) is None


async def test_where_they_agree_nothing_is_said(
    open_colleague: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """A mention, a role, a direct message and words for nobody."""
    async with open_colleague(limits=SOON) as colleague:
        accounts = colleague.sandbox.world.accounts
        accounts.require(colleague.ids["hermes"]).roles.add("moderator")
        direct = await colleague.opens_dm("alice")
        ids = [
            await answered(colleague, "@hermes hi"),
            await answered(colleague, "@moderator hi"),
            await answered(colleague, "hi", room=direct),
            await colleague.says("alice", "@bob hi"),
        ]
        colleague.faults.withheld = {"notification_created"}
        last = await answered(colleague, "@hermes is that all?")
        await colleague.until(lambda: bool(said(caplog, last)))

        assert [said(caplog, id_) for id_ in ids] == [[]] * 4
