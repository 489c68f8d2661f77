"""What the model says in the story, and after it."""

from hermes_chatto.actors.sandbox.demo.story import STORY, Line, Where, answer
from hermes_chatto.actors.sandbox.model import Request


def asked(*words: str) -> Request:
    """Return a request of a conversation in which people said these things."""
    return Request(1, tuple({"role": "user", "content": each} for each in words), (), True)  # noqa: FBT003


def in_thread() -> list[Line]:
    """Return the lines of the first thread."""
    return [STORY[0], *(line for line in STORY if line.where is Where.THREAD)]


def test_each_question_has_its_answer_in_a_session_that_holds_those_before() -> None:
    """Whoever follows up is understood, since it is one conversation."""
    said: list[str] = []
    for line in in_thread():
        said.append(f"[{line.speaker.capitalize()}] {line.body}")

        assert answer(asked(*said)) == line.answer


def test_a_follow_up_in_another_session_is_not_understood() -> None:
    """So that the demo fails when threads and sessions do not match."""
    first, second, third = in_thread()

    assert answer(asked(second.body)) != second.answer
    assert answer(asked(first.body, third.body)) != third.answer


def test_something_in_the_story_is_not_for_the_agent() -> None:
    """Silence is part of what is shown."""
    assert [line.speaker for line in STORY if line.answer is None] == ["bob"]


def test_a_question_that_is_only_quoted_is_not_answered() -> None:
    """What was said earlier in the room stands above the question."""
    told = f"[Earlier in this room]\n- Alice: {STORY[0].body}\n\n[Bob] @hermes hello"

    assert answer(asked(told)).endswith(": [Bob] @hermes hello")


def test_what_the_reader_types_is_repeated() -> None:
    """With the number of the question, which shows what the session holds."""
    said = answer(asked("[Alice] @hermes one", "[Alice] two"))

    assert said == "I only follow a script. Question 2 in this conversation: [Alice] two"
