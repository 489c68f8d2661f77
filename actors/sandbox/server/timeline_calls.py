"""Reading rooms and threads page by page, and marking them as read.

These calls belong to RoomService and ThreadService; both read the same way.
Source: Chatto 0.4.20, proto/chatto/api/v1/room_timeline.proto,
cli/internal/connectapi/room_timeline.go, cli/internal/core/read_state_model.go.
"""

from . import access, timelines
from .accounts import Account
from .pages import Pages
from .pb import Proto, api, at
from .readmarkers import last_post
from .refusals import Reason, refused
from .rooms import Room
from .rows import Message, Post
from .timelines import Direction, Position, page_limit
from .views import Views
from .world import World


class RoomTimelineCalls:
    """Answers the reading calls of RoomService."""

    def __init__(self, world: World, pages: Pages) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._pages = pages

    def get_room_events(self, request: Proto, caller: Account) -> Proto:
        """Read a page of a room."""
        position = _position(request)
        room = access.member_room(self._world, caller, request.room_id)
        cut = timelines.room_page(room.rows, position, page_limit(request.limit))
        return api.GetRoomEventsResponse(page=self._pages.page(caller, cut))

    def get_room_events_around(self, request: Proto, caller: Account) -> Proto:
        """Read the rows around one of them."""
        room = access.member_room(self._world, caller, request.room_id)
        anchor = self._world.log.find(room, request.event_id)
        if anchor is None:
            raise refused(Reason.NO_MESSAGE)
        cut = timelines.around(room.rows, anchor, page_limit(request.limit))
        return api.GetRoomEventsAroundResponse(
            page=self._pages.page(caller, cut), target_index=cut.target_index
        )

    def mark_room_as_read(self, request: Proto, caller: Account) -> Proto:
        """Move the caller's marker and dismiss what it passes."""
        room = access.member_room(self._world, caller, request.room_id)
        up_to = self._up_to(room, request.up_to_event_id)
        response = api.MarkRoomAsReadResponse()
        previous = self._world.markers.of(caller.id, room)
        if previous[0]:
            response.previous_last_read_at.CopyFrom(at(previous[0]))
        if up_to is None:
            return response
        moved = self._world.markers.advance(caller.id, room, up_to)
        read_to = self._world.markers.of(caller.id, room)
        dismissed = self._world.inbox.dismiss_where(
            caller.id,
            lambda entry: (
                entry.room is room and not entry.thread_root_id and entry.post.moment <= read_to
            ),
        )
        if moved or dismissed:
            self._world.markers.announce(caller.id, room)
        response.last_read_at.CopyFrom(at(read_to[0]))
        return response

    def _up_to(self, room: Room, event_id: str) -> Post | None:
        """Return the post to mark up to: the newest one for no ID, None in an empty room."""
        if not event_id.strip():
            return last_post(room)
        row = self._world.log.find(room, event_id)
        if row is None:
            raise refused(Reason.NO_READ_ANCHOR)
        if not isinstance(row, Message) or row.thread_root_id:
            raise refused(Reason.READ_ANCHOR_NOT_IN_ROOM)
        return row


class ThreadCalls:
    """Answers the calls of ThreadService."""

    def __init__(self, world: World, views: Views, pages: Pages) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views
        self._pages = pages

    def get_thread_events(self, request: Proto, caller: Account) -> Proto:
        """Read a page of a thread: the root leads it only where no cursor was given."""
        position = _position(request)
        root = self._root(request, caller)
        cut = timelines.thread_page(self._replies(root), position, page_limit(request.limit))
        lead = root if position.direction is Direction.NEWEST else None
        return api.GetThreadEventsResponse(page=self._pages.page(caller, cut, lead))

    def get_thread_events_around(self, request: Proto, caller: Account) -> Proto:
        """Read the root and the replies around one of them, or the first ones."""
        root = self._root(request, caller)
        limit = page_limit(request.limit)
        if request.event_id == root.id:
            cut, target_index = timelines.beginning(self._replies(root), limit), 0
        else:
            anchor = self._world.log.find(root.room, request.event_id)
            if anchor is None:
                raise refused(Reason.NO_MESSAGE)
            cut = timelines.around(self._replies(root), anchor, limit)
            target_index = cut.target_index + 1  # the root stands before them
        return api.GetThreadEventsAroundResponse(
            page=self._pages.page(caller, cut, root), target_index=target_index
        )

    def follow_thread(self, request: Proto, caller: Account) -> Proto:
        """Be told of every reply."""
        root = self._root(request, caller)
        self._world.threads.follow(self._world.threads.of(root), caller.id)
        return api.FollowThreadResponse(following=True, state=_follow_state(root, on=True))

    def unfollow_thread(self, request: Proto, caller: Account) -> Proto:
        """Be told of replies no more."""
        root = self._root(request, caller)
        self._world.threads.unfollow(self._world.threads.of(root), caller.id)
        state = _follow_state(root, on=False)
        return api.UnfollowThreadResponse(following=False, state=state)

    def list_followed_threads(self, request: Proto, caller: Account) -> Proto:
        """List followed threads of rooms the caller is in, newest activity first."""
        threads = [
            thread
            for thread in self._world.threads.followed_by(caller.id)
            if self._world.permissions.is_member(caller, thread.root.room)
            and (not request.unread_only or thread.is_unread_by(caller.id))
        ]
        limit, offset = request.page.limit or DEFAULT_THREADS, request.page.offset
        response = api.ListFollowedThreadsResponse(
            unread_only=request.unread_only,
            page=api.PageInfo(total_count=len(threads), has_more=len(threads) > offset + limit),
            threads=[
                api.FollowedThread(
                    root_message=self._views.message(caller, thread.root),
                    room=self._views.room_summary(thread.root.room),
                    thread=self._views.thread(caller, thread.root),
                )
                for thread in threads[offset : offset + limit]
            ],
        )
        self._pages.include_users(
            response.includes, [thread.root_message for thread in response.threads]
        )
        return response

    def mark_thread_as_read(self, request: Proto, caller: Account) -> Proto:
        """Move the caller's marker in a thread and dismiss what it passes."""
        root = self._root(request, caller)
        thread = self._world.threads.of(root)
        up_to = self._up_to(root, request.up_to_event_id)
        previous = thread.read_to.get(caller.id)
        read_to = thread.read_to[caller.id] = max(previous or (0, 0), up_to.moment)
        self._world.inbox.dismiss_where(
            caller.id,
            lambda entry: entry.thread_root_id == root.id and entry.post.moment <= read_to,
        )
        response = api.MarkThreadAsReadResponse()
        if previous is not None:
            response.previous_read_at.CopyFrom(at(previous[0]))
        return response

    def _up_to(self, root: Message, event_id: str) -> Message:
        replies = self._replies(root)
        if not event_id.strip():
            return replies[-1] if replies else root
        row = self._world.log.find(root.room, event_id)
        if row is None:
            raise refused(Reason.NO_READ_ANCHOR)
        if not isinstance(row, Message) or root.id not in {row.id, row.thread_root_id}:
            raise refused(Reason.READ_ANCHOR_NOT_IN_THREAD)
        return row

    def _root(self, request: Proto, caller: Account) -> Message:
        room = access.member_room(self._world, caller, request.room_id)
        return self._world.threads.require_root(room, request.thread_root_event_id)

    def _replies(self, root: Message) -> list[Message]:
        thread = self._world.threads.get(root.id)
        return thread.replies if thread else []


DEFAULT_THREADS = 20  # followed threads in a page


def _position(request: Proto) -> Position:
    match request.WhichOneof("cursor"):
        case "before":
            return Position(Direction.BEFORE, timelines.read_cursor(request.before))
        case "after":
            return Position(Direction.AFTER, timelines.read_cursor(request.after))
        case _:
            return Position(Direction.NEWEST)


def _follow_state(root: Message, *, on: bool) -> Proto:
    return api.ThreadFollowState(room_id=root.room.id, thread_root_event_id=root.id, following=on)
