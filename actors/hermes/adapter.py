"""The adapter object the gateway holds: its calls become calls of the `Desk`, and nothing else."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TypeAlias

import anyio.to_thread
from gateway.config import HomeChannel, Platform, PlatformConfig
from gateway.platforms.base import (
    BasePlatformAdapter,
    MessageEvent,
    ProcessingOutcome,
    SendResult,
)
from gateway.session import SessionSource

from ..sessions.errors import StateUnusableError
from ..sessions.ports import Desk, Gateway, Outgoing, RunOutcome
from .account_lock import release_account, take_account
from .environment import profile_variable
from .events import key_of_source
from .gateway_port import GatewayPort
from .known_toolsets import unknown_toolsets
from .listed_people import nobody_listed
from .profile import Profile, current_profile
from .questions import marked, question_of
from .send_results import not_posted, said_to_gateway
from .session_ends import SessionEnds, Subscription
from .settings import (
    Settings,
    SettingsError,
    admission_policy,
    missing_credential,
    resolve,
    split_home,
)
from .tool_bench import PLATFORM_NAME, ToolBench

__all__ = ["PLATFORM_NAME", "ChattoAdapter", "LoadDesk", "Metadata", "OpenDesk"]

logger = logging.getLogger(__name__)

PART_LIMIT = 9_900  # bytes; the server refuses a body of more than 10,000

OpenDesk: TypeAlias = Callable[[Settings, Gateway, Profile], Desk]
LoadDesk: TypeAlias = Callable[[], OpenDesk]
"""Imports the rest of the plugin and returns what opens a desk; slow, runs in a thread."""
Metadata: TypeAlias = Mapping[str, object]

OUTCOMES: Mapping[ProcessingOutcome, RunOutcome] = {
    ProcessingOutcome.SUCCESS: RunOutcome.SUCCESS,
    ProcessingOutcome.FAILURE: RunOutcome.FAILURE,
    ProcessingOutcome.CANCELLED: RunOutcome.CANCELLED,
}


class ChattoAdapter(BasePlatformAdapter):  # type: ignore[misc] # Hermes ships no types
    """The platform `chatto`. A new object per reconnect of the gateway; rows hold the state."""

    MAX_MESSAGE_LENGTH = PART_LIMIT
    SUPPORTS_MESSAGE_EDITING = False  # everybody would see "edited"; parts are the outbox's
    splits_long_messages = True
    supports_code_blocks = True
    interactive_resume = False  # else a resumed run reports the restart and leaves its question

    def __init__(
        self,
        config: PlatformConfig,
        load_desk: LoadDesk,
        session_ends: SessionEnds,
        bench: ToolBench,
    ) -> None:
        """Take the configuration; nothing is read or opened before `connect`.

        Args:
            config: the platform's block; two defaults that suit a shared server are written
                into it, where the operator has not decided otherwise.
            load_desk: called once per connect.
            session_ends: where the plugin's hook tells of agents that ended.
            bench: where the agent's tools come to be worked on.
        """
        super().__init__(config, Platform(PLATFORM_NAME))
        self._load_desk = load_desk
        self._session_ends = session_ends
        self._bench = bench
        self._hearing: Subscription | None = None
        self._port: GatewayPort | None = None
        self._desk: Desk | None = None
        # The gateway would offer a pairing code to strangers and post its own notices into the
        # thread of whoever wrote first. Source: Hermes 0.22, gateway/authz_mixin.py:
        # _get_unauthorized_dm_behavior, gateway/run_notifications.py:_deliver_platform_notice.
        config.extra.setdefault("unauthorized_dm_behavior", "ignore")
        config.extra.setdefault("notice_delivery", "private")

    @property
    def message_len_fn(self) -> Callable[[str], int]:
        """Return how the server measures a body: in bytes of UTF-8."""
        return _byte_length

    @property
    def send_path_degraded(self) -> bool:
        """Whether the connection is being opened again; the gateway shows it as retrying."""
        return self._port is not None and self._port.is_lost

    async def connect(self, *, is_reconnect: bool = False) -> bool:  # noqa: ARG002 - either way
        """Start the sessions and the connection.

        Returns:
            False when nothing but another setting helps; the fatal error then says which. Also
            when the state file is locked or its disk full, or another gateway has the account:
            then the gateway tries again (in the last case not at its own start).
            An unreachable server is no such case: it is tried again without the gateway.
        """
        try:
            settings = _settings_of(self.config)
        except SettingsError as error:
            return self._give_up("chatto_settings", str(error))
        if not take_account(self, settings):
            return False
        _settle_home(self.config, settings)
        for line in await anyio.to_thread.run_sync(_doubts_about, settings):
            logger.warning("%s", line)
        open_desk = await anyio.to_thread.run_sync(self._load_desk)
        self._port = GatewayPort(self, settings, self._tell_ready)
        self._hearing = self._session_ends.subscribe(self._port.runs.session_ended)
        self._desk = open_desk(settings, self._port, current_profile())
        try:
            await self._desk.start()
        except StateUnusableError as error:
            self._desk = None
            release_account(self)
            return self._give_up("chatto_state", str(error), may_pass=error.may_pass)
        self._port.fatal_errors.open()
        self._bench.open(self._desk, settings)
        return not self.has_fatal_error

    async def disconnect(self) -> None:
        """Stop the sessions in order; what is not finished stays in the rows."""
        desk, self._desk = self._desk, None
        if self._hearing is not None:
            self._session_ends.unsubscribe(self._hearing)
        if self._port is not None:
            self._port.close()
        if desk is not None:
            self._bench.close(desk)
            await desk.stop()
        release_account(self)
        self._mark_disconnected()

    async def send(
        self,
        chat_id: str,
        content: str,
        reply_to: str | None = None,
        metadata: Metadata | None = None,
    ) -> SendResult:
        """Post a text of any length through the outbox.

        The place is the room and the thread in `metadata`; `reply_to` can name the wrong
        message and is handed on as a hint only. An outcome that was unknown has been read
        back before this returns.
        """
        facts = metadata or {}
        room_id, home_thread = split_home(chat_id)
        thread_root_id = _text(facts, "thread_id") or home_thread
        if self._is_shutdown_notice(room_id, thread_root_id, facts):
            return not_posted("chatto: a notice of the gateway stays out of people's threads")
        if self._desk is None:
            return not_posted("chatto: not connected")
        if not content.strip():
            return not_posted("chatto: there is no text to post")
        outgoing = Outgoing(
            room_id=room_id,
            thread_root_id=thread_root_id,
            text=content,
            is_final=facts.get("notify") is True,
            answers_id=reply_to,
            job_id=_text(facts, "job_id"),
            asks=question_of(facts),
        )
        return said_to_gateway(await self._desk.deliver(outgoing))

    async def send_clarify(  # noqa: PLR0913, PLR0917 - the gateway's signature
        self,
        chat_id: str,
        question: str,
        choices: list[str] | None,
        clarify_id: str,
        session_key: str,
        metadata: Metadata | None = None,
    ) -> SendResult:
        """Post what a run asks its person, in the gateway's words, marked as a question."""
        facts = marked(metadata)
        return await super().send_clarify(
            chat_id, question, choices, clarify_id, session_key, facts
        )

    async def send_private_notice(
        self,
        chat_id: str,
        user_id: str | None,
        content: str,
        reply_to: str | None = None,
        metadata: Metadata | None = None,
    ) -> SendResult:
        """Keep a notice of the gateway to itself, unless it belongs to a direct conversation.

        In rooms nobody can be told something in private. In a direct conversation a notice is
        posted when it comes from elsewhere than the set-up of a turn (the sign-in link of
        `/login`); the set-up only has "no home channel" to say.
        Source: Hermes 0.22, gateway/run_turn.py:_hmwa_first_contact_notes (in the turn's own
        task), gateway/slash_commands_login.py:_push_login (direct conversations only).
        """
        del user_id
        is_in_thread = _text(metadata or {}, "thread_id") is not None
        if is_in_thread or asyncio.current_task() in self._session_tasks.values():
            logger.info("A notice of the gateway was not posted into room %s", chat_id)
            return SendResult(success=True)  # a failure would have it posted in public instead
        return await self.send(chat_id, content, reply_to, metadata)

    async def send_typing(self, chat_id: str, metadata: Metadata | None = None) -> None:
        """Show the agent typing, if the sessions know of a turn there."""
        if self._desk is not None:
            await self._desk.show_typing(chat_id, _text(metadata or {}, "thread_id"))

    async def get_chat_info(self, chat_id: str) -> dict[str, str]:
        """Return what the gateway calls the room; it keeps names from the sources itself."""
        return {"name": chat_id, "type": "channel"}

    def toolsets_for_source(self, source: SessionSource) -> list[str] | None:
        """Return the toolsets of a room and its threads in place of the platform's; None: those.

        An empty list would mean all of them, so "none" is the gateway's word for no servers.
        Source: Hermes 0.22, gateway/run_turn.py:_resolve_enabled_toolsets_for_source.
        """
        room_id = str(source.chat_id)
        self._bench.begin_in(room_id)
        toolsets = self._bench.toolsets_of(room_id)
        return None if toolsets is None else [*toolsets] or ["no_mcp"]

    async def on_processing_start(self, event: MessageEvent) -> None:
        """Tell that a run began."""
        key = key_of_source(self, event.source)
        if self._port is not None:
            self._port.runs.began(key, event.message_id, event.source)
        if self._desk is not None:
            self._desk.run_started(key, event.message_id)

    async def on_processing_complete(
        self, event: MessageEvent, outcome: ProcessingOutcome
    ) -> None:
        """Tell that a run ended; nothing, when the event waits for its run again."""
        key = key_of_source(self, event.source)
        if self._port is not None and _is_put_back(event, self._pending_messages.get(key)):
            self._port.is_ready(key)  # has it watched: the gateway may yet let go of the event
            return
        if self._port is not None:
            in_order = outcome is not ProcessingOutcome.CANCELLED
            self._port.runs.ended(key, event.message_id, in_order=in_order)
        if self._desk is not None:
            ending = RunOutcome.INTERRUPTED if self._is_draining else OUTCOMES[outcome]
            self._desk.run_ended(key, event.message_id, ending)

    def resolved_allowlist_user_ids(self) -> frozenset[str]:
        """Return the accounts the operator's list names, so that the gateway knows logins.

        Source: Hermes 0.22, gateway/authz_mixin.py:_adapter_resolved_allowlist_ids.
        """
        return self._port.allowed_ids if self._port is not None else frozenset()

    def _send_retry_is_final(self, result: SendResult) -> bool:
        """Tell whether the gateway must leave a failure as it is: no repetition, no fallback."""
        return not result.retryable

    def _give_up(self, code: str, text: str, *, may_pass: bool = False) -> bool:
        logger.error("Chatto: %s", text)
        self._set_fatal_error(code, text, retryable=may_pass)
        return False

    def _tell_ready(self, session_key: str) -> None:
        if self._desk is not None:
            self._desk.key_ready(session_key)

    @property
    def _is_draining(self) -> bool:
        """Whether the gateway stops: it interrupts what runs, and means to resume it."""
        return getattr(self.gateway_runner, "_draining", False) is True

    def _is_shutdown_notice(
        self, room_id: str, thread_root_id: str | None, facts: Metadata
    ) -> bool:
        """Tell whether the gateway says goodbye in somebody's conversation.

        It sends the same text to every place where a run is under way and to the home channel,
        marked like everything that is said on the way; only while it drains.
        Source: Hermes 0.22, gateway/run_shutdown.py:_notify_active_sessions_of_shutdown.
        """
        is_on_the_way = facts.get("_interim_send") is True
        is_prompt = facts.get("is_approval_prompt") is True
        if not self._is_draining or not is_on_the_way or is_prompt:
            return False
        home = self.config.home_channel
        is_home = home is not None and (home.chat_id, home.thread_id) == (room_id, thread_root_id)
        return not is_home


def _settings_of(config: PlatformConfig) -> Settings:
    resolution = resolve(profile_variable, config.extra)
    for warning in resolution.warnings:
        logger.warning("%s", warning)
    missing = missing_credential(resolution.settings)
    if missing is not None:
        raise SettingsError(missing)
    return resolution.settings


def _is_put_back(event: MessageEvent, pending: MessageEvent | None) -> bool:
    """Tell whether an event was not run, but put back to be given once more.

    So goes every resumption after a restart: its slot was taken for it, so the first attempt
    finds the session busy. The hooks are called each time.
    Source: Hermes 0.22, gateway/platforms/base.py:_requeue_backoff_delay, which tells an
    event that came back by the same two fields.

    Args:
        event: whose run is said to be over.
        pending: what waits for a run of the same key; None: nothing does.
    """
    return pending is not None and (
        (pending.message_id, pending.timestamp) == (event.message_id, event.timestamp)
    )


def _settle_home(config: PlatformConfig, settings: Settings) -> None:
    """Tell the gateway where notices go, unless it knows."""
    if settings.home_channel is None or config.home_channel is not None:
        return
    room_id, thread_root_id = split_home(settings.home_channel)
    config.home_channel = HomeChannel(
        platform=Platform(PLATFORM_NAME),
        chat_id=room_id,
        name=room_id,
        thread_id=thread_root_id,
    )


def _doubts_about(settings: Settings) -> list[str]:
    """Return a line for each setting that may not be meant as it is written."""
    nobody = nobody_listed(settings)
    toolsets = unknown_toolsets(admission_policy(settings).rooms)
    return toolsets if nobody is None else [nobody, *toolsets]


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8"))


def _text(facts: Metadata, name: str) -> str | None:
    value = facts.get(name)
    return str(value) if value else None
