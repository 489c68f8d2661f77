"""Whose gateway home the plugin works in."""

from dataclasses import dataclass
from pathlib import Path

from hermes_constants import get_hermes_home

__all__ = ["Profile", "current_profile"]

DEFAULT_NAME = "default"


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile of the gateway: its own account, sessions and state."""

    name: str
    """As the gateway calls it; it stands in every row."""
    state_path: Path
    """The SQLite file; its folder may not exist yet."""


def current_profile() -> Profile:
    """Return the profile in whose scope this runs; call it from `connect`, never at import.

    Source: Hermes 0.22, hermes_constants.get_hermes_home: the answer depends on the context,
    as one gateway may serve several profiles.
    """
    home = Path(get_hermes_home())
    name = home.name if home.parent.name == "profiles" else DEFAULT_NAME
    return Profile(name=name, state_path=home / "chatto" / "state.db")
