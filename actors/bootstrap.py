"""The composition root: the one place that knows both Chatto and Hermes."""

import logging
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from sqlite_utils import Database

from ..store.database import StoreError, open_database
from ..store.folder_lock import hold_folder
from ..store.salvage import salvage
from .chatto.client import ChattoServer
from .chatto.credential import Credential, Password, Token
from .chatto.limits import Limits as ServerLimits
from .hermes.profile import Profile
from .hermes.settings import Settings, admission_policy, context_limits
from .runtime.clock import SystemClock
from .sessions.desk import Equipment, SessionsDesk
from .sessions.ports import Gateway
from .sessions.services import Limits

__all__ = ["open_desk"]

log = logging.getLogger(__name__)

PRESENCE_EVERY_S = 30.0  # half as long as it holds
DAY_S = 86_400


def open_desk(settings: Settings, gateway: Gateway, profile: Profile) -> SessionsDesk:
    """Put the sessions of a profile together; nothing is opened or sent before their start.

    Args:
        settings: of the profile; an address and a credential are among them.
        gateway: the gateway the plugin runs in.
        profile: whose state file it is.
    """
    limits = ServerLimits(
        read_timeout_s=settings.read_timeout_s, send_timeout_s=settings.send_timeout_s
    )
    url = settings.url or ""
    server = ChattoServer(url, _credential(settings), limits)
    equipment = Equipment(
        scope=profile.name,
        server_url=url,
        server=server,
        rooms=server.rooms,
        policy=admission_policy(settings),
        context=context_limits(settings),
        limits=Limits(
            busy_wait_s=settings.rate_limit_wait_s,
            resume_window_s=settings.resume_window_s,
            presence_every_s=PRESENCE_EVERY_S if settings.presence else 0.0,
            parallel_turns=max(1, settings.max_parallel_turns),
            retention_s=settings.retention_days * DAY_S,
        ),
        open_state=lambda: open_state(profile.state_path),
        clock=SystemClock(),
        hold_state=lambda: hold_folder(profile.state_path.parent),
    )
    return SessionsDesk(equipment, gateway)


def open_state(path: Path) -> Database:
    """Open the state file, and say so where a damaged one was set aside.

    Raises:
        StoreError: it cannot be used; the text says what to do.
    """
    opened = open_database(path, now=datetime.now(UTC))
    if opened.set_aside is not None:
        log.warning(
            "the state file was damaged and is set aside as %s; a new one is begun with the %d "
            "rows that could be read, and what is missing is read anew",
            opened.set_aside,
            _salvaged(opened.set_aside, opened.db),
        )
    log.info("state in %s, journal mode %s", path, opened.journal_mode)
    return opened.db


def _credential(settings: Settings) -> Credential:
    if settings.token is not None:
        return Token(settings.token.reveal())
    login, password = settings.login, settings.password
    return Password(login or "", password.reveal() if password else "")


def _salvaged(damaged: Path, fresh: Database) -> int:
    """Copy what can be read, and return how many rows that was; none where they do not fit."""
    try:
        return salvage(damaged, fresh)
    except (sqlite3.Error, StoreError):
        log.exception("nothing could be copied out of %s", damaged)
        return 0
