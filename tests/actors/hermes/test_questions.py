"""What runs ask their person, in the gateway's own registers."""

import pytest
from tools import approval, approval_gateway_wait, clarify_gateway

from hermes_chatto.actors.hermes.questions import marked, question_of, questions_of, take_back
from hermes_chatto.actors.sessions.ports import Question

KEY = "agent:main:chatto:thread:R1:m1"


def test_a_question_that_is_taken_back_wakes_its_run(caplog: pytest.LogCaptureFixture) -> None:
    """The run gets the gateway's own word for it, at once, and nobody is asked any more."""
    clarify_gateway.register("c1", KEY, "Which one?", None)
    assert questions_of(KEY) == {Question.CHOICE}

    with caplog.at_level("INFO"):
        take_back(KEY)

    assert questions_of(KEY) == set()
    assert clarify_gateway.has_pending(KEY) is False
    assert "took back 1 question" in caplog.text


def test_other_conversations_go_on_asking() -> None:
    """What is taken back is that of one key; where nothing is asked, nothing happens."""
    clarify_gateway.register("c2", KEY + "x", "Which one?", ["a", "b"])

    take_back(KEY)

    assert questions_of(KEY + "x") == {Question.CHOICE}
    take_back(KEY + "x")
    assert questions_of(KEY + "x") == set()


def test_an_approval_is_waited_for_until_somebody_gives_it() -> None:
    """It is no choice: nothing but a command answers it."""
    entry = approval_gateway_wait._ApprovalEntry({"command": "rm"})  # noqa: SLF001 - made by the wait alone
    approval._gateway_queues[KEY] = [entry]  # noqa: SLF001 - as above

    assert questions_of(KEY) == {Question.APPROVAL}

    assert approval.resolve_gateway_approval(KEY, "once") == 1
    assert questions_of(KEY) == set()


@pytest.mark.parametrize(
    ("metadata", "question"),
    [
        ({}, None),
        ({"thread_id": "m1", "_interim_send": True}, None),
        ({"is_approval_prompt": True, "_interim_send": True}, Question.APPROVAL),
        ({"is_approval_prompt": True, "thread_id": "m1"}, Question.CHOICE),
        (marked({"thread_id": "m1"}), Question.CHOICE),
        (marked(None), Question.CHOICE),
    ],
)
def test_a_text_says_what_it_asks(metadata: dict[str, object], question: Question | None) -> None:
    """By the gateway's own marks, and by ours."""
    assert question_of(metadata) is question
