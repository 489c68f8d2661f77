"""What the session of a lane holds of its thread, moved with every hand-over."""

from ...machines.room_session import Skip
from ...machines.thread import Advance, Undo
from ...store.threads import ThreadRow
from .journal import Draft, Journal
from .turn import TurnActor

__all__ = ["Holding"]


class Holding:
    """The thread's chart and row; kept by the thread actor, moved in its drafts."""

    def __init__(self, session_key: str, thread: ThreadRow | None, journal: Journal) -> None:
        """Take over a thread as its row says.

        Args:
            session_key: the gateway's key.
            thread: None: nothing was handed over for this key yet.
            journal: where steps are recorded.
        """
        self._key = session_key
        self._thread = thread
        self._journal = journal

    def hand_over(self, draft: Draft, turn: TurnActor) -> None:
        """Plan a hand-over: turn, thread and room session move in one transaction."""
        thread = self._thread or self._new_thread(turn)
        turn.hand_over(draft, thread)
        reached = Advance(frontier_id=turn.row.message_id, drained=True)
        self._thread = draft.thread(thread, "hand_over", reached, message_id=turn.row.message_id)
        if turn.room_session is not None:
            turn.room_session = draft.room_session(turn.room_session, "brief")

    def skip(self, draft: Draft, turn: TurnActor, reason: str) -> None:
        """Plan that the room is not told about: the turn ends before its hand-over."""
        if turn.room_session is not None:
            turn.room_session = draft.room_session(turn.room_session, "skip", Skip(reason))

    def undo(self, draft: Draft, turn: TurnActor) -> None:
        """Plan that a hand-over did not happen: the thread stands where it stood before."""
        if self._thread is not None and turn.row.thread_before is not None:
            before = Undo(turn.row.thread_before, turn.row.frontier_before)
            message_id = turn.row.message_id
            self._thread = draft.thread(self._thread, "undo", before, message_id=message_id)

    def _new_thread(self, turn: TurnActor) -> ThreadRow:
        now = self._journal.now()
        return ThreadRow(
            scope=self._journal.scope,
            session_key=self._key,
            room_id=turn.row.room_id,
            room_kind=turn.row.room_kind,
            thread_root_id=turn.row.thread_root_id,
            state="fresh",
            frontier_id=None,
            session_token=None,
            gap=0,
            created_at=now,
            updated_at=now,
        )
