"""The turns of one session key that are not at rest, in order of receipt."""

from collections.abc import Iterable, Iterator

from .turn import AT_GATEWAY, TurnActor

__all__ = ["Lane"]


RESUMABLE = frozenset({"interrupted", "processing", "correcting", "stopping"})
"""States of a turn that a run without a message may belong to."""


class Lane:
    """Who waits, and whom the gateway has."""

    def __init__(self, turns: Iterable[TurnActor]) -> None:
        """Take over turns in order of receipt."""
        self._turns = {turn.row.message_id: turn for turn in turns}

    def __iter__(self) -> Iterator[TurnActor]:
        """Go through a copy: the lane may change meanwhile."""
        return iter(list(self._turns.values()))

    def find(self, message_id: str) -> TurnActor | None:
        """Return the turn of a message; None: it is at rest, or of another lane."""
        return self._turns.get(message_id)

    def keep(self, turn: TurnActor) -> None:
        """Take in a turn, or let go of one that has come to rest."""
        if turn.row.closed_at is None:
            self._turns[turn.row.message_id] = turn
        else:
            self._turns.pop(turn.row.message_id, None)

    def at_gateway(self) -> TurnActor | None:
        """Return the turn the gateway has, or may have; None: the lane is free."""
        return next((turn for turn in self if turn.state in AT_GATEWAY), None)

    def waiting(self) -> TurnActor | None:
        """Return the turn that has waited longest; None: nobody waits."""
        return next((turn for turn in self if turn.state == "queued"), None)

    def waiting_count(self) -> int:
        """Return how many wait."""
        return sum(turn.state in {"admitted", "queued"} for turn in self)

    def reported(self, message_id: str | None) -> TurnActor | None:
        """Return the turn a report of the gateway is about; None: a run that is no turn.

        A run without a message is one the gateway resumed after a restart. A folded turn went
        into a run of the gateway's own: whatever is reported of such a run is about it, too.
        """
        turn = self.find(message_id) if message_id is not None else None
        if turn is not None and turn.state in AT_GATEWAY:
            return turn
        states = {"folded"} if message_id is not None else {"folded"} | RESUMABLE
        turn = self.at_gateway()
        return turn if turn is not None and turn.state in states else None
