"""How much programs have caused since a person wrote: what ends a talk among agents.

Two counters, each with the same budget: one per thread, and one per pair of the agent and another
program, wherever they meet, since programs that open a thread for every line would never come to
the end of one. A person's message begins the thread's counter anew, and those of the programs
that spoke last in its room.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...store import loops
from ...store.loops import PAIR, THREAD, LoopRow
from .journal import Draft, Journal

__all__ = ["Loops", "load_loops"]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Loops:
    """The counters a batch of messages in one room is about; changed here, then recorded."""

    journal: Journal
    room_id: str
    _rows: dict[tuple[str, str], LoopRow] = field(default_factory=dict)
    _changed: dict[tuple[str, str], LoopRow | None] = field(default_factory=dict)

    def caused(self, session_key: str, program_id: str) -> int:
        """Return how many turns programs caused here, or this one anywhere: the larger number."""
        keys = ((THREAD, session_key), (PAIR, program_id))
        return max(self._rows[key].turns if key in self._rows else 0 for key in keys)

    def count(self, session_key: str, program_id: str) -> None:
        """Note a turn that a program causes."""
        now = self.journal.now()
        for kind, key in ((THREAD, session_key), (PAIR, program_id)):
            row = self._rows.get((kind, key))
            turns = (row.turns if row else 0) + 1
            new = LoopRow(self.journal.scope, kind, key, self.room_id, turns, now)
            self._rows[kind, key] = self._changed[kind, key] = new

    def hear(self, program_id: str) -> None:
        """Note that a program spoke here in vain: whoever writes here may let it go on.

        Where it spent its budget there may be no person, as in a direct conversation of two.
        """
        row = self._rows.get((PAIR, program_id))
        if row is not None and row.room_id != self.room_id:
            moved = row._replace(room_id=self.room_id)
            self._rows[PAIR, program_id] = self._changed[PAIR, program_id] = moved

    def rearm(self, session_key: str) -> None:
        """Note that a person wrote."""
        for (kind, key), row in list(self._rows.items()):
            is_here = row.room_id == self.room_id
            if (kind == THREAD and key == session_key) or (kind == PAIR and is_here):
                log.info("programs may go on after %d turns: a person wrote (%s)", row.turns, key)
                del self._rows[kind, key]
                self._changed[kind, key] = None

    def record(self, draft: Draft) -> None:
        """Plan what was changed."""
        scope = self.journal.scope
        for (kind, key), row in self._changed.items():
            if row is not None:
                draft.also(lambda db, row=row: loops.save(db, row))  # type: ignore[misc]
            else:
                gone = LoopRow(scope, kind, key, self.room_id, 0, "")
                draft.also(lambda db, row=gone: loops.forget(db, row))  # type: ignore[misc]
        self._changed.clear()


async def load_loops(journal: Journal, room_id: str, program_ids: Iterable[str]) -> Loops:
    """Read the counters of a room and of the programs that write in it."""
    scope, ids = journal.scope, sorted(set(program_ids))
    rows = await journal.read(lambda db: loops.in_question(db, scope, room_id, ids))
    return Loops(journal, room_id, {(row.kind, row.key): row for row in rows})
