# ruff: noqa: SLF001 - how the gateway calls its base class
"""The adapter between the gateway's own machinery and a desk that writes down what it hears."""

import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from gateway.config import PlatformConfig
from gateway.platforms.base import BasePlatformAdapter, MessageEvent, ProcessingOutcome

from hermes_chatto.actors.hermes.adapter import ChattoAdapter
from hermes_chatto.actors.hermes.events import GatewayEvents
from hermes_chatto.actors.hermes.profile import Profile
from hermes_chatto.actors.hermes.session_ends import SessionEnds
from hermes_chatto.actors.hermes.settings import Settings
from hermes_chatto.actors.hermes.tool_bench import ToolBench
from hermes_chatto.actors.sessions.errors import StateUnusableError
from hermes_chatto.actors.sessions.facts import Person, Place, RoomKind
from hermes_chatto.actors.sessions.ports import (
    ConnectionReport,
    DeliveryResult,
    DeliveryState,
    Gateway,
    HandOver,
    Outgoing,
    Question,
    RunOutcome,
    TurnOrder,
)
from hermes_chatto.actors.sessions.tool_port import Tools

KEY = "agent:main:chatto:thread:R1:T1"
USABLE = {"url": "https://chat.example.org", "token": "s3cret"}
ORDER = TurnOrder(
    message_id="m1",
    place=Place("R1", RoomKind.CHANNEL, "T1"),
    room_name="general",
    author=Person("U1", "alice", "Alice"),
    text="hello",
    posted_at=datetime(2026, 1, 1, tzinfo=UTC),
)
DELIVERED = DeliveryResult(DeliveryState.DELIVERED, ("p1",))


class WritingDesk:
    """A desk that starts as it is told to and writes down everything else."""

    def __init__(self) -> None:
        self.first_report = ConnectionReport.LIVE
        self.start_error: StateUnusableError | None = None
        self.result = DELIVERED
        self.opened: list[tuple[Settings, Gateway, Profile]] = []
        self.runs: list[tuple[object, ...]] = []
        self.outgoing: list[Outgoing] = []
        self.typing: list[tuple[str, str | None]] = []
        self.ready: list[str] = []
        self.is_stopped = False
        self.run_is_over = anyio.Event()
        self.key_is_ready = anyio.Event()

    def open(self, settings: Settings, gateway: Gateway, profile: Profile) -> "WritingDesk":
        """Be opened, as the composition root would."""
        self.opened.append((settings, gateway, profile))
        return self

    async def start(self) -> None:
        """Report the first outcome, or fail."""
        if self.start_error is not None:
            raise self.start_error
        await self.opened[-1][1].report(self.first_report, "as the test wants")

    async def stop(self) -> None:
        """Be stopped."""
        self.is_stopped = True

    @property
    def tools(self) -> Tools | None:
        """Have none."""
        return None

    def run_started(self, session_key: str, message_id: str | None) -> None:
        """Write it down."""
        self.runs.append((session_key, message_id))

    def run_ended(self, session_key: str, message_id: str | None, outcome: RunOutcome) -> None:
        """Write it down."""
        self.runs.append((session_key, message_id, outcome))
        self.run_is_over.set()

    def key_ready(self, session_key: str) -> None:
        """Write it down."""
        self.ready.append(session_key)
        self.key_is_ready.set()

    async def deliver(self, outgoing: Outgoing) -> DeliveryResult:
        """Write it down."""
        self.outgoing.append(outgoing)
        return self.result

    async def show_typing(self, room_id: str, thread_root_id: str | None) -> None:
        """Write it down."""
        self.typing.append((room_id, thread_root_id))


@pytest.fixture
def desk() -> WritingDesk:
    """Return a desk that goes live at once."""
    return WritingDesk()


def adapter_for(desk: WritingDesk, **extra: object) -> ChattoAdapter:
    """Build an adapter as the gateway does, with usable settings and the given ones."""
    config = PlatformConfig(enabled=True, extra={**USABLE, **extra})
    return ChattoAdapter(config, lambda: desk.open, SessionEnds(), ToolBench())


async def connected(desk: WritingDesk, **extra: object) -> ChattoAdapter:
    """Build an adapter and connect it."""
    adapter = adapter_for(desk, **extra)
    assert await adapter.connect()
    return adapter


async def test_connecting_opens_the_desk_with_settings_and_profile(
    desk: WritingDesk, home: Path
) -> None:
    """The state is in the gateway's home, under a folder of ours."""
    adapter = await connected(desk, allowed_users="alice")

    ((settings, gateway, profile),) = desk.opened
    assert settings.allowed_users == ("alice",)
    assert profile == Profile("default", home / "chatto" / "state.db")
    assert gateway.session_key(ORDER.place) == KEY
    assert adapter.is_connected
    assert not adapter.send_path_degraded


async def test_a_profile_has_a_state_of_its_own(
    desk: WritingDesk, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named like its folder."""
    monkeypatch.setenv("HERMES_HOME", str(home / "profiles" / "bob"))

    await connected(desk)

    profile = desk.opened[0][2]
    assert profile == Profile("bob", home / "profiles" / "bob" / "chatto" / "state.db")


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"url": ""}, "CHATTO_URL is not set"),
        ({"token": ""}, "No credential for Chatto"),
        ({"token": "", "login": "bot"}, "CHATTO_PASSWORD is not set"),
        ({"allowed_users": {"alice": 1}}, "platforms.chatto.extra.allowed_users is not a list"),
    ],
    ids=repr,
)
async def test_unusable_settings_end_in_one_line(
    desk: WritingDesk, extra: dict[str, object], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not retried, no traceback, nothing opened."""
    adapter = adapter_for(desk, **extra)

    assert not await adapter.connect()

    assert adapter.has_fatal_error
    assert not adapter.fatal_error_retryable
    assert str(adapter.fatal_error_message).startswith(said)
    assert desk.opened == []
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.exc_info is None


def test_a_resumed_run_goes_on_with_its_question(desk: WritingDesk) -> None:
    """Else the gateway has the agent report the restart, and leave the question alone.

    Source: Hermes 0.22, gateway/run.py:build_resume_recovery_note.
    """
    assert adapter_for(desk).interactive_resume is False


async def test_a_state_file_that_cannot_be_used_ends_in_one_line(desk: WritingDesk) -> None:
    """The gateway lives on without the platform."""
    desk.start_error = StateUnusableError("the folder chatto cannot be written: change its owner")
    adapter = adapter_for(desk)

    assert not await adapter.connect()

    assert adapter.fatal_error_message == "the folder chatto cannot be written: change its owner"
    assert not adapter.fatal_error_retryable


async def test_a_state_file_that_is_locked_is_tried_again_by_the_gateway(
    desk: WritingDesk,
) -> None:
    """A lock, or a full disk, passes; the platform is not parked for it."""
    desk.start_error = StateUnusableError("state.db is locked", may_pass=True)
    adapter = adapter_for(desk)

    assert not await adapter.connect()

    assert adapter.fatal_error_message == "state.db is locked"
    assert adapter.fatal_error_retryable


async def test_a_refused_credential_parks_the_platform(desk: WritingDesk) -> None:
    """Only another setting helps."""
    desk.first_report = ConnectionReport.REFUSED
    adapter = adapter_for(desk)

    assert not await adapter.connect()

    assert adapter.fatal_error_code == "chatto_refused"
    await adapter.disconnect()
    assert desk.is_stopped


async def test_a_refusal_is_told_once(desk: WritingDesk) -> None:
    """By what `connect` returns; from then on by the handler of fatal errors."""
    told: list[str | None] = []
    is_told = anyio.Event()

    async def handle(adapter: BasePlatformAdapter) -> None:
        told.append(adapter.fatal_error_message)
        is_told.set()

    desk.first_report, running = ConnectionReport.REFUSED, WritingDesk()
    at_the_start, later = adapter_for(desk), adapter_for(running)
    for adapter in (at_the_start, later):
        adapter.set_fatal_error_handler(handle)
    assert not await at_the_start.connect()
    await at_the_start.disconnect()
    assert await later.connect()

    ((_, gateway, _),) = running.opened
    await gateway.report(ConnectionReport.REFUSED, "the password was changed")
    with anyio.fail_after(5):
        await is_told.wait()

    assert told == ["the password was changed"]


async def test_a_server_that_is_down_does_not_keep_the_gateway_down(desk: WritingDesk) -> None:
    """The connection is being opened again; the gateway shows it as retrying."""
    desk.first_report = ConnectionReport.LOST
    adapter = await connected(desk)

    assert adapter.is_connected
    assert adapter.send_path_degraded


async def test_warnings_about_settings_are_in_the_log(
    desk: WritingDesk, caplog: pytest.LogCaptureFixture
) -> None:
    """One each."""
    await connected(desk, require_mentions=True)

    assert [each.message for each in caplog.records if "no setting" in each.message] == [
        "platforms.chatto.extra.require_mentions is no setting; the nearest is require_mention"
    ]


async def test_a_turn_runs_through_the_gateways_machinery(desk: WritingDesk) -> None:
    """Hooks, typing and the answer reach the desk with thread and finality."""
    adapter = await connected(desk)

    async def answer(event: MessageEvent) -> str:
        return f"you said {event.text}"

    adapter.set_message_handler(answer)
    gateway = desk.opened[0][1]
    assert await gateway.hand_over(ORDER) is HandOver.TAKEN
    with anyio.fail_after(5):
        await desk.run_is_over.wait()

    assert desk.runs == [(KEY, "m1"), (KEY, "m1", RunOutcome.SUCCESS)]
    assert desk.outgoing == [
        Outgoing("R1", "T1", "you said hello", is_final=True, answers_id="m1", job_id=None)
    ]
    assert set(desk.typing) <= {("R1", "T1")}
    await adapter.disconnect()


async def test_a_stopped_run_ends_cancelled(desk: WritingDesk) -> None:
    """With the arguments it began with."""
    adapter = await connected(desk)
    has_begun = anyio.Event()

    async def think(event: MessageEvent) -> str:
        has_begun.set()
        await anyio.sleep_forever()
        return str(event.text)

    adapter.set_message_handler(think)
    await desk.opened[0][1].hand_over(ORDER)
    with anyio.fail_after(5):
        await has_begun.wait()
        await adapter.cancel_session_processing(KEY)

    assert desk.runs[-1] == (KEY, "m1", RunOutcome.CANCELLED)


@pytest.mark.parametrize("outcome", list(ProcessingOutcome))
async def test_a_run_ends_interrupted_while_the_gateway_stops(
    desk: WritingDesk, outcome: ProcessingOutcome
) -> None:
    """Whatever the hook says of it: the next start may resume it."""
    adapter = await connected(desk)
    source = GatewayEvents(adapter, lambda _: True).source(ORDER.place)
    untyped: Any = adapter
    untyped.gateway_runner = SimpleNamespace(_draining=True)

    await adapter.on_processing_complete(
        MessageEvent(text="hello", source=source, message_id="m1"), outcome
    )

    assert desk.runs == [(KEY, "m1", RunOutcome.INTERRUPTED)]
    await adapter.disconnect()


async def test_an_event_that_is_put_back_has_not_ended(desk: WritingDesk) -> None:
    """So the gateway resumes a run: it calls the hooks, runs nothing, and begins once more."""
    adapter = await connected(desk)
    attempts: list[int] = []

    async def put_back_twice(event: MessageEvent) -> str | None:
        attempts.append(len(desk.runs))
        if len(attempts) < 3:
            adapter._pending_messages[KEY] = event
            return None
        return "where was I"

    adapter.set_message_handler(put_back_twice)
    source = GatewayEvents(adapter, lambda _: True).source(ORDER.place)
    await adapter.handle_message(MessageEvent(text="", source=source, internal=True))
    with anyio.fail_after(5):
        await desk.run_is_over.wait()

    assert desk.runs == [(KEY, None)] * 3 + [(KEY, None, RunOutcome.SUCCESS)]
    assert attempts == [1, 2, 3]
    await adapter.disconnect()


async def test_an_event_behind_which_another_waits_has_ended(desk: WritingDesk) -> None:
    """Only one that came back itself is run again."""
    adapter = await connected(desk)
    source = GatewayEvents(adapter, lambda _: True).source(ORDER.place)
    begun: list[str | None] = []

    async def leave_one(event: MessageEvent) -> None:
        begun.append(event.message_id)
        if event.message_id is not None:
            adapter._pending_messages[KEY] = MessageEvent(text="", source=source, internal=True)

    adapter.set_message_handler(leave_one)
    await desk.opened[0][1].hand_over(ORDER)
    with anyio.fail_after(5):
        while len(desk.runs) < 4:  # noqa: ASYNC110 - the gateway's tasks tell nobody
            await anyio.sleep(0.01)

    success = RunOutcome.SUCCESS
    assert desk.runs == [(KEY, "m1"), (KEY, "m1", success), (KEY, None), (KEY, None, success)]
    assert begun == ["m1", None]
    await adapter.disconnect()


async def test_a_key_whose_event_was_put_back_and_let_go_is_told(desk: WritingDesk) -> None:
    """No run, no further word of the gateway: that the key is free is all there is."""
    adapter = await connected(desk)

    async def put_back(event: MessageEvent) -> None:
        adapter._pending_messages[KEY] = event

    adapter.set_message_handler(put_back)
    await desk.opened[0][1].hand_over(ORDER)
    with anyio.fail_after(5):
        while len(desk.runs) < 2:  # noqa: ASYNC110 - the gateway's tasks tell nobody
            await anyio.sleep(0.01)
        await adapter.cancel_background_tasks()
        await desk.key_is_ready.wait()

    assert desk.ready == [KEY]
    await adapter.disconnect()


@pytest.mark.parametrize(
    "state", [DeliveryState.REFUSED, DeliveryState.PARTIAL, DeliveryState.SUPERSEDED]
)
async def test_a_final_failure_is_posted_once(desk: WritingDesk, state: DeliveryState) -> None:
    """The gateway neither repeats it nor posts a plain text under it."""
    adapter = await connected(desk)
    ids = ("p1",) if state is DeliveryState.PARTIAL else ()
    desk.result = DeliveryResult(state, ids, "network: forbidden by the room")

    result = await adapter._send_with_retry("R1", "answer", metadata={"thread_id": "T1"})

    assert not result.success
    assert len(desk.outgoing) == 1


async def test_what_may_succeed_later_is_left_to_the_gateway(desk: WritingDesk) -> None:
    """It repeats the same text, which posted nothing."""
    adapter = await connected(desk)
    desk.result = DeliveryResult(DeliveryState.REFUSED, (), "rate_limited", is_retryable=True)

    first = await adapter.send("R1", "answer", metadata={"thread_id": "T1"})

    assert first.retryable
    assert not adapter._send_retry_is_final(first)


async def test_where_a_text_goes_is_said_by_the_metadata(desk: WritingDesk) -> None:
    """Never by the message it seems to answer."""
    adapter = await connected(desk)

    await adapter.send("R1", "on the way", "m9", {"thread_id": "T1"})
    await adapter.send("D1", "final", metadata={"notify": True})
    await adapter.send("R2/T2", "scheduled", metadata={"job_id": "j1", "notify": True})
    await adapter.send("R2", "bare")

    assert desk.outgoing == [
        Outgoing("R1", "T1", "on the way", is_final=False, answers_id="m9"),
        Outgoing("D1", None, "final", is_final=True),
        Outgoing("R2", "T2", "scheduled", is_final=True, job_id="j1"),
        Outgoing("R2", None, "bare", is_final=False),
    ]


async def test_what_a_run_asks_is_marked_as_a_question(desk: WritingDesk) -> None:
    """In the gateway's own words; an approval has the gateway's mark, a choice ours."""
    adapter = await connected(desk)
    in_thread = {"thread_id": "T1"}

    await adapter.send(
        "R1", "may I?", metadata={**in_thread, "is_approval_prompt": True, "_interim_send": True}
    )
    await adapter.send_clarify("R1", "which?", ["this", "that"], "c1", "key", in_thread)

    approval, choice = desk.outgoing
    assert approval == Outgoing("R1", "T1", "may I?", is_final=False, asks=Question.APPROVAL)
    assert replace(choice, text="") == Outgoing(
        "R1", "T1", "", is_final=False, asks=Question.CHOICE
    )
    assert choice.text


async def test_a_text_without_text_is_not_posted(desk: WritingDesk) -> None:
    """The server would refuse it."""
    adapter = await connected(desk)

    result = await adapter.send("R1", " \n")

    assert (result.success, result.error) == (False, "chatto: there is no text to post")
    assert desk.outgoing == []


async def test_a_long_text_is_handed_on_whole(desk: WritingDesk) -> None:
    """The outbox splits by bytes; the gateway must not split or cut before."""
    adapter = await connected(desk)

    await adapter.send("R1", "\N{EURO SIGN}" * 50_000)

    assert len(desk.outgoing[0].text) == 50_000
    assert adapter.splits_long_messages
    assert adapter.message_len_fn("\N{EURO SIGN}") == 3
    assert adapter.max_message_length_for_chat("R1") == 9_900


async def test_disconnecting_stops_the_desk_and_posts_nothing_more(desk: WritingDesk) -> None:
    """What comes later fails without a repetition."""
    adapter = await connected(desk)

    await adapter.disconnect()
    late = await adapter.send("R1", "too late")
    await adapter.send_typing("R1")

    assert desk.is_stopped
    assert (late.success, late.retryable) == (False, False)
    assert not adapter.is_connected


async def test_disconnecting_twice_or_before_connecting_is_harmless(desk: WritingDesk) -> None:
    """The gateway does both."""
    adapter = adapter_for(desk)

    await adapter.disconnect()
    await adapter.disconnect()

    assert not desk.is_stopped


async def test_resolved_logins_reach_the_gateway(desk: WritingDesk) -> None:
    """It compares IDs only."""
    adapter = await connected(desk, allowed_users="alice")
    assert adapter.resolved_allowlist_user_ids() == frozenset()

    desk.opened[0][1].allow(["U1"])

    assert adapter.resolved_allowlist_user_ids() == {"U1"}


async def test_a_home_channel_in_the_settings_becomes_the_gateways(desk: WritingDesk) -> None:
    """Room and thread apart; one that `/sethome` wrote stays."""
    adapter = await connected(desk, home_channel="R7/T7")

    home = adapter.config.home_channel
    assert home is not None
    assert (home.chat_id, home.thread_id) == ("R7", "T7")


async def test_a_key_that_became_free_is_told_to_the_desk(desk: WritingDesk) -> None:
    """As long as there is one."""
    adapter = await connected(desk)
    gateway = desk.opened[0][1]

    async def answer(event: MessageEvent) -> str:
        assert not gateway.is_ready(KEY)
        return str(event.text)

    adapter.set_message_handler(answer)
    await gateway.hand_over(ORDER)
    with anyio.fail_after(5):
        await desk.key_is_ready.wait()

    assert desk.ready == [KEY]
    await adapter.disconnect()
