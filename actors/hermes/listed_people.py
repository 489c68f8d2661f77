"""Whether any setting names somebody who may talk to the agent."""

from .environment import profile_variable
from .settings import Settings

__all__ = ["nobody_listed"]

OF_GATEWAY = ("GATEWAY_ALLOWED_USERS", "GATEWAY_ALLOW_ALL_USERS")
"""Variables by which the gateway lets people in on every platform.
Source: Hermes 0.22, gateway/authz_mixin.py."""


def nobody_listed(settings: Settings) -> str | None:
    """Return the line that is to be said where nobody is named; None: somebody is, or may pair.

    A misspelt variable looks like one of the Chatto server's own, so nothing else tells of it.
    """
    is_anybody = (
        bool(settings.allowed_users)
        or settings.allow_all_users
        or settings.unauthorized_dm_behavior == "pair"
        or any(profile_variable(name) for name in OF_GATEWAY)
    )
    if is_anybody:
        return None
    return (
        "CHATTO_ALLOWED_USERS names nobody, so nobody may talk to the agent but whom the gateway "
        "has paired with. Set it to logins or user IDs, and look whether it is spelt like this"
    )
