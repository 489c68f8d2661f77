"""Taking a message out, in the gateway's own database."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hermes_state import SessionDB  # type: ignore[import-untyped]

from hermes_chatto.actors.hermes.transcript import (
    Removal,
    Transcript,
    TranscriptBusyError,
)

SESSION = "20260101_000000_abc"
HOLDER = "pid=1:turn=t1:platform=chatto"


class Store:
    """The gateway's session store, as far as it is asked."""

    def __init__(self, database: SessionDB) -> None:
        self.database = database
        self.sessions = {"key": SESSION}

    def peek_session_id(self, key: str) -> str | None:
        return self.sessions.get(key)

    def _db_for_session_id(self, session_id: str) -> SessionDB:
        assert session_id == SESSION
        return self.database


class OlderStore:
    """The same in 0.19."""

    def __init__(self, database: SessionDB) -> None:
        self._db = database


class Session:
    """One session with its transcript."""

    def __init__(self, database: SessionDB) -> None:
        self.database = database
        self.transcript = Transcript(Store(database))

    def says(self, role: str, text: str, message_id: str | None = None) -> None:
        """Add a row."""
        self.database.append_message(SESSION, role, text, platform_message_id=message_id)

    def texts(self) -> list[str]:
        """Return what the next prompt would hold."""
        rows = self.database.get_messages_as_conversation(SESSION, repair_alternation=True)
        return [row["content"] for row in rows]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session with one question that was answered."""
    database: Any = SessionDB(tmp_path / "state.db")
    database.create_session(SESSION, "chatto")
    session = Session(database)
    session.says("user", "first", "m1")
    session.says("assistant", "one")
    yield session
    database.close()


def test_a_message_goes_with_all_the_agent_did_about_it(session: Session) -> None:
    """What came before stays."""
    session.says("user", "second", "m2")
    session.says("assistant", "let me see")
    session.says("tool", "a result")

    removal = session.transcript.take_out(SESSION, "m2", with_notes=False)

    assert removal is Removal.NOT_THERE
    assert session.texts() == ["first", "one"]


def test_an_unanswered_question_before_it_stays(session: Session) -> None:
    """The gateway shows the model both as one; its own way back would take both."""
    session.says("user", "stopped", "m2")
    session.says("user", "wrong", "m3")

    session.transcript.take_out(SESSION, "m3", with_notes=False)

    assert session.texts() == ["first", "one", "stopped"]


def test_a_message_that_never_got_there_is_not_missed(session: Session) -> None:
    """The run was stopped before its agent wrote anything."""
    removal = session.transcript.take_out(SESSION, "m9", with_notes=False)

    assert removal is Removal.NOT_THERE
    assert session.texts() == ["first", "one"]


def test_taken_out_once_it_is_out(session: Session) -> None:
    """Whoever asks again changes nothing: what follows the gap is not the message's."""
    session.says("user", "wrong", "m2")
    session.transcript.take_out(SESSION, "m2", with_notes=False)
    session.says("user", "right", "m2")
    session.says("assistant", "two")
    session.says("user", "third", "m3")

    removal = session.transcript.take_out(SESSION, "m2", with_notes=False)

    assert removal is Removal.FOLLOWED
    assert session.texts() == ["first", "one", "right", "two", "third"]


def test_what_somebody_said_after_it_keeps_it_there(session: Session) -> None:
    """Their words would go with it."""
    session.says("user", "second", "m2")
    session.says("user", "and also", "m3")

    removal = session.transcript.take_out(SESSION, "m2", with_notes=False)

    assert removal is Removal.FOLLOWED
    assert session.texts()[-1].endswith("and also")


@pytest.mark.parametrize(
    ("with_notes", "removal"), [(True, Removal.NOT_THERE), (False, Removal.FOLLOWED)]
)
def test_a_note_of_the_gateway_goes_along_where_it_belongs_to_the_run(
    session: Session, *, with_notes: bool, removal: Removal
) -> None:
    """A run that is resumed after a restart begins with one, which has no ID."""
    session.says("user", "second", "m2")
    session.says("user", "[System note: resumed]")

    assert session.transcript.take_out(SESSION, "m2", with_notes=with_notes) is removal


def test_a_transcript_that_a_run_still_holds_is_busy(session: Session) -> None:
    """Nothing is taken out under an agent that writes; a moment later it goes."""
    session.says("user", "second", "m2")
    session.database.acquire_session_turn_lease(SESSION, HOLDER, ttl_seconds=60.0)

    with pytest.raises(TranscriptBusyError, match="lease"):
        session.transcript.take_out(SESSION, "m2", with_notes=False)
    session.database.release_session_turn_lease(SESSION, HOLDER)

    session.transcript.take_out(SESSION, "m2", with_notes=False)
    assert session.texts() == ["first", "one"]


def test_an_older_store_is_read_the_same_way(session: Session) -> None:
    """0.19 has one database for all sessions."""
    session.says("user", "second", "m2")

    Transcript(OlderStore(session.database)).take_out(SESSION, "m2", with_notes=False)

    assert session.texts() == ["first", "one"]


def test_the_session_of_a_key_is_looked_up_without_a_new_one(session: Session) -> None:
    """A key nobody has spoken on has none; neither has a gateway without a store."""
    assert session.transcript.current_session("key") == SESSION
    assert session.transcript.current_session("another") is None
    assert Transcript(None).current_session("key") is None
