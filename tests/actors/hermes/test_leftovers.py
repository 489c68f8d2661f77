"""What is left of a run, read from the gateway's own session store and ledger."""

import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from gateway.config import GatewayConfig, Platform
from gateway.delivery_ledger import mark_attempting, mark_delivered, mark_failed, record_obligation
from gateway.session import SessionSource, SessionStore

from hermes_chatto.actors.hermes.leftovers import Leftovers
from hermes_chatto.actors.sessions.remains import Remains


class Adapter:
    """The one thing that is asked of an adapter."""

    def __init__(self, store: SessionStore) -> None:
        self._session_store = store


class Stage:
    """A gateway home with one conversation."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.since = datetime.now(UTC) - timedelta(minutes=1)
        self.store = SessionStore(home / "sessions", GatewayConfig())
        source = SessionSource(
            platform=Platform("chatto"), chat_id="R1", chat_type="thread", thread_id="T1"
        )
        entry = self.store.get_or_create_session(source)
        self.key, self.session_id = entry.session_key, entry.session_id

    def says(self, message_id: str) -> None:
        """Let the transcript hold a message."""
        row = {"role": "user", "content": "hello", "message_id": message_id}
        self.store.append_to_transcript(self.session_id, row)

    def starts_again(self) -> None:
        """Do what the gateway does at a start after a crash."""
        self.store = SessionStore(self.home / "sessions", GatewayConfig())
        self.store.recover_interrupted_turns()

    def owes(self, obligation_id: str = "o1") -> None:
        """Let an answer be owed."""
        record_obligation(
            obligation_id=obligation_id,
            session_key=self.key,
            platform="chatto",
            chat_id="R1",
            thread_id="T1",
            content="ok",
        )

    async def remains(self, message_id: str = "m1") -> Remains:
        """Ask."""
        untyped: Any = Adapter(self.store)
        return await Leftovers(untyped, lock_wait_s=0.01).of(self.key, message_id, self.since)


@pytest.fixture
def stage(home: Path, registered_platform: None) -> Stage:
    """Set the stage."""
    del registered_platform  # its name has to be known
    return Stage(home)


async def test_of_a_message_that_never_arrived_nothing_is_left(stage: Stage) -> None:
    """The process ended before the gateway's own mark."""
    assert await stage.remains() is Remains.NOTHING


async def test_without_a_conversation_nothing_is_left(stage: Stage) -> None:
    """The first question of a key."""
    stage.key = "agent:main:chatto:thread:R1:T2"

    assert await stage.remains() is Remains.NOTHING


async def test_a_marked_run_is_resumed(stage: Stage) -> None:
    """The mark of a run becomes the flag of a resumption at the next start."""
    stage.store.mark_turn_active(stage.key)
    stage.says("m1")
    assert await stage.remains() is Remains.RESUMES
    stage.starts_again()

    assert await stage.remains() is Remains.RESUMES


async def test_a_resumption_without_the_message_is_told_apart_and_called_off(
    stage: Stage,
) -> None:
    """The mark comes some milliseconds before the message is in the transcript."""
    stage.says("m0")
    stage.store.mark_turn_active(stage.key)
    stage.starts_again()
    assert await stage.remains() is Remains.WORDLESS
    untyped: Any = Adapter(stage.store)
    await Leftovers(untyped).call_off_resumption(stage.key)

    assert await stage.remains() is Remains.NOTHING


async def test_a_suspended_conversation_is_not_resumed(stage: Stage) -> None:
    """The gateway begins it anew with the next message."""
    stage.store.mark_turn_active(stage.key)
    stage.says("m1")
    stage.starts_again()
    stage.store.suspend_session(stage.key)

    assert await stage.remains() is Remains.HOLDS


async def test_a_message_whose_run_is_over_is_held(stage: Stage) -> None:
    """Nothing is resumed, nothing owed."""
    stage.says("m1")

    assert await stage.remains() is Remains.HOLDS


@pytest.mark.parametrize("state", ["pending", "attempting", "failed"])
async def test_an_answer_in_the_ledger_is_owed(stage: Stage, state: str) -> None:
    """Whatever the marks say: the gateway takes them back for it."""
    stage.says("m1")
    stage.store.mark_turn_active(stage.key)
    stage.owes()
    if state == "attempting":
        mark_attempting("o1")
    elif state == "failed":
        mark_failed("o1", "no")

    assert await stage.remains() is Remains.OWES


async def test_a_delivered_answer_is_not_owed(stage: Stage) -> None:
    """It is over."""
    stage.says("m1")
    stage.owes()
    mark_delivered("o1")

    assert await stage.remains() is Remains.HOLDS


async def test_an_answer_that_is_older_than_the_turn_is_not_its_own(stage: Stage) -> None:
    """Of an earlier question of the key."""
    stage.owes()
    stage.since = datetime.fromtimestamp(time.time() + 60, UTC)

    assert await stage.remains() is Remains.NOTHING


async def test_an_answer_that_was_tried_too_often_is_not_owed(stage: Stage) -> None:
    """The gateway keeps it and will not try again."""
    stage.owes()
    mark_failed("o1", "no")
    with sqlite3.connect(stage.home / "state.db") as db:
        db.execute("update delivery_obligations set attempts = 3")

    assert await stage.remains() is Remains.NOTHING


async def test_a_locked_file_is_no_answer(stage: Stage) -> None:
    """Nothing is guessed."""
    stage.owes()
    db = sqlite3.connect(stage.home / "state.db")
    db.execute("begin exclusive")
    found = await stage.remains()
    db.close()

    assert found is Remains.UNKNOWN


async def test_a_gateway_whose_ledger_is_off_owes_nothing(stage: Stage) -> None:
    """The operator's choice."""
    stage.owes()
    (stage.home / "config.yaml").write_text("gateway: {delivery_ledger: false}")

    assert await stage.remains() is Remains.NOTHING


async def test_an_older_gateway_resumes_nothing(stage: Stage) -> None:
    """0.19 knows neither marks nor a ledger: the transcript alone decides."""

    class Older:
        def __init__(self, store: SessionStore) -> None:
            self.peek_session_id = store.peek_session_id
            self._db_for_session_id = store._db_for_session_id  # noqa: SLF001

    stage.says("m1")
    stage.store.mark_turn_active(stage.key)
    older: Any = Older(stage.store)
    stage.store = older

    assert await stage.remains() is Remains.HOLDS
    assert await stage.remains("m2") is Remains.NOTHING


async def test_what_a_stopped_run_would_have_said_is_called_off(stage: Stage) -> None:
    """The gateway would hand it over with its next start; what is owed to others stays."""
    untyped: Any = Adapter(stage.store)
    leftovers = Leftovers(untyped)
    stage.owes("before")
    began_at = time.time()
    stage.owes("pending")
    stage.owes("attempting")
    mark_attempting("attempting")

    await leftovers.call_off_answers(stage.key, began_at)

    with sqlite3.connect(stage.home / "state.db") as db:
        open_ones = db.execute(
            "select obligation_id from delivery_obligations where state != 'delivered'"
        ).fetchall()
    assert open_ones == [("before",)]
