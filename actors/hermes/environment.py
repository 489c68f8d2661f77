"""Variables as the profile sees them."""

import os

from agent.secret_scope import UnscopedSecretError, get_secret

__all__ = ["profile_variable"]


def profile_variable(name: str) -> str | None:
    """Return a variable of the profile in whose scope this runs; None: not set.

    Under several profiles the bare process environment holds the values of whichever profile
    the gateway was started with; only that one runs without a scope of its own.
    Source: Hermes 0.22, agent/secret_scope.py:get_secret and gateway/platforms/_shared.py.
    """
    try:
        value = get_secret(name, None)
    except UnscopedSecretError:
        value = os.environ.get(name)
    return None if value is None else str(value)
