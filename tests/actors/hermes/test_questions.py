"""What runs ask their person, in the gateway's own register."""

import pytest
from tools import clarify_gateway

from hermes_chatto.actors.hermes.questions import is_asking, take_back

KEY = "agent:main:chatto:thread:R1:m1"


def test_a_question_that_is_taken_back_wakes_its_run(caplog: pytest.LogCaptureFixture) -> None:
    """The run gets the gateway's own word for it, at once, and nobody is asked any more."""
    clarify_gateway.register("c1", KEY, "Which one?", None)
    assert is_asking(KEY)

    with caplog.at_level("INFO"):
        take_back(KEY)

    assert not is_asking(KEY)
    assert clarify_gateway.has_pending(KEY) is False
    assert "took back 1 question" in caplog.text


def test_other_conversations_go_on_asking() -> None:
    """What is taken back is that of one key; where nothing is asked, nothing happens."""
    clarify_gateway.register("c2", KEY + "x", "Which one?", ["a", "b"])

    take_back(KEY)

    assert is_asking(KEY + "x")
    take_back(KEY + "x")
    assert not is_asking(KEY + "x")
