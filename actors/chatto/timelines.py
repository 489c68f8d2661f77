"""Reading what was posted: stretches of threads, rooms and direct conversations."""

from collections.abc import Collection
from datetime import datetime

from ..sessions.errors import RequestRefusedError
from ..sessions.facts import Message, Page, Place
from ..sessions.ports import Post
from .read_back import FIRST_PAGE, LATER_PAGE, PAGES, Wanted
from .resources import Proto, moment_of, page_of, thread_page_of, timeline_row_of
from .session import Session

__all__ = ["Timelines"]

NEWEST_PAGE = 100  # rows


class Timelines:
    """The timelines of a server, as the account of a session may see them.

    A place without a root is the room or conversation itself.
    """

    def __init__(self, session: Session) -> None:
        """Read with a session's account."""
        self._session = session

    async def around(self, place: Place, row_id: str, limit: int) -> Page | None:
        """Read a stretch around one of its rows; None where the row is not in it (any more).

        Args:
            place: whose timeline.
            row_id: the row in the middle; the root of a thread gives its beginning.
            limit: rows of the stretch, 1 to 500, the root of a thread not counted.

        Raises:
            ChatError: see its tree.
        """
        try:
            if place.thread_root_id is None:
                return await self._around_in_room(place.room_id, row_id, limit)
            return await self._around_in_thread(place.room_id, place.thread_root_id, row_id, limit)
        except RequestRefusedError as error:
            if error.code == "not_found":
                return None
            raise

    async def first(self, place: Place, limit: int) -> Page:
        """Read the beginning.

        Raises:
            ChatError: `RequestRefusedError` also where the thread is gone.
        """
        if place.thread_root_id is not None:
            page = await self.around(place, place.thread_root_id, limit)
            if page is None:
                code, text = "not_found", "the thread is gone"
                raise RequestRefusedError(code, text)
            return page
        wire = await self._session.wire()
        # An empty cursor is the beginning of a room; none at all would be its end.
        # Source: Chatto 0.4.20, cli/internal/core/room_events.go.
        request = wire.pb.timeline.GetRoomEventsRequest(
            room_id=place.room_id, limit=limit, after=""
        )
        answer = await self._session.read(wire.services.rooms.get_room_events, request)
        return page_of(answer.page, 0)

    async def find(
        self, author_id: str, post: Post, *, not_before: datetime, exclude: Collection[str]
    ) -> str | None:
        """Look for a post; return the ID of the oldest row that fits, None when none does.

        Reads from the newest row backwards until the rows are older than the post can be, so
        that neither a busy thread nor a long time since the attempt hides it.

        Args:
            author_id: whose post.
            post: what it looks like, and where it belongs.
            not_before: the earliest time the server can have given it.
            exclude: IDs of rows that are known to be something else.

        Raises:
            ChatError: the place could not be read; `RequestRefusedError` also where more was
                posted since than is read for this.
        """
        wanted = Wanted(author_id, post, not_before, exclude)
        room_id, root_id = post.room_id, post.thread_root_id
        page = await self._newest(room_id, root_id, limit=FIRST_PAGE)
        found = wanted.oldest_in(page.events)
        pages = 1
        while found is None and page.has_older and wanted.may_precede(page.events):
            if pages == PAGES:
                code, text = "too_far_back", "too much was posted since to look for it"
                raise RequestRefusedError(code, text)
            pages += 1
            before = page.start_cursor
            page = await self._newest(room_id, root_id, limit=LATER_PAGE, before=before)
            found = wanted.oldest_in(page.events)
        return found

    async def newest(self, place: Place, *, since: datetime, most: int) -> list[Message]:
        """Read what was posted since a moment, oldest first, from the newest row backwards.

        Args:
            place: whose timeline.
            since: by the server's clock; the page on which it lies is returned whole.
            most: when so many rows were read, older pages are left.

        Raises:
            ChatError: see its tree.
        """
        found: list[Message] = []
        read, before = 0, None
        while True:
            page = await self._newest(
                place.room_id, place.thread_root_id, limit=NEWEST_PAGE, before=before
            )
            older = [_message_in(row) for row in page.events]
            found[:0] = [message for message in older if message is not None]
            read += len(page.events)
            # The root comes along with the newest replies, however old it is.
            oldest = next((row for row in page.events if row.id != place.thread_root_id), None)
            is_past = oldest is None or moment_of(oldest.created_at) < since
            if is_past or not page.has_older or read >= most:
                return found
            before = page.start_cursor

    async def _around_in_room(self, room_id: str, row_id: str, limit: int) -> Page:
        wire = await self._session.wire()
        request = wire.pb.timeline.GetRoomEventsAroundRequest(
            room_id=room_id, event_id=row_id, limit=limit
        )
        answer = await self._session.read(wire.services.rooms.get_room_events_around, request)
        return page_of(answer.page, answer.target_index)

    async def _around_in_thread(self, room_id: str, root_id: str, row_id: str, limit: int) -> Page:
        wire = await self._session.wire()
        request = wire.pb.timeline.GetThreadEventsAroundRequest(
            room_id=room_id, thread_root_event_id=root_id, event_id=row_id, limit=limit
        )
        answer = await self._session.read(wire.services.threads.get_thread_events_around, request)
        return thread_page_of(answer.page, answer.target_index)

    async def _newest(
        self, room_id: str, root_id: str | None, *, limit: int, before: str | None = None
    ) -> Proto:
        """Return a page of a thread, or of the room itself; `before` None: the newest one."""
        wire = await self._session.wire()
        if root_id is None:
            request = wire.pb.timeline.GetRoomEventsRequest(
                room_id=room_id, limit=limit, before=before
            )
            answer = await self._session.read(wire.services.rooms.get_room_events, request)
        else:
            request = wire.pb.timeline.GetThreadEventsRequest(
                room_id=room_id, thread_root_event_id=root_id, limit=limit, before=before
            )
            answer = await self._session.read(wire.services.threads.get_thread_events, request)
        return answer.page


def _message_in(row: Proto) -> Message | None:
    return timeline_row_of(row).message
