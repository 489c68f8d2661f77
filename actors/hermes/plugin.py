"""What the plugin registers with the gateway. Nothing heavy is imported or opened here."""

import dataclasses
import importlib.util
import logging
from collections.abc import Callable
from typing import Protocol, cast

from gateway.config import PlatformConfig
from gateway.platform_registry import PlatformEntry

from ..sessions.model_texts import HINT
from .adapter import PLATFORM_NAME, ChattoAdapter, LoadDesk, OpenDesk
from .environment import profile_variable
from .room_gate import RoomGate
from .session_ends import SessionEnds
from .settings import Settings, SettingsError, missing_credential, resolve, split_home
from .tool_bench import ToolBench
from .tools import ToolRegistrar, register_tools

__all__ = ["LoadDesk", "OpenDesk", "register"]

logger = logging.getLogger(__name__)

DEPENDENCIES = (
    "anyio",
    "chattolib",
    "connectrpc",
    "httpx",
    "markdown_it",
    "sqlite_utils",
    "statemachine",
    "websockets",
)


class Registrar(ToolRegistrar, Protocol):
    """The part of the gateway's plugin context that is used."""

    def register_platform(self, **entry: object) -> object:
        """Register a platform; unknown names are an error."""
        ...

    def register_hook(self, name: str, callback: Callable[..., object]) -> object:
        """Have a function called with what the gateway says about an event."""
        ...


def register(context: object, load_desk: LoadDesk) -> None:
    """Register the platform `chatto`, its tools, and the hooks it needs.

    Args:
        context: the gateway's plugin context.
        load_desk: see `LoadDesk`; called at connect.
    """
    session_ends, bench = SessionEnds(), ToolBench()
    entry: dict[str, object] = {
        "name": PLATFORM_NAME,
        "label": "Chatto",
        "adapter_factory": lambda config: ChattoAdapter(config, load_desk, session_ends, bench),
        "check_fn": has_dependencies,
        # without validate_config: a bad setting then ends in connect, which can say what is wrong
        "is_connected": is_set_up,
        "required_env": ["CHATTO_URL"],
        "install_hint": "pip install the dependencies of hermes-chatto into Hermes' environment",
        "env_enablement_fn": extras_from_environment,
        "apply_yaml_config_fn": show_gateway_its_settings,
        "allowed_users_env": "CHATTO_ALLOWED_USERS",
        "allow_all_env": "CHATTO_ALLOW_ALL_USERS",
        "cron_deliver_env_var": "CHATTO_HOME_CHANNEL",
        "max_message_length": ChattoAdapter.MAX_MESSAGE_LENGTH,
        "platform_hint": HINT,
        "emoji": "\N{SPEECH BALLOON}",
    }
    known = {described.name for described in dataclasses.fields(PlatformEntry)}
    registrar = cast("Registrar", context)
    registrar.register_platform(**{name: entry[name] for name in entry if name in known})
    registrar.register_hook("on_session_end", session_ends.tell)
    registrar.register_hook("pre_tool_call", RoomGate(bench).ask)
    register_tools(registrar, bench)


def has_dependencies() -> bool:
    """Tell whether everything the plugin imports is installed; imports and installs nothing."""
    return all(importlib.util.find_spec(name) is not None for name in DEPENDENCIES)


def is_set_up(config: PlatformConfig) -> bool:
    """Tell whether the operator has set the platform up: an address and a credential.

    A malformed entry counts as set up, so that connect gets to name it.
    """
    settings = _quiet_settings(config.extra)
    return settings is None or missing_credential(settings) is None


def extras_from_environment() -> dict[str, object] | None:
    """Return what the gateway itself must know of the profile's variables; None: nothing.

    Credentials are not among it: they are read at connect and stored nowhere.
    """
    settings = _quiet_settings({})
    if settings is None:
        return None
    extras: dict[str, object] = {}
    if settings.url is not None:
        extras["url"] = settings.url
    if settings.home_channel is not None:
        room_id, thread_root_id = split_home(settings.home_channel)
        extras["home_channel"] = {"chat_id": room_id, "name": room_id, "thread_id": thread_root_id}
    return extras or None


def show_gateway_its_settings(whole: dict[str, object], block: dict[str, object]) -> None:
    """Set the variables the gateway itself reads, where `config.yaml` alone says them.

    It knows who may talk to the agent (also when it resumes a turn after a restart) and where
    scheduled results go from the environment only. A variable that is set wins, and another
    profile's is never written.
    Source: Hermes 0.22, PlatformEntry.apply_yaml_config_fn, _shared.py:yaml_env_setter.
    """
    del whole
    try:
        from gateway.platforms._shared import yaml_env_setter  # noqa: PLC0415 - not in 0.19
    except ImportError:
        return
    extra = block.get("extra")
    written = {**block, **(extra if isinstance(extra, dict) else {})}
    try:
        settings = resolve(_no_variable, written).settings
    except SettingsError as error:
        logger.debug("Left to connect: %s", error)
        return
    set_variable = yaml_env_setter()
    if settings.allowed_users:
        set_variable("CHATTO_ALLOWED_USERS", list(settings.allowed_users))
    if settings.allow_all_users:
        set_variable("CHATTO_ALLOW_ALL_USERS", "true")
    if settings.home_channel is not None:
        set_variable("CHATTO_HOME_CHANNEL", settings.home_channel)


def _no_variable(name: str) -> None:
    del name


def _quiet_settings(extra: dict[str, object]) -> Settings | None:
    """Resolve without a word; None: an entry is malformed, which connect will say."""
    try:
        return resolve(profile_variable, extra).settings
    except SettingsError as error:
        logger.debug("Left to connect: %s", error)
        return None
