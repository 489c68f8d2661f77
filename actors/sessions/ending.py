"""How turns come to rest: by the end of their run, by what is in the room, or by neither."""

from .answering import NO_ANSWER, Answering
from .journal import Draft
from .lane import Lane
from .ports import RunOutcome
from .turn import TurnActor

__all__ = ["Ending"]


class Ending:
    """Plans the ends of a lane's turns; what the gateway calls a success decides nothing alone."""

    def __init__(self, lane: Lane, answering: Answering) -> None:
        """End turns of a lane.

        Args:
            lane: lets go of a turn that has come to rest.
            answering: knows what of an answer is in the room.
        """
        self._lane = lane
        self._answering = answering

    async def of_run(self, draft: Draft, turn: TurnActor, outcome: RunOutcome) -> None:
        """Plan what follows from the end of a run."""
        is_carried = turn.state == "folded" and outcome is RunOutcome.SUCCESS
        if turn.state == "delivering" or is_carried:
            # Whoever wanted the answer posted has been told, and will not ask again; a run that
            # was stopped leaves its answer on the way, which then decides.
            await self._by_what_is_in_the_room(draft, turn)
        else:
            turn.end_run(draft, outcome)
            self._lane.keep(turn)

    async def of_delivery(self, draft: Draft, turn: TurnActor, *, has_run: bool) -> None:
        """Plan what follows from the end of a delivery.

        Args:
            draft: where it is planned.
            turn: whose answer it was.
            has_run: whether somebody is left who could ask for the missing rest again.
        """
        if turn.state != "delivering":
            return
        if not has_run or await self._answering.failure_of(turn.row.message_id) is None:
            await self._by_what_is_in_the_room(draft, turn)

    async def without_run(self, draft: Draft, turn: TurnActor) -> None:
        """Plan the end of a turn that no run of the gateway will end any more."""
        if turn.state == "stopping":
            turn.end_run(draft, RunOutcome.CANCELLED)
        elif turn.state == "processing":
            # The gateway put it off, and then let go of it; of that it reports nothing.
            turn.fail(draft, "run_cancelled")
        elif turn.state in {"delivering", "folded"}:
            await self._by_what_is_in_the_room(draft, turn)
        self._lane.keep(turn)

    async def _by_what_is_in_the_room(self, draft: Draft, turn: TurnActor) -> None:
        """Plan the end of a turn by what of its answer is in the room; not before it is over."""
        message_id = turn.row.message_id
        if await self._answering.is_under_way(message_id):
            return
        failure = await self._answering.failure_of(message_id)
        if failure is None:
            turn.answer(draft)
        elif failure == NO_ANSWER and turn.state == "folded":
            turn.fall_silent(draft)
        else:
            turn.fail(draft, failure)
        self._lane.keep(turn)
