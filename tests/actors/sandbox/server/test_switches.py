"""Each fault does what it says, to whom it is meant for, as often as it is told to."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from hermes_chatto.actors.sandbox.server.frames import fatal_error
from hermes_chatto.actors.sandbox.server.realtime import Timing
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.server.switches import (
    ALWAYS,
    POST,
    AnswerFirst,
    CutStream,
    DelayFrame,
    EchoFirst,
    Fault,
    LoseAnswer,
    LoseFrame,
    Refuse,
    RepeatFrame,
    Slow,
    StallStream,
)
from hermes_chatto.actors.sandbox.stage import Colleague, colleague
from hermes_chatto.actors.sessions.errors import (
    ChatError,
    OutcomeUnknownError,
    ServerBusyError,
    StreamLostError,
)
from hermes_chatto.actors.sessions.ports import Post
from hermes_chatto.actors.sessions.stream_events import MessagePosted, StreamOpened

POSTED = "message_posted"


class Scene:
    """Alice, her stream and a room."""

    def __init__(self, stage: Colleague) -> None:
        self.stage = stage
        self.alice = stage.person("alice")
        self.seen: list[str] = []
        """What Alice's side noticed, in order: `open`, `told`, `answer`, `lost: …`."""

    @property
    def posted(self) -> int:
        """How many messages of Alice's are on the server."""
        return len(self.stage.sandbox.world.log.messages_by(self.stage.ids["alice"]))

    async def posts(self) -> None:
        """Let Alice post, and take down that she was answered. Raises: ChatError."""
        await self.alice.post(Post(self.stage.rooms["R1"], None, None, "hello"))
        self.seen.append("answer")

    async def listens(self) -> None:
        """Follow Alice's stream until it ends."""
        try:
            async with aclosing(self.alice.stream()) as stream:
                async for event in stream:
                    if isinstance(event, StreamOpened):
                        self.seen.append("open")
                    elif isinstance(event, MessagePosted):
                        self.seen.append("told")
        except StreamLostError as error:
            self.seen.append(f"lost: {error.reason}")

    async def until_seen(self, *seen: str) -> None:
        """Wait until Alice's side noticed exactly this."""
        await self.stage.until(lambda: self.seen == [*seen])


@asynccontextmanager
async def scene(tmp_path: Path, *faults: Fault, heartbeat_s: float = 15) -> AsyncIterator[Scene]:
    """Set the scene, with faults for Alice."""
    timing = Timing(heartbeat_s=heartbeat_s)
    async with colleague(tmp_path, is_started=False, timing=timing) as stage:
        await stage.person("alice").identify()
        for fault in faults:
            fault.user_id = stage.ids["alice"]
        stage.faults.put(*faults)
        async with anyio.create_task_group() as tasks:
            played = Scene(stage)
            tasks.start_soon(played.listens)
            yield played
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("fault", "error", "posted"),
    [
        (Refuse(POST, Code.RESOURCE_EXHAUSTED), ServerBusyError, 0),
        (Refuse(POST, Code.UNAVAILABLE), OutcomeUnknownError, 0),
        (Refuse(POST, Code.INTERNAL), OutcomeUnknownError, 0),
        (Refuse(POST, Code.UNAVAILABLE, is_applied=True), OutcomeUnknownError, 1),
        (Refuse(POST, Code.INTERNAL, is_applied=True), OutcomeUnknownError, 1),
        (LoseAnswer(POST), OutcomeUnknownError, 1),
    ],
)
async def test_a_call_fails_once_and_then_no_more(
    tmp_path: Path, fault: Fault, error: type[ChatError], posted: int
) -> None:
    """Applied or not, as it was planned."""
    async with scene(tmp_path, fault) as played:
        with pytest.raises(error):
            await played.posts()
        assert played.posted == posted
        await played.posts()

        assert played.posted == posted + 1
        assert fault.struck == 1


async def test_a_fault_for_somebody_else_strikes_nobody(tmp_path: Path) -> None:
    """A scenario disturbs exactly whom it is about."""
    fault = Refuse(POST, Code.INTERNAL)
    async with scene(tmp_path, fault) as played:
        fault.user_id = played.stage.ids["bob"]
        await played.posts()

        assert fault.struck == 0


@pytest.mark.parametrize(
    ("fault", "order"),
    [(AnswerFirst(lead_s=0.5), ["answer", "told"]), (EchoFirst(), ["told", "answer"])],
)
async def test_the_order_of_answer_and_echo_can_be_chosen(
    tmp_path: Path, fault: Fault, order: list[str]
) -> None:
    """Both happen on a real server."""
    async with scene(tmp_path, fault, Slow(POST, after_s=0.05)) as played:
        await played.until_seen("open")
        await played.posts()
        await played.until_seen("open", *order)


async def test_without_a_stream_no_echo_is_waited_for(tmp_path: Path) -> None:
    """Not for long."""
    async with scene(tmp_path, EchoFirst()) as played:
        bob = played.stage.person("bob")
        played.stage.faults.clear()
        played.stage.faults.put(EchoFirst())
        with anyio.fail_after(5):
            await bob.post(Post(played.stage.rooms["R1"], None, None, "hello"))


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (DelayFrame(POSTED, 0.05), 2),
        (RepeatFrame(POSTED), 3),
        (LoseFrame(POSTED), 1),
    ],
)
async def test_frames_are_late_twice_or_lost(tmp_path: Path, fault: Fault, told: int) -> None:
    """The one frame it is about; the next one is as always."""
    async with scene(tmp_path, fault) as played:
        await played.until_seen("open")
        await played.posts()
        await played.posts()
        await played.stage.until(lambda: played.seen.count("told") == told)


@pytest.mark.parametrize("close_code", [None, 1011, 1013])
async def test_a_stream_ends_with_the_frame_it_was_about(
    tmp_path: Path, close_code: int | None
) -> None:
    """As a network breaks, or as a server says that it has to."""
    async with scene(tmp_path, CutStream(POSTED, close_code)) as played:
        await played.until_seen("open")
        await played.posts()
        await played.stage.until(lambda: len(played.seen) == 3)

        assert "told" not in played.seen
        assert any(each.startswith("lost:") for each in played.seen)


async def test_a_stream_can_be_refused_with_a_word(tmp_path: Path) -> None:
    """In the handshake, as a server whose storage is down does."""
    words = fatal_error("temporarily_unavailable", "not now").encoded
    async with scene(tmp_path, CutStream("hello", 1013, "not now", words)) as played:
        await played.stage.until(lambda: bool(played.seen))

        assert played.seen[0].startswith("lost: ")


async def test_a_stalled_stream_is_noticed_by_its_silence(tmp_path: Path) -> None:
    """The socket stays open; three heartbeats are missing."""
    async with scene(tmp_path, heartbeat_s=0.2) as played:
        await played.until_seen("open")
        stall = StallStream(user_id=played.stage.ids["alice"], times=ALWAYS)
        played.stage.faults.put(stall)
        await played.until_seen("open", "lost: silent")

        assert stall.struck > 0
