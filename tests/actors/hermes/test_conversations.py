"""What there is of a conversation, read from the gateway's own session store."""

from pathlib import Path
from typing import Any

import pytest
from gateway.config import GatewayConfig, Platform
from gateway.session import SessionSource, SessionStore

from hermes_chatto.actors.hermes.conversations import Conversations


class Adapter:
    """The one thing that is asked of an adapter."""

    def __init__(self, store: object) -> None:
        self._session_store = store


class Stage:
    """A gateway home with one conversation."""

    def __init__(self, home: Path) -> None:
        self.store = SessionStore(home / "sessions", GatewayConfig())
        self.source = SessionSource(
            platform=Platform("chatto"), chat_id="R1", chat_type="thread", thread_id="T1"
        )
        entry = self.store.get_or_create_session(self.source)
        adapter: Any = Adapter(self.store)
        self.key, self.session_id = entry.session_key, entry.session_id
        self.conversations = Conversations(adapter)

    def says(self, message_id: str) -> None:
        """Let the transcript hold a message."""
        row = {"role": "user", "content": "hello", "message_id": message_id}
        self.store.append_to_transcript(self.session_id, row)

    def next_session(self) -> str:
        """Let the next message find its session; return that."""
        return str(self.store.get_or_create_session(self.source).session_id)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Set up a home with a conversation that has our token."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    stage = Stage(tmp_path)
    stage.says("m1")
    return stage


async def test_a_token_stays_with_its_conversation(stage: Stage) -> None:
    """The next message finds both."""
    assert await stage.conversations.keep_token(stage.key, "t1")

    assert await stage.conversations.token(stage.key) == "t1"
    assert stage.next_session() == stage.session_id
    assert await stage.conversations.token(stage.key) == "t1"


async def test_a_suspended_conversation_is_none(stage: Stage) -> None:
    """The gateway keeps it until the next message, which gets a new one."""
    await stage.conversations.keep_token(stage.key, "t1")

    stage.store.suspend_session(stage.key)

    assert not stage.conversations.exists(stage.key)
    assert await stage.conversations.token(stage.key) is None
    assert await stage.conversations.oldest(stage.key) is None
    assert stage.next_session() != stage.session_id
    assert await stage.conversations.token(stage.key) is None


@pytest.mark.parametrize("how", ["ended", "deleted"])
async def test_a_conversation_that_is_over_has_no_token(stage: Stage, how: str) -> None:
    """Somebody ended or deleted it beside the gateway, which routes to it until it looks."""
    await stage.conversations.keep_token(stage.key, "t1")

    database: Any = stage.store._db  # noqa: SLF001 - where Hermes itself ends a session
    if how == "ended":
        database.end_session(stage.session_id, "user_exit")
    else:
        database.delete_session(stage.session_id)

    assert await stage.conversations.token(stage.key) is None
    assert stage.next_session() != stage.session_id


async def test_a_compressed_conversation_keeps_its_token(stage: Stage) -> None:
    """Its session is ended and goes on under another ID, which the gateway finds."""
    await stage.conversations.keep_token(stage.key, "t1")

    database: Any = stage.store._db  # noqa: SLF001 - where Hermes itself ends a session
    database.end_session(stage.session_id, "compression")
    database.create_session("s2", "chatto", parent_session_id=stage.session_id)

    assert await stage.conversations.token(stage.key) == "t1"
    assert stage.next_session() == "s2"
    assert await stage.conversations.token(stage.key) == "t1"


async def test_a_transcript_is_asked_for_its_messages(stage: Stage) -> None:
    """In their order."""
    stage.says("m2")

    assert await stage.conversations.oldest(stage.key) == "m1"
    assert await stage.conversations.holds(stage.key, {"m2", "m3"}) == {"m2"}
    assert await stage.conversations.oldest("agent:main:chatto:thread:R1:T2") is None
