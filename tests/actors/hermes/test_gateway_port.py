# ruff: noqa: SLF001 - what the gateway keeps of its runs is what the port reads
"""The port against the gateway's own base class: keys, hand-over, readiness, status."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from gateway.config import Platform, PlatformConfig
from gateway.platforms.base import BasePlatformAdapter, MessageEvent, SendResult

from hermes_chatto.actors.hermes.events import key_of_source
from hermes_chatto.actors.hermes.gateway_port import DEAD_SLOT_S, GatewayPort
from hermes_chatto.actors.hermes.settings import Settings
from hermes_chatto.actors.sessions.facts import Person, Place, RoomKind
from hermes_chatto.actors.sessions.ports import ConnectionReport, HandOver, TurnOrder

ALICE = Person("U1", "alice", "Alice")
BOB = Person("U2", "bob", "")
THREAD = Place("R1", RoomKind.CHANNEL, "T1")
DIRECT = Place("D1", RoomKind.DIRECT, None)
THREAD_KEY = "agent:main:chatto:thread:R1:T1"
ORDER = TurnOrder(
    message_id="m1",
    place=THREAD,
    room_name="general",
    author=ALICE,
    text="hello",
    posted_at=datetime(2026, 1, 1, tzinfo=UTC),
)


class BareAdapter(BasePlatformAdapter):  # type: ignore[misc] # Hermes ships no types
    """The gateway's base class, with nothing behind it."""

    def __init__(self) -> None:
        super().__init__(PlatformConfig(enabled=True), Platform("chatto"))
        self.may_post: anyio.Event | None = None
        self.on_post: Callable[[], None] = lambda: None

    async def connect(self, *, is_reconnect: bool = False) -> bool:
        return is_reconnect

    async def disconnect(self) -> None:
        return

    async def send(self, *args: object, **kwargs: object) -> SendResult:
        if self.may_post is not None:
            await self.may_post.wait()
        self.on_post()
        return SendResult(success=bool(args or kwargs))

    async def get_chat_info(self, chat_id: str) -> dict[str, str]:
        return {"name": chat_id, "type": "channel"}


class Agent:
    """What runs behind the adapter: takes events, and answers when it is let go."""

    def __init__(self) -> None:
        self.events: list[MessageEvent] = []
        self.has_begun = anyio.Event()
        self.may_end = anyio.Event()

    async def __call__(self, event: MessageEvent) -> str:
        """Run one event."""
        self.events.append(event)
        self.has_begun.set()
        await self.may_end.wait()
        return "answer"


class Runner:
    """The runner's own words for what it is doing."""

    def __init__(self) -> None:
        self._startup_restore_in_progress = False
        self._draining = False
        self._external_drain_active = False
        self.running: set[str] = set()
        self._running_agents: dict[str, object] = {}

    def _profile_name_for_source(self, source: object, *, adapter_profile: object) -> None:
        del source, adapter_profile

    def _is_session_running(self, key: str) -> bool:
        return key in self.running


class Stage:
    """An adapter with an agent behind it, and the port in front of it."""

    def __init__(self, settings: Settings, monotonic: Callable[[], float]) -> None:
        self.adapter = BareAdapter()
        self.agent = Agent()
        self.adapter.set_message_handler(self.agent)
        self.runner = Runner()
        untyped: Any = self.adapter
        untyped.gateway_runner = self.runner
        self.told: list[str] = []
        self.was_told = anyio.Event()
        self.port = GatewayPort(self.adapter, settings, self._tell, monotonic=monotonic)
        self.port.fatal_errors.open()

    def _tell(self, key: str) -> None:
        self.told.append(key)
        self.was_told.set()


@asynccontextmanager
async def stage(
    settings: Settings | None = None, monotonic: Callable[[], float] = lambda: 0.0
) -> AsyncIterator[Stage]:
    """Set the stage, and let every run end."""
    acted = Stage(settings or Settings(), monotonic)
    yield acted
    acted.agent.may_end.set()
    acted.port.close()
    await acted.adapter.cancel_background_tasks()


async def test_the_gateway_derives_the_keys() -> None:
    """A thread in a room, and a direct conversation: fixed for good."""
    async with stage() as acted:
        assert acted.port.session_key(THREAD) == THREAD_KEY
        assert acted.port.session_key(DIRECT) == "agent:main:chatto:dm:D1"


async def test_an_older_gateway_gives_the_same_keys() -> None:
    """0.19 has no method for it; the same two extras decide."""
    async with stage() as acted:
        source = acted.adapter.build_source(chat_id="R1", chat_type="thread", thread_id="T1")
        older: Any = SimpleNamespace(config=SimpleNamespace(extra={}))

        assert key_of_source(older, source) == THREAD_KEY


async def test_a_turn_on_a_free_key_is_taken() -> None:
    """The event has all the sessions know, and nothing they do not."""
    async with stage() as acted:
        taken = await acted.port.hand_over(ORDER)

        with anyio.fail_after(1):
            await acted.agent.has_begun.wait()
        assert taken is HandOver.TAKEN
        (event,) = acted.agent.events
        assert (event.text, event.message_id, event.channel_context) == ("hello", "m1", None)
        assert event.timestamp == ORDER.posted_at
        assert (event.user_id, event.user_name) == ("U1", "Alice")
        assert (event.reply_to_message_id, event.reply_to_text) == (None, None)
        source = event.source
        assert (source.chat_type, source.chat_id, source.thread_id) == ("thread", "R1", "T1")
        assert (source.chat_name, source.user_id, source.user_name) == ("general", "U1", "Alice")
        assert (source.message_id, source.role_authorized) == ("m1", False)
        assert not event.internal


@pytest.mark.parametrize("text", ["/new@hermes", "@url:http://example.org\n/new", "/über"])
async def test_what_is_for_the_agent_is_no_command_of_the_gateway(text: str) -> None:
    """It reads more commands than admission, which alone knows of edits and of whose run it is."""
    async with stage() as acted:
        order = replace(ORDER, text=text, is_for_the_agent=True)
        taken = await acted.port.hand_over(order)

        with anyio.fail_after(1):
            await acted.agent.has_begun.wait()
        (event,) = acted.agent.events
        assert taken is HandOver.TAKEN
        assert (event.text, event.is_command()) == (text, False)


async def test_a_direct_message_has_the_name_of_its_author() -> None:
    """The room has none; the login stands in for a display name that is empty."""
    async with stage() as acted:
        order = TurnOrder("m1", DIRECT, "", BOB, "hi", ORDER.posted_at)

        await acted.port.hand_over(order)

        with anyio.fail_after(1):
            await acted.agent.has_begun.wait()
        source = acted.agent.events[0].source
        assert (source.chat_type, source.thread_id, source.chat_name) == ("dm", None, "bob")


async def test_a_reply_is_quoted_when_its_text_is_known() -> None:
    """The gateway quotes only what has both an ID and a text."""
    async with stage() as acted:
        order = TurnOrder(
            "m2",
            THREAD,
            "general",
            ALICE,
            "why?",
            ORDER.posted_at,
            context="[Earlier]",
            reply_to_id="m1",
            reply_to_text="because",
            reply_to_author=BOB,
            reply_to_is_own=True,
        )

        await acted.port.hand_over(order)

        with anyio.fail_after(1):
            await acted.agent.has_begun.wait()
        event = acted.agent.events[0]
        assert (event.reply_to_message_id, event.reply_to_text) == ("m1", "because")
        assert (event.reply_to_author_id, event.reply_to_author_name) == ("U2", "bob")
        assert event.reply_to_is_own_message
        assert event.channel_context == "[Earlier]"


async def test_a_turn_without_anybody_to_run_it_is_not_taken() -> None:
    """The gateway drops it with an error in its log."""
    async with stage() as acted:
        untyped: Any = acted.adapter
        untyped.set_message_handler(None)

        assert await acted.port.hand_over(ORDER) is HandOver.NOT_TAKEN


async def test_nothing_is_given_behind_the_start_up_gate() -> None:
    """There the gateway would end it at once and play it again later."""
    async with stage() as acted:
        acted.runner._startup_restore_in_progress = True

        assert await acted.port.hand_over(ORDER) is HandOver.NOT_TAKEN
        assert acted.agent.events == []


async def test_a_command_that_waits_for_the_gate_is_told_of_it() -> None:
    """Also while a run of its key is under way: it is meant for that."""
    async with stage() as acted:
        assert acted.port.is_open(THREAD_KEY)
        await acted.port.hand_over(ORDER)
        acted.runner._startup_restore_in_progress = True
        assert not acted.port.is_open(THREAD_KEY)
        acted.runner._startup_restore_in_progress = False
        with anyio.fail_after(5):
            await acted.was_told.wait()

        assert not acted.port.is_ready(THREAD_KEY)


async def test_what_a_running_turn_swallows_is_folded() -> None:
    """Steered, redirected, an approval: the busy handler took it and no run of its own follows."""

    async def swallow(event: MessageEvent, key: str) -> bool:
        return bool(event and key)

    async with stage() as acted:
        acted.adapter.set_busy_session_handler(swallow)
        await acted.port.hand_over(ORDER)

        assert await acted.port.hand_over(ORDER) is HandOver.FOLDED


async def test_a_command_beside_a_running_turn_is_folded() -> None:
    """It is handled before the call returns, without hooks."""

    async def both(event: MessageEvent) -> str | None:
        return "status" if event.get_command() else await acted.agent(event)

    async with stage() as acted:
        acted.adapter.set_message_handler(both)
        await acted.port.hand_over(ORDER)
        command = TurnOrder("m2", THREAD, "general", ALICE, "/status", ORDER.posted_at)

        assert await acted.port.hand_over(command) is HandOver.FOLDED


async def test_a_command_is_handed_over_before_its_reply_is_posted() -> None:
    """Whoever hands over may be the one who has to post it."""
    posted = anyio.Event()

    async def stopped(event: MessageEvent) -> str | None:
        return "stopped" if event.get_command() else await acted.agent(event)

    async with stage() as acted:
        acted.adapter.set_message_handler(stopped)
        acted.runner._running_agents[THREAD_KEY] = SimpleNamespace(interrupt=None)
        await acted.port.hand_over(ORDER)
        acted.adapter.may_post, acted.adapter.on_post = anyio.Event(), posted.set
        command = TurnOrder("m2", THREAD, "general", ALICE, "/stop", ORDER.posted_at)

        with anyio.fail_after(1):
            assert await acted.port.hand_over(command) is HandOver.FOLDED
            acted.adapter.may_post.set()
            await posted.wait()


async def test_what_is_parked_behind_a_running_turn_is_taken() -> None:
    """It will run, with hooks of its own."""
    async with stage() as acted:
        await acted.port.hand_over(ORDER)
        second = TurnOrder("m2", THREAD, "general", ALICE, "more", ORDER.posted_at)

        assert await acted.port.hand_over(second) is HandOver.TAKEN


async def test_a_key_is_ready_again_when_its_run_is_over() -> None:
    """Not yet inside the hook: the key is held for some milliseconds more."""
    async with stage() as acted:
        assert acted.port.is_ready(THREAD_KEY)
        await acted.port.hand_over(ORDER)
        assert not acted.port.is_ready(THREAD_KEY)

        acted.agent.may_end.set()
        with anyio.fail_after(5):
            await acted.was_told.wait()

        assert acted.told == [THREAD_KEY]
        assert acted.port.is_ready(THREAD_KEY)


@pytest.mark.parametrize(
    "flag", ["_startup_restore_in_progress", "_draining", "_external_drain_active"]
)
async def test_no_key_is_ready_while_the_gateway_starts_stops_or_pauses(flag: str) -> None:
    """What comes then waits in the rows."""
    async with stage() as acted:
        setattr(acted.runner, flag, True)

        assert not acted.port.is_ready(THREAD_KEY)
        setattr(acted.runner, flag, False)
        with anyio.fail_after(5):
            await acted.was_told.wait()
        assert acted.told == [THREAD_KEY]


async def test_a_run_the_adapter_does_not_carry_holds_its_key() -> None:
    """A resumed turn claims its key before its event comes."""
    async with stage() as acted:
        acted.runner.running.add(THREAD_KEY)

        assert not acted.port.is_ready(THREAD_KEY)


async def test_a_slot_that_is_held_for_too_long_counts_as_dead() -> None:
    """The gateway clears it when the next message comes, so one must be allowed to come."""
    now = [0.0]
    async with stage(monotonic=lambda: now[0]) as acted:
        acted.runner.running.add(THREAD_KEY)
        assert not acted.port.is_ready(THREAD_KEY)

        now[0] = DEAD_SLOT_S

        assert acted.port.is_ready(THREAD_KEY)


async def test_a_guard_whose_task_is_over_does_not_hold_its_key() -> None:
    """The gateway heals it when the next message comes."""
    async with stage() as acted:
        await acted.port.hand_over(ORDER)
        guard = acted.adapter._active_sessions[THREAD_KEY]
        task = acted.adapter._session_tasks[THREAD_KEY]
        acted.agent.may_end.set()
        with anyio.fail_after(5):
            await task
        acted.adapter._active_sessions[THREAD_KEY] = guard
        acted.adapter._session_tasks[THREAD_KEY] = task

        assert acted.port.is_ready(THREAD_KEY)


@pytest.mark.parametrize(
    ("settings", "may"),
    [
        (Settings(), False),
        (Settings(allowed_users=("alice",)), False),
        (Settings(allowed_users=("U1",)), True),
        (Settings(allowed_users=("*",)), True),
        (Settings(allow_all_users=True), True),
    ],
    ids=repr,
)
async def test_who_is_listed_may_speak(settings: Settings, may: bool) -> None:  # noqa: FBT001
    """A login counts as soon as it is known which account it is; no answer is a no."""
    async with stage(settings) as acted:
        assert acted.port.may_speak("U1", THREAD) is may


async def test_a_login_may_speak_once_it_is_resolved() -> None:
    """And the source says so, for a gateway that only knows IDs."""
    async with stage(Settings(allowed_users=("alice",))) as acted:
        acted.port.allow(["U1"])

        assert acted.port.may_speak("U1", THREAD)
        assert not acted.port.may_speak("U2", THREAD)
        await acted.port.hand_over(ORDER)
        with anyio.fail_after(1):
            await acted.agent.has_begun.wait()
        assert acted.agent.events[0].source.role_authorized


async def test_the_gateways_own_means_let_in_too() -> None:
    """Its check is asked with the place as it would be in the source."""
    asked: list[tuple[str, str | None, str | None]] = []

    def check(user_id: str, chat_type: str | None, chat_id: str | None) -> bool:
        asked.append((user_id, chat_type, chat_id))
        return user_id == "U2"

    async with stage() as acted:
        acted.adapter.set_authorization_check(check)

        assert acted.port.may_speak("U2", DIRECT)
        assert not acted.port.may_speak("U3", THREAD)
        assert asked == [("U2", "dm", "D1"), ("U3", "thread", "R1")]


async def test_live_and_lost_are_states_of_a_running_adapter() -> None:
    """A lost connection is opened again without the gateway."""
    async with stage() as acted:
        await acted.port.report(ConnectionReport.LOST, "the server does not answer")
        assert (acted.adapter.is_connected, acted.port.is_lost) == (True, True)

        await acted.port.report(ConnectionReport.LIVE, "")
        assert (acted.adapter.is_connected, acted.port.is_lost) == (True, False)


async def test_a_refusal_is_told_without_waiting_for_what_the_gateway_does() -> None:
    """It disconnects the adapter, which waits for whoever reported."""
    told, may_go_on = anyio.Event(), anyio.Event()

    async def disconnect(adapter: BasePlatformAdapter) -> None:
        told.set()
        await may_go_on.wait()
        assert not adapter.fatal_error_retryable

    async with stage() as acted:
        acted.adapter.set_fatal_error_handler(disconnect)

        with anyio.fail_after(1):
            await acted.port.report(ConnectionReport.REFUSED, "CHATTO_TOKEN is not accepted")
            await told.wait()

        assert acted.adapter.fatal_error_message == "CHATTO_TOKEN is not accepted"
        may_go_on.set()


async def test_a_defect_makes_the_gateway_start_a_new_adapter() -> None:
    """It is retried, unlike a refusal; the traceback is in the log."""
    told = anyio.Event()

    async def replace(adapter: BasePlatformAdapter) -> None:
        assert adapter.fatal_error_retryable
        told.set()

    async with stage() as acted:
        acted.adapter.set_fatal_error_handler(replace)

        acted.port.crashed(ValueError("oops"))
        with anyio.fail_after(1):
            await told.wait()

        assert acted.adapter.fatal_error_code == "chatto_crashed"
        assert "ValueError" in str(acted.adapter.fatal_error_message)
