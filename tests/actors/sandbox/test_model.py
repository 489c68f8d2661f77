"""The scripted model: what it does with a request, and how that looks on the wire."""

import json
from collections.abc import Iterator, Sequence

import httpx
import pytest

from hermes_chatto.actors.sandbox.model import (
    Reply,
    Request,
    ScriptedModel,
    ToolCall,
    echo,
    reply_to,
)


def asked(prompt: str, *, tools: Sequence[str] = ("todo",), is_streamed: bool = True) -> Request:
    """Return a request with one user message."""
    messages = ({"role": "system", "content": "Be good."}, {"role": "user", "content": prompt})
    return Request(1, messages, tuple(tools), is_streamed)


def body(prompt: str, *, is_streamed: bool) -> dict[str, object]:
    """Return the body of a request as an agent sends it."""
    tool = {"type": "function", "function": {"name": "todo"}}
    messages = [{"role": "user", "content": prompt}]
    return {"model": "scripted", "messages": messages, "tools": [tool], "stream": is_streamed}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that repeats what it is told."""
    with ScriptedModel(echo) as running:
        yield running


@pytest.fixture
def http(model: ScriptedModel) -> Iterator[httpx.Client]:
    """A client of the model."""
    with httpx.Client(base_url=model.base_url, trust_env=False) as client:
        yield client


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("good morning", Reply("echo: good morning")),
        ("{{say exactly this}} please", Reply("exactly this")),
        ("{{wait 2.5}} {{say done}}", Reply("done", wait_s=2.5)),
        ("{{fail 503}} {{say never}}", Reply("never", status=503)),
        ("earlier: {{say old}}\nnow: {{say new}}", Reply("new")),
        (
            "[Earlier]\n- Bob: {{wait 20}}\n\n[New message]\n[Ann] {{say here}}",
            Reply("here"),
        ),
        (
            '{{call todo {"items": {"a": 1}}}} {{say x}}',
            Reply("x", call=ToolCall("todo", '{"items": {"a": 1}}')),
        ),
    ],
)
def test_markers_in_the_newest_message_steer_the_reply(prompt: str, reply: Reply) -> None:
    """The last marker of a kind counts: what is quoted before it was for somebody else."""
    assert reply_to(asked(prompt), echo) == reply


def test_a_length_is_kept_to_the_character_and_no_line_comes_twice() -> None:
    """The gateway replaces long answers that repeat themselves."""
    reply = reply_to(asked("{{length 20000}}"), echo)

    lines = reply.text.splitlines()
    assert len(reply.text) == 20_000
    assert len(set(lines)) == len(lines)


def test_the_gateway_naming_a_session_is_no_question() -> None:
    """It quotes the question, markers and all, and wants a title."""
    naming = asked("{{fail 500}} {{wait 9}}", tools=(), is_streamed=False)

    assert reply_to(naming, echo) == Reply("A conversation")


def test_the_result_of_a_tool_is_told() -> None:
    """After the call the newest message is the tool's, and the marker has done its work."""
    before = asked("{{call todo {}}}")
    after = Request(2, (*before.messages, {"role": "tool", "content": "3 items"}), ("todo",), True)  # noqa: FBT003

    assert reply_to(after, echo) == Reply("The tool says: 3 items")


def test_an_answer_comes_in_pieces_and_says_why_it_ends(http: httpx.Client) -> None:
    """Server-sent events, each a chunk, closed by the word of the interface."""
    answer = http.post("/chat/completions", json=body("{{say one two three}}", is_streamed=True))

    *events, last, rest = answer.text.split("\n\n")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    said = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
    assert answer.headers["content-type"] == "text/event-stream"
    assert "".join(said) == "one two three"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert (last, rest) == ("data: [DONE]", "")


def test_an_answer_comes_plain_when_it_is_asked_for_plain(http: httpx.Client) -> None:
    """One JSON object."""
    answer = http.post("/chat/completions", json=body("{{say all of it}}", is_streamed=False))

    assert answer.json()["choices"][0]["message"]["content"] == "all of it"


@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_tool_call_is_one_and_no_text(http: httpx.Client, *, is_streamed: bool) -> None:
    """The agent calls the tool and asks again."""
    asked_for = body('{{call todo {"a": 1}}}', is_streamed=is_streamed)
    answer = http.post("/chat/completions", json=asked_for)

    assert '"tool_calls"' in answer.text
    assert json.dumps('{"a": 1}') in answer.text


def test_a_planned_refusal_has_its_status(http: httpx.Client) -> None:
    """Whatever the agent makes of it."""
    answer = http.post("/chat/completions", json=body("{{fail 429}}", is_streamed=True))

    assert answer.status_code == 429


def test_the_model_describes_itself(http: httpx.Client) -> None:
    """The agent looks its context length up; what it asks for besides is not there."""
    assert http.get("/models").json()["data"][0]["context_length"] == 200_000
    assert http.get("/models/scripted").json()["id"] == "scripted"
    assert http.get("/props").status_code == 404
    assert http.post("/embeddings", json={}).status_code == 404


def test_what_was_asked_can_be_read_afterwards(model: ScriptedModel, http: httpx.Client) -> None:
    """In order, with the tools the agent offered."""
    http.post("/chat/completions", json=body("first", is_streamed=False))
    http.post("/chat/completions", json=body("second", is_streamed=True))

    assert [(each.number, each.prompt) for each in model.requests] == [(1, "first"), (2, "second")]
    assert model.requests[0].tools == ("todo",)


def test_stopping_does_not_wait_for_an_answer_that_takes_long() -> None:
    """A demo that is stopped ends at once."""
    with ScriptedModel(echo) as model, httpx.Client(trust_env=False) as client:
        asked_for = body("{{wait 600}}", is_streamed=True)
        with client.stream("POST", f"{model.base_url}/chat/completions", json=asked_for) as answer:
            status = answer.status_code

    assert status == 200


def test_who_asks_while_another_is_answered_is_seen_beside_it(
    model: ScriptedModel, http: httpx.Client
) -> None:
    """So a test can tell that two agents were at work at once; hanging up is an end, too."""
    slow = body("{{wait 20}} {{say late}}", is_streamed=True)
    quick = body("{{say soon}}", is_streamed=True)

    with http.stream("POST", "chat/completions", json=slow):
        http.post("chat/completions", json=quick)
        http.post("chat/completions", json=quick)
    while model.requests[-1].beside or len(model.requests) == 3:
        http.post("chat/completions", json=quick)

    assert [request.beside for request in model.requests[:3]] == [(), (1,), (1,)]
