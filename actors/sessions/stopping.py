"""What a command of the gateway ends in its lane."""

from .holding import Holding
from .journal import Draft
from .lane import Lane
from .turn import AT_GATEWAY

__all__ = ["STOPPING_COMMANDS", "stop_lane"]

STOPPING_COMMANDS = frozenset({"stop", "new", "reset"})
"""Commands that end the run of their session. Source: Hermes 0.22, gateway/platforms/base.py."""


def stop_lane(draft: Draft, lane: Lane, holding: Holding, by: str, command: str) -> None:
    """Plan what a command ends: the run, and of what waits its sender's own, or all of it.

    Args:
        draft: where it is planned.
        lane: whose command it is.
        holding: what the session of the lane holds.
        by: user ID of the sender.
        command: one of `STOPPING_COMMANDS`; `stop` leaves alone what others wait for.
    """
    for turn in lane:
        if turn.state == "queued" and (command != "stop" or turn.row.author_id == by):
            turn.cancel(draft, by, command)
            holding.skip(draft, turn, command)
        elif turn.state == "folded":
            turn.cancel(draft, by, command)
        elif turn.state in AT_GATEWAY:
            turn.stop(draft, by, command)
        lane.keep(turn)
