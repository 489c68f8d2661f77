"""Whether a story came true, told from what the server holds."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hermes_chatto.actors.sandbox.demo.story import Line, Told, Where
from hermes_chatto.actors.sandbox.demo.verdict import judge
from hermes_chatto.actors.sessions.facts import Message

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUESTION = Told(Line("alice", Where.ROOM, "@hermes red?", "One."), "m1", "R1", "m1")
SMALL_TALK = Told(Line("bob", Where.ROOM, "@alice lunch?", None), "m2", "R1", "m2")
ASKED = Message("m1", "R1", "Ualice", "@hermes red?", NOW, None, None, None, None)
ANSWERED = Message("a1", "R1", "Uhermes", "One.", NOW, None, "m1", "m1", None)


def verdict(*posted: Message) -> list[bool]:
    """Return whether the question was answered, the rest left alone, and nothing else said."""
    findings = judge([QUESTION, SMALL_TALK], posted, "Uhermes")
    return [finding.is_so for finding in findings]


def test_the_right_answer_in_the_right_place_is_what_was_expected() -> None:
    """Once, in the thread of the question, pointing at it."""
    assert verdict(ASKED, ANSWERED) == [True, True, True]


@pytest.mark.parametrize(
    "posted",
    [
        pytest.param([], id="none"),
        pytest.param([ANSWERED, replace(ANSWERED, message_id="a2")], id="twice"),
        pytest.param([replace(ANSWERED, thread_root_id=None)], id="in the room"),
        pytest.param([replace(ANSWERED, body="Two.")], id="other words"),
        pytest.param([replace(ANSWERED, author_id="Ualice")], id="by somebody else"),
    ],
)
def test_any_other_answer_is_none(posted: list[Message]) -> None:
    """The demo fails, and says what it found."""
    first, *_ = judge([QUESTION], posted, "Uhermes")

    assert not first.is_so
    assert first.found


def test_an_answer_to_small_talk_is_one_too_many() -> None:
    """The message was not for the agent."""
    assert verdict(ANSWERED, replace(ANSWERED, message_id="a2", in_reply_to="m2"))[1] is False


def test_anything_else_the_agent_says_is_too_much() -> None:
    """Notices of the gateway, second copies without a pointer."""
    assert verdict(ANSWERED, replace(ANSWERED, message_id="a2", in_reply_to=None))[2] is False
