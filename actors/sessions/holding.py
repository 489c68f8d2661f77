"""What the session of a lane holds of its thread, looked at and moved with every hand-over."""

import json
import logging
import secrets
from collections.abc import Iterable

from ...machines.room_session import Skip
from ...machines.thread import Advance, Frontier, Undo
from ...store import outbox, turns
from ...store.threads import ThreadRow
from ...store.turns import TurnRow
from .briefing import Brief
from .journal import Draft
from .services import Services
from .turn import TurnActor

__all__ = ["Holding"]

log = logging.getLogger(__name__)

CLEAN_SLATES = frozenset({"/new", "/reset"})
"""Commands after which a conversation begins anew, and nothing older is told to it."""


class Holding:
    """The thread's chart and row; kept by the thread actor, moved in its drafts."""

    def __init__(self, session_key: str, thread: ThreadRow | None, services: Services) -> None:
        """Take over a thread as its row says.

        Args:
            session_key: the gateway's key.
            thread: None: nothing was handed over for this key yet.
            services: what the actors of the profile share.
        """
        self._key = session_key
        self._thread = thread
        self._services = services
        self._journal = services.journal

    async def review(self, draft: Draft, turn: TurnActor) -> ThreadRow:
        """Plan what happened to the thread since the last hand-over, and return it as it stands.

        A session may have appeared or been replaced behind our back; posts may have come by,
        or been missed.
        """
        if self._thread is None:
            self._thread = await self._first_sight(draft, turn)
        elif reason := await self._replacement():
            self._thread = await self._begin_anew(draft, self._thread, turn, reason)
        if self._thread.state == "seeded" and (news := await self._news(self._thread, turn)):
            self._thread = draft.thread(
                self._thread, "fall_behind", message_id=turn.row.message_id, reason=news
            )
        return self._thread

    def hand_over(
        self, draft: Draft, turn: TurnActor, brief: Brief, waiting: Iterable[TurnActor]
    ) -> None:
        """Plan a hand-over: turn, thread and room session move in one transaction.

        Args:
            draft: where it is planned.
            turn: what is handed over.
            brief: what it is told with.
            waiting: who waits behind it; the block told none of them.
        """
        before = self._thread or self._new_thread(turn)
        turn.hand_over(draft, before, before)
        self._thread = draft.thread(
            before,
            "hand_over",
            Advance(frontier_id=brief.frontier_id or "", drained=brief.drained),
            message_id=turn.row.message_id,
            reason=brief.reason,
            frontier_at=brief.frontier_at,
            ahead_ids=json.dumps(sorted(brief.ahead_ids)),
            owed_ids=json.dumps(sorted(brief.owed_ids | _overtaken(turn, brief, waiting))),
            blind_until_id=brief.blind_until_id,
            gap=brief.gap,
        )
        if before.state in {"fresh", "blind"}:
            self._services.following.plan(draft, self._thread)
        if turn.room_session is not None:
            turn.room_session = draft.room_session(turn.room_session, "brief")

    def settle(self, turn: TurnActor, brief: Brief) -> None:
        """Forget, after the commit, the posts that the session holds now."""
        row = turn.row
        root_id = row.thread_root_id
        self._services.unseen.settle(row.room_id, root_id, brief.told, brief.all_until)

    def skip(self, draft: Draft, turn: TurnActor, reason: str) -> None:
        """Plan that the room is not told about: the turn ends before its hand-over."""
        if turn.room_session is not None and turn.room_session.state == "blind":
            turn.room_session = draft.room_session(turn.room_session, "skip", Skip(reason))

    def undo(self, draft: Draft, turn: TurnActor) -> None:
        """Plan that a hand-over did not happen: the thread stands where it stood before."""
        row = turn.row
        if self._thread is None or row.thread_before is None:
            return
        if row.session_token != self._thread.session_token:
            # The conversation it was handed over to is gone, and its frontier with it.
            return
        before = Undo(row.thread_before, row.frontier_before)
        kept = json.loads(row.holding_before or "{}")
        self._thread = draft.thread(
            self._thread, "undo", before, message_id=row.message_id, **kept
        )

    async def keep_token(self, draft: Draft) -> None:
        """Store the conversation's name with the session, once there is one to store it with."""
        thread = self._thread
        if thread is None or thread.token_kept_at is not None:
            return
        if await self._clean_slate(thread):
            return  # the conversation it names is over; the next one gets a name of its own
        if await self._services.gateway.keep_session_token(self._key, thread.session_token):
            self._thread = draft.note_thread(thread, token_kept_at=self._journal.now())

    # --- what happened meanwhile --------------------------------------------------------------

    async def _first_sight(self, draft: Draft, turn: TurnActor) -> ThreadRow:
        thread = self._new_thread(turn)
        if await self._clean_slate(thread):
            return await self._begin_anew(draft, thread, turn, "session_replaced")
        if not self._services.gateway.has_session(self._key):
            return thread
        message_id = turn.row.message_id
        reason = "session_without_row"
        return draft.thread(thread, "lose_frontier", message_id=message_id, reason=reason)

    async def _replacement(self) -> str | None:
        """Say why the session is another one than the row knows; None: it is the same."""
        thread, gateway = self._thread, self._services.gateway
        if thread is None:
            return None
        if thread.token_kept_at is None and await self._clean_slate(thread):
            # Nothing to compare yet, or ever: the command ended the first run.
            return "session_replaced"
        if thread.state == "fresh":
            return None
        if thread.token_kept_at is None:
            return None if gateway.has_session(self._key) else "session_gone"
        token = await gateway.session_token(self._key)
        return None if token == thread.session_token else "session_replaced"

    async def _begin_anew(
        self, draft: Draft, thread: ThreadRow, turn: TurnActor, reason: str
    ) -> ThreadRow:
        """Plan a new conversation: from the command on that began it, or with its backfill."""
        message_id = turn.row.message_id
        command = await self._clean_slate(thread)
        if command is not None and await self._is_older(command):
            command = None  # the one that it began was switched away from
        fresh = {
            "session_token": secrets.token_hex(8),
            "token_kept_at": None,
            "ahead_ids": "[]",
            "owed_ids": "[]",
            "blind_until_id": None,
        }
        if command is None:
            return draft.thread(
                thread,
                "replace_session",
                message_id=message_id,
                reason=reason,
                frontier_at=None,
                **fresh,
            )
        return draft.thread(
            thread,
            "clear",
            Frontier(command.message_id),
            message_id=message_id,
            reason=command.command,
            frontier_at=command.posted_at,
            **fresh,
        )

    async def _clean_slate(self, thread: ThreadRow) -> TurnRow | None:
        """Return the command that ended the conversation before; None: something else did.

        What was asked since then belongs to the next conversation, and has its name.
        """
        scope, key, token = self._journal.scope, self._key, thread.session_token
        command, newest = await self._journal.read(
            lambda db: (
                turns.last_command(db, scope, key, CLEAN_SLATES),
                turns.newest_held(db, scope, key, token),
            )
        )
        return command if command is not None and command.lane_order > newest else None

    async def _is_older(self, command: TurnRow) -> bool:
        """Tell whether the conversation in place had begun before a command, here or elsewhere."""
        first_id = await self._services.gateway.oldest_in_transcript(self._key)
        if first_id is None:
            return False
        scope = self._journal.scope
        first = await self._journal.read(lambda db: turns.find(db, scope, first_id))
        is_here = first is not None and first.session_key == self._key
        return first is None or not is_here or first.lane_order < command.lane_order

    async def _news(self, thread: ThreadRow, turn: TurnActor) -> str | None:
        """Say what the session lacks before a trigger; None: nothing, no read is needed."""
        unseen = self._services.unseen
        if thread.gap != unseen.gap:
            return f"gap: {unseen.gap}"
        if unseen.has_missed(turn.row.room_id, turn.row.thread_root_id):
            return "was_out_of_room"
        posts = unseen.of(turn.row.room_id, turn.row.thread_root_id)
        if not posts.is_complete:
            return "too_many_posts"
        trigger_id = turn.row.message_id
        if trigger_id not in posts.ids:
            # Posted before what the session holds already: nothing of the rest is older.
            return None
        before = posts.before(trigger_id)
        held = await self._held(thread, before) | frozenset(json.loads(thread.ahead_ids))
        return next((message_id for message_id in before if message_id not in held), None)

    async def _held(self, thread: ThreadRow, ids: list[str]) -> frozenset[str]:
        if not ids:
            return frozenset()
        scope, key, token = self._journal.scope, self._key, thread.session_token
        return await self._journal.read(
            lambda db: (
                turns.held_among(db, scope, key, token, ids)
                | outbox.spoken_among(db, scope, key, token, ids)
            )
        )

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
            frontier_at=None,
            ahead_ids="[]",
            owed_ids="[]",
            blind_until_id=None,
            session_token=secrets.token_hex(8),
            token_kept_at=None,
            gap=0,
            created_at=now,
            updated_at=now,
        )


def _overtaken(turn: TurnActor, brief: Brief, waiting: Iterable[TurnActor]) -> frozenset[str]:
    """Return those who wait though they were posted before where the frontier goes."""
    frontier_at = brief.frontier_at or turn.row.posted_at
    return frozenset(
        each.row.message_id
        for each in waiting
        if each is not turn and each.row.posted_at <= frontier_at
    )
