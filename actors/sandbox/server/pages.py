"""Pages of timelines as the wire shows them, with everybody their rows refer to.

Source: Chatto 0.4.20, cli/internal/connectapi/room_timeline_assembler.go.
"""

from collections.abc import Iterable

from .accounts import Account
from .pb import Proto, api, at
from .rows import Echo, Message, Row
from .timelines import RowT, Slice, write_cursor
from .views import Views
from .world import World


class Pages:
    """Builds the pages that reading calls answer."""

    def __init__(self, world: World, views: Views) -> None:
        """Show this world."""
        self._world = world
        self._views = views

    def page(self, viewer: Account, cut: Slice[RowT], root: Message | None = None) -> Proto:
        """Show a page of rows.

        Args:
            viewer: who reads.
            cut: the rows; the cursors are of its first and last one.
            root: stands before them without a cursor of its own; None for no such row.
        """
        rows: list[Row] = [*([root] if root else []), *cut.rows]
        page = api.RoomTimelinePage(has_older=cut.has_older, has_newer=cut.has_newer)
        if cut.rows:
            page.start_cursor = write_cursor(cut.rows[0].sequence)
            page.end_cursor = write_cursor(cut.rows[-1].sequence)
        page.events.extend(self._row(viewer, row) for row in rows)
        self._include(page.includes, page.events)
        return page

    def include_users(self, includes: Proto, messages: Iterable[Proto]) -> None:
        """Add everybody messages refer to: authors, who reacted, who answered."""
        user_ids: set[str] = set()
        for message in messages:
            user_ids.add(message.actor_id)
            user_ids.update(message.thread.participant_preview_user_ids)
            for reaction in message.reactions:
                user_ids.update(reaction.preview_user_ids)
        self._add_users(includes, user_ids)

    def _include(self, includes: Proto, events: Iterable[Proto]) -> None:
        self._add_users(includes, {event.actor_id for event in events})
        self.include_users(
            includes,
            [event.message_posted.message for event in events if event.HasField("message_posted")],
        )

    def _add_users(self, includes: Proto, user_ids: Iterable[str]) -> None:
        for user_id in user_ids:
            account = self._world.accounts.known(user_id)
            if account is not None and user_id not in includes.users:
                includes.users[user_id].CopyFrom(self._views.user(account))

    def _row(self, viewer: Account, row: Row) -> Proto:
        event = api.RoomTimelineEvent(
            id=row.id, created_at=at(row.created_ns), actor_id=row.actor_id
        )
        if isinstance(row, Message | Echo):
            event.message_posted.message.CopyFrom(self._views.message(viewer, row))
        else:
            getattr(event, row.kind).room_id = row.room.id
        return event
