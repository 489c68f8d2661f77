"""One gateway per account, as far as one user of this machine can tell.

The lock on the state folder tells a second gateway of the same home. One with a home of its own,
but the same account, would answer everything a second time: the gateway's own lock tells that one.
It stands in a folder of the user's, and its own rules say when whoever holds it is gone.
Source: Hermes 0.22, gateway/status.py:acquire_scoped_lock; the platforms it ships use it alike.
"""

import logging

from gateway.platforms.base import BasePlatformAdapter

from .settings import Settings

__all__ = ["release_account", "take_account"]

logger = logging.getLogger(__name__)

LOCK = "chatto-account"


def take_account(adapter: BasePlatformAdapter, settings: Settings) -> bool:
    """Take the account for this gateway until it is released.

    A login and a token of the same account count as two, since only the server knows. Two profiles
    of one gateway are one process, which this lock lets in twice.

    Returns:
        False when another gateway has it; the adapter's fatal error then says which. The gateway
        tries again, but not at its own start (Hermes 0.22, gateway/run_startup.py). Where no lock
        can be made it goes on without one.
    """
    if settings.token is not None:
        who, called = settings.token.reveal(), "the Chatto account of CHATTO_TOKEN"
    else:
        who, called = str(settings.login).lower(), f"the Chatto account {settings.login}"
    identity = f"{settings.url} {who}"  # the gateway keeps its digest alone
    try:
        return bool(
            adapter._acquire_platform_lock(LOCK, identity, called)  # noqa: SLF001 - for adapters
        )
    except OSError as error:
        logger.warning("the account is not locked (%s): a second gateway would not be told", error)
        return True


def release_account(adapter: BasePlatformAdapter) -> None:
    """Let another gateway have the account; nothing, if it was not taken."""
    try:
        adapter._release_platform_lock()  # noqa: SLF001 - for adapters
    except OSError as error:
        logger.warning("the lock of the account stays (%s) until this process ends", error)
