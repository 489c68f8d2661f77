"""The conversation behind a thread is compressed, switched, suspended or pruned by the gateway.

What the model is sent afterwards is compared with the thread, line by line.
"""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from hermes_chatto.actors.sandbox.demo.people import OWNER
from hermes_chatto.actors.sandbox.model import Request

from .puppet import CONFIG, Strings, install
from .talk import Talk, everybody_posts, open_talk

pytestmark = pytest.mark.timeout(200)  # each start takes some ten seconds

LONG = 9_000
"""Characters of a message; a dozen are more than a compression leaves as they are."""
WORDY = f"{'x ' * (LONG // 2)} {{{{length {LONG}}}}}"
MANY = 16
"""Messages of a session with which the gateway compresses it before it runs the next question."""
STUCK = 3
"""Starts over which a run was under way, after which the gateway suspends its conversation.
Source: Hermes 0.22, gateway/run.py: _STUCK_LOOP_THRESHOLD."""


@pytest.fixture(scope="module")
async def talk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    """Start a gateway with the puppet in it."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", install(tmp_path_factory.mktemp("puppet")))
        async with open_talk(CONFIG) as talk:
            yield talk


def home(talk: Talk) -> Path:
    """Return the gateway's home."""
    return talk.real.stage.gateway.logs[0].parent.parent


def configures(talk: Talk, compression: Mapping[str, object]) -> None:
    """Say how the gateway compresses from the next conversation on."""
    config = home(talk) / "config.yaml"
    blocks = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps({**blocks, "compression": compression}), encoding="utf-8")


def standing(talk: Talk, root: str) -> tuple[str, str]:
    """Return the state of a thread, and the name of its conversation."""
    sql = "select state, session_token from threads where thread_root_id = ?"
    ((state, token),) = talk.real.rows(sql, root)
    return state, token


def key_of(talk: Talk, root: str) -> str:
    """Return the gateway's key of a thread."""
    ((key,),) = talk.real.rows("select session_key from threads where thread_root_id = ?", root)
    return str(key)


def said_before(request: Request) -> str:
    """Return all words of a prompt that its conversation held already."""
    return json.dumps(list(request.messages)[:-1])


def told_of(talk: Talk, asked: str, lines: list[str]) -> list[str]:
    """Return which of these lines came with a question, in order."""
    return [words for _, words in talk.told(asked) if words in lines]


def session_of(talk: Talk, root: str) -> str:
    """Return the gateway's session behind a thread."""
    routes = json.loads((home(talk) / "sessions" / "sessions.json").read_text(encoding="utf-8"))
    return str(routes[key_of(talk, root)]["session_id"])


def reasons(talk: Talk, root: str, event: str) -> list[str]:
    """Return why a thread took a step, each time it did."""
    sql = "select reason from transitions where machine = 'thread' and event = ? and key = ?"
    return [str(reason) for (reason,) in talk.real.rows(sql, event, key_of(talk, root))]


async def commands(talk: Talk, root: str, command: str) -> str:
    """Let Alice give a command in a thread; return what is answered."""
    message_id = await talk.post("alice", root, f"@hermes {command}")
    answer = await talk.real.answer_to(message_id)
    await talk.real.until_idle()
    return answer.body


@pytest.mark.parametrize("in_place", [True, False])
async def test_a_compression_changes_nothing(talk: Talk, *, in_place: bool) -> None:
    """Whether it rewrites the session or puts a new one in its place."""
    configures(talk, {"in_place": in_place})
    root = await talk.post("bob")
    first = await talk.asks(root)
    begun = len(talk.asked)
    session = session_of(talk, root)
    for _ in range(6):
        await everybody_posts(talk, root)
        await talk.asks(root, more=WORDY)
    before = standing(talk, root)
    await everybody_posts(talk, root)

    told = await commands(talk, root, "/compress")

    await everybody_posts(talk, root)
    await talk.asks(root)
    await talk.asks(root)
    assert "Compressed: " in told
    assert standing(talk, root) == before
    assert before[0] == "seeded"
    lines = [words for _, words in talk.told(*talk.asked[begun:])]
    posted = await talk.should_be_told(root, first)
    assert lines == [body.partition("\n")[0] for body in posted]
    assert (session_of(talk, root) == session) is in_place


async def test_a_compression_by_the_gateway_itself_changes_nothing(talk: Talk) -> None:
    """It comes behind the hand-over: the question finds the session compressed."""
    configures(talk, {"hygiene_hard_message_limit": MANY})
    root = await talk.post("bob")
    first = await talk.asks(root)
    begun = len(talk.asked)
    _, token = standing(talk, root)
    for _ in range(9):
        await everybody_posts(talk, root)
        await talk.asks(root, more=WORDY)
    await talk.asks(root)

    lengths = [len(talk.request(asked).messages) for asked in talk.asked[begun:]]
    assert lengths != sorted(lengths)
    assert standing(talk, root) == ("seeded", token)
    told = [words for _, words in talk.told(*talk.asked[begun:])]
    assert told == await talk.should_be_told(root, first)


async def test_a_session_that_is_switched_to_gets_the_thread_anew(talk: Talk) -> None:
    """It was there before a clean slate, and holds nothing of what was said since."""
    root = await talk.post("bob", words="the beginning")
    await talk.asks(root)
    first, session = talk.asked[-1], session_of(talk, root)
    await commands(talk, root, "/title dawn")
    await commands(talk, root, "/new")
    missed = [await talk.posts(login, root) for login in ("bob", OWNER)]
    await talk.asks(root)
    missed.append(await talk.posts("bob", root))
    await commands(talk, root, "/resume dawn")
    missed.append(await talk.posts("bob", root))
    await talk.asks(root)
    again = talk.asked[-1]
    later = await talk.posts("bob", root)
    await talk.asks(root)

    assert session_of(talk, root) == session
    assert first in said_before(talk.request(again))
    assert told_of(talk, again, missed) == missed
    assert talk.told(again)[0] == ("Bob", "the beginning")
    assert [words for _, words in talk.told(talk.asked[-1])] == [later]
    assert reasons(talk, root, "replace_session") == ["session_replaced"]


async def test_a_clean_slate_that_is_switched_away_from_is_none(talk: Talk) -> None:
    """Nobody asked in it, and the conversation in its place began before."""
    root = await talk.post("bob", words="the beginning")
    await talk.asks(root)
    first, session = talk.asked[-1], session_of(talk, root)
    await commands(talk, root, "/title dusk")
    missed = [await talk.posts("bob", root)]
    await commands(talk, root, "/new")
    missed.append(await talk.posts("bob", root))
    await commands(talk, root, "/resume dusk")
    missed.append(await talk.posts("bob", root))
    await talk.asks(root)

    assert session_of(talk, root) == session
    assert first in said_before(talk.request(talk.asked[-1]))
    assert told_of(talk, talk.asked[-1], missed) == missed


async def test_a_clean_slate_is_clean_where_nothing_was_switched_to(talk: Talk) -> None:
    """A command that finds no session leaves the new one where it is."""
    root = await talk.post("bob")
    await talk.asks(root)
    old = await talk.posts("bob", root)
    await commands(talk, root, "/new")
    new = await talk.posts("bob", root)
    await commands(talk, root, "/resume nothing")
    await talk.asks(root)

    assert told_of(talk, talk.asked[-1], [old, new]) == [new]


async def test_a_suspended_session_leaves_a_thread_that_begins_anew(talk: Talk) -> None:
    """The gateway suspends at its start what was under way over several of them."""
    root = await talk.post("bob", words="the beginning")
    await talk.asks(root)
    first = talk.asked[-1]
    before = await talk.posts("bob", root)
    await talk.asks(root)
    await talk.stops()
    counts = home(talk) / ".restart_failure_counts"
    counts.write_text(json.dumps({key_of(talk, root): STUCK}), encoding="utf-8")
    await talk.starts()
    missed = await talk.posts("bob", root)
    await talk.asks(root)
    anew = talk.asked[-1]
    later = await talk.posts("bob", root)
    await talk.asks(root)

    assert {"the beginning", before, missed} <= {words for _, words in talk.told(anew)}
    assert first not in said_before(talk.request(anew))
    assert [words for _, words in talk.told(talk.asked[-1])] == [later]
    assert reasons(talk, root, "replace_session") == ["session_replaced"]
    assert standing(talk, root)[0] == "seeded"


async def test_a_pruned_session_leaves_a_thread_that_begins_anew(talk: Talk) -> None:
    """Nothing that was said is lost, and the gateway's own recovery does not confuse us."""
    root = await talk.post("bob", words="the beginning")
    await talk.asks(root)
    session = session_of(talk, root)
    missed = [await talk.posts("bob", root)]
    await Strings(home(talk)).prune(key_of(talk, root))
    missed.append(await talk.posts("bob", root))
    await talk.asks(root)
    anew = talk.asked[-1]
    later = await talk.posts("bob", root)
    await talk.asks(root)

    assert session_of(talk, root) == session
    assert told_of(talk, anew, missed) == missed
    assert talk.told(anew)[0] == ("Bob", "the beginning")
    assert [words for _, words in talk.told(talk.asked[-1])] == [later]
    assert len(reasons(talk, root, "replace_session")) == 1


async def test_a_clean_slate_is_clean_in_a_thread_that_is_behind(talk: Talk) -> None:
    """What was still to come of a long backlog comes no more; what is said later does."""
    root = await talk.post("bob")
    await talk.asks(root)
    old = [await talk.posts(login, root) for login in ("bob", OWNER, "hermes") * 12]
    await talk.asks(root)
    was = standing(talk, root)
    behind = len(talk.asked)
    old.append(await talk.posts("bob", root))
    command = await talk.post("alice", root, "@hermes /new")
    await talk.real.answer_to(command)
    new = [await talk.posts(login, root) for login in ("bob", OWNER, "hermes")]
    await talk.asks(root)
    later = await talk.posts("bob", root)
    await talk.asks(root)

    assert was[0] == "behind"
    first, second = talk.asked[behind:]
    assert told_of(talk, first, [*old, *new]) == new
    assert told_of(talk, second, [*old, *new, later]) == [later]
    assert standing(talk, root)[0] == "seeded"
