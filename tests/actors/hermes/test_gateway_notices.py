# ruff: noqa: SLF001 - the gateway's own entrances are the subject
"""The gateway's own code, talking through the adapter: notices, strangers, who is let in."""

from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from gateway.config import GatewayConfig, HomeChannel, Platform, PlatformConfig
from gateway.pairing import PairingStore
from gateway.platforms.base import MessageEvent
from gateway.run import GatewayRunner

from hermes_chatto.actors.hermes.adapter import ChattoAdapter
from hermes_chatto.actors.hermes.profile import Profile
from hermes_chatto.actors.hermes.session_ends import SessionEnds
from hermes_chatto.actors.hermes.settings import Settings
from hermes_chatto.actors.hermes.tool_bench import ToolBench
from hermes_chatto.actors.sessions.facts import Person, Place, RoomKind
from hermes_chatto.actors.sessions.ports import (
    ConnectionReport,
    DeliveryResult,
    DeliveryState,
    Gateway,
    Outgoing,
    RunOutcome,
    TurnOrder,
)
from hermes_chatto.actors.sessions.tool_port import Tools

THREAD = Place("R1", RoomKind.CHANNEL, "T1")
DIRECT = Place("D1", RoomKind.DIRECT, None)
KEY = "agent:main:chatto:thread:R1:T1"


class PostingDesk:
    """A desk that only posts."""

    def __init__(self) -> None:
        self.gateway: Gateway | None = None
        self.outgoing: list[Outgoing] = []
        self.run_is_over = anyio.Event()

    def open(self, settings: Settings, gateway: Gateway, profile: Profile) -> "PostingDesk":
        """Be opened."""
        del settings, profile
        self.gateway = gateway
        return self

    async def start(self) -> None:
        """Go live."""
        assert self.gateway is not None
        await self.gateway.report(ConnectionReport.LIVE, "")

    async def stop(self) -> None:
        """Have nothing to stop."""

    @property
    def tools(self) -> Tools | None:
        """Have none."""
        return None

    def run_started(self, session_key: str, message_id: str | None) -> None:
        """Take no note."""

    def run_ended(self, session_key: str, message_id: str | None, outcome: RunOutcome) -> None:
        """Let the test go on."""
        del session_key, message_id, outcome
        self.run_is_over.set()

    def key_ready(self, session_key: str) -> None:
        """Take no note."""

    async def deliver(self, outgoing: Outgoing) -> DeliveryResult:
        """Post."""
        self.outgoing.append(outgoing)
        return DeliveryResult(DeliveryState.DELIVERED, (f"p{len(self.outgoing)}",))

    async def show_typing(self, room_id: str, thread_root_id: str | None) -> None:
        """Show nothing."""


class Stage:
    """A connected adapter inside a gateway runner that was not started."""

    def __init__(self, extra: dict[str, object]) -> None:
        self.platform = Platform("chatto")
        usable = {"url": "https://chat.example.org", "token": "s3cret"}
        self.platform_config = PlatformConfig(enabled=True, extra={**usable, **extra})
        self.desk = PostingDesk()
        self.adapter = ChattoAdapter(
            self.platform_config, lambda: self.desk.open, SessionEnds(), ToolBench()
        )
        self.runner = bare_runner(self.platform, self.platform_config, self.adapter)
        untyped: Any = self.adapter
        untyped.gateway_runner = self.runner
        self.adapter.set_authorization_check(self.runner._make_adapter_auth_check(self.platform))

    @property
    def gateway(self) -> Gateway:
        """The port the sessions would have."""
        assert self.desk.gateway is not None
        return self.desk.gateway


def bare_runner(
    platform: Platform, config: PlatformConfig, adapter: ChattoAdapter
) -> GatewayRunner:
    """Return a runner that knows one adapter, as Hermes' own tests build theirs."""
    runner = GatewayRunner.__new__(GatewayRunner)
    vars(runner).update(
        config=GatewayConfig(platforms={platform: config}),
        adapters={platform: adapter},
        session_store=None,
        _profile_adapters={},
        _restart_requested=False,
        _restart_command_source=None,
    )
    return runner


async def stage(**extra: object) -> Stage:
    """Set the stage and connect."""
    acted = Stage(extra)
    assert await acted.adapter.connect()
    return acted


def order(place: Place, author_id: str = "U1") -> TurnOrder:
    """Return a message of somebody in a place."""
    author = Person(author_id, "alice", "Alice")
    return TurnOrder("m1", place, "general", author, "hello", datetime(2026, 1, 1, tzinfo=UTC))


async def run_with_notice(acted: Stage, place: Place) -> None:
    """Run a turn in whose set-up the gateway says that there is no home channel."""

    async def answer(event: MessageEvent) -> str:
        await acted.runner._deliver_platform_notice(event.source, "no home channel")
        return "answer"

    acted.adapter.set_message_handler(answer)
    await acted.gateway.hand_over(order(place))
    with anyio.fail_after(10):
        await acted.desk.run_is_over.wait()


@pytest.mark.parametrize("place", [THREAD, DIRECT])
async def test_the_home_channel_notice_stays_out_of_the_conversation(place: Place) -> None:
    """Nobody who asks a question gets told how to configure the gateway."""
    acted = await stage()

    await run_with_notice(acted, place)

    assert [each.text for each in acted.desk.outgoing] == ["answer"]


async def test_an_operator_who_wants_notices_in_public_gets_them() -> None:
    """The gateway's own key decides."""
    acted = await stage(notice_delivery="public")

    await run_with_notice(acted, THREAD)

    assert [each.text for each in acted.desk.outgoing] == ["no home channel", "answer"]


async def test_a_sign_in_link_reaches_the_direct_conversation_it_was_asked_in() -> None:
    """It comes from a task of its own, not from the set-up of a turn."""
    acted = await stage()
    source = acted.adapter.build_source(chat_id="D1", chat_type="dm", user_id="U1")

    await acted.runner._deliver_platform_notice(source, "sign in at ...")

    assert [each.text for each in acted.desk.outgoing] == ["sign in at ..."]


async def test_the_shutdown_notice_goes_to_the_home_channel_only() -> None:
    """Not into the thread whose turn is running; that turn is resumed later anyway."""
    acted = await stage()
    acted.platform_config.home_channel = HomeChannel(acted.platform, "RHOME", "home")
    acted.runner._session_state(KEY).turn.agent = object()
    acted.runner._draining = True

    await acted.runner._notify_active_sessions_of_shutdown()

    places = [(each.room_id, each.thread_root_id) for each in acted.desk.outgoing]
    assert places == [("RHOME", None)]


async def test_an_answer_in_the_last_second_is_still_posted() -> None:
    """So is a question for approval."""
    acted = await stage()
    acted.runner._draining = True
    on_the_way = {"thread_id": "T1", "_interim_send": True}

    await acted.adapter.send("R1", "answer", metadata={"thread_id": "T1", "notify": True})
    await acted.adapter.send("R1", "may I?", metadata={**on_the_way, "is_approval_prompt": True})
    await acted.adapter.send("R1", "shutting down", metadata=on_the_way)

    assert [each.text for each in acted.desk.outgoing] == ["answer", "may I?"]


@pytest.mark.parametrize(
    ("extra", "behavior"),
    [({}, "ignore"), ({"unauthorized_dm_behavior": "pair"}, "pair")],
    ids=["default", "pair"],
)
async def test_a_strangers_direct_message_gets_silence(
    extra: dict[str, object], behavior: str
) -> None:
    """No pairing code, unless the operator wants one."""
    acted = await stage(**extra)

    assert acted.runner._get_unauthorized_dm_behavior(acted.platform) == behavior


@pytest.mark.parametrize(
    ("behavior", "said"),
    [("decline", "only chat with my owner"), ("pair", "code")],
)
async def test_a_stranger_gets_the_gateways_own_answer(behavior: str, said: str) -> None:
    """Where the operator wants it, into the conversation it was asked in; no run begins."""
    acted = await stage(unauthorized_dm_behavior=behavior)
    acted.runner.pairing_store = PairingStore()
    admitted: list[object] = []

    async def admit(event: MessageEvent) -> None:
        admitted.append(await acted.runner._hm_admit_event(event))

    acted.adapter.set_message_handler(admit)
    await acted.gateway.hand_over(order(DIRECT, "U2"))
    with anyio.fail_after(10):
        await acted.desk.run_is_over.wait()

    (answer,) = acted.desk.outgoing
    assert (answer.room_id, answer.thread_root_id) == ("D1", None)
    assert said in answer.text
    assert admitted == [None]


@pytest.mark.parametrize("by", ["variable", "key"])
async def test_a_listed_login_is_authorised_by_the_gateway(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By either way of writing it, and nobody else is."""
    extra: dict[str, object] = {"allowed_users": ["alice"]} if by == "key" else {}
    if by == "variable":
        monkeypatch.setenv("CHATTO_ALLOWED_USERS", "alice")
    acted = await stage(**extra)
    acted.gateway.allow(["U1"])
    seen: list[MessageEvent] = []

    async def admit(event: MessageEvent) -> None:
        seen.append(event)

    acted.adapter.set_message_handler(admit)
    for place, author in ((THREAD, "U1"), (DIRECT, "U2")):
        await acted.gateway.hand_over(order(place, author))
        with anyio.fail_after(10):
            await acted.desk.run_is_over.wait()
        acted.desk.run_is_over = anyio.Event()

    assert [acted.runner._is_user_authorized(event.source) for event in seen] == [True, False]
    assert acted.gateway.may_speak("U1", THREAD)
    assert not acted.gateway.may_speak("U2", DIRECT)


async def test_the_gateways_own_list_lets_in_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """`GATEWAY_ALLOWED_USERS` beside the plugin's list."""
    monkeypatch.setenv("GATEWAY_ALLOWED_USERS", "U9")
    acted = await stage(allowed_users="U1")

    assert acted.gateway.may_speak("U9", THREAD)
    assert acted.gateway.may_speak("U1", THREAD)
    assert not acted.gateway.may_speak("U2", THREAD)
