"""NotificationService and NotificationPreferencesService: the account's own inbox.

Source: Chatto 0.4.20, proto/chatto/api/v1/notifications.proto,
proto/chatto/api/v1/notification_preferences.proto.
"""

from collections import Counter
from itertools import islice

from .accounts import Account
from .inbox import Level
from .pb import Proto, api
from .refusals import Reason, refused
from .rooms import Room
from .users import page_of
from .views import Views
from .world import World

DEFAULT_ENTRIES, MOST_ENTRIES = 50, 100  # in a page


class NotificationCalls:
    """Answers the calls of NotificationService."""

    def __init__(self, world: World, views: Views) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views

    def list_notifications(self, request: Proto, caller: Account) -> Proto:
        """List the inbox, newest first; the offset counts what is left."""
        entries = self._world.inbox.of(caller.id)
        limit = min(request.page.limit or DEFAULT_ENTRIES, MOST_ENTRIES)
        end = request.page.offset + limit
        cut = islice(reversed(entries.values()), request.page.offset, end)
        return api.ListNotificationsResponse(
            notifications=[self._views.notification(entry) for entry in cut],
            page=api.PageInfo(total_count=len(entries), has_more=len(entries) > end),
        )

    def list_room_notifications(self, request: Proto, caller: Account) -> Proto:
        """List the entries of one room, newest first; for who is not in it there are none."""
        room = self._world.rooms.require(request.room_id)
        is_member = self._world.permissions.is_member(caller, room)
        entries = [
            entry
            for entry in reversed(self._world.inbox.of(caller.id).values())
            if entry.room is room and is_member
        ]
        cut, page = page_of(entries, request.page, default=DEFAULT_ENTRIES, most=MOST_ENTRIES)
        return api.ListRoomNotificationsResponse(
            notifications=[self._views.notification(entry) for entry in cut], page=page
        )

    def list_room_notification_counts(self, request: Proto, caller: Account) -> Proto:
        """Count the entries of every room that has some."""
        del request
        counts = Counter(entry.room.id for entry in self._world.inbox.of(caller.id).values())
        return api.ListRoomNotificationCountsResponse(
            room_counts=[
                api.RoomNotificationCount(room_id=room_id, total_count=count)
                for room_id, count in counts.items()
            ]
        )

    def get_notification(self, request: Proto, caller: Account) -> Proto:
        """Look an entry up."""
        entry = self._world.inbox.of(caller.id).get(request.notification_id)
        if entry is None:
            raise refused(Reason.UNKNOWN)
        return api.GetNotificationResponse(notification=self._views.notification(entry))

    def batch_get_notifications(self, request: Proto, caller: Account) -> Proto:
        """Look entries up, each once; unknown ones are left out."""
        entries = self._world.inbox.of(caller.id)
        found = [entries.get(one) for one in dict.fromkeys(request.notification_ids)]
        return api.BatchGetNotificationsResponse(
            notifications=[self._views.notification(entry) for entry in found if entry]
        )

    def has_notifications(self, request: Proto, caller: Account) -> Proto:
        """Tell whether there are any."""
        del request
        return api.HasNotificationsResponse(
            has_notifications=bool(self._world.inbox.of(caller.id))
        )

    def dismiss_notification(self, request: Proto, caller: Account) -> Proto:
        """Take an entry away; again is fine."""
        self._world.inbox.dismiss(caller.id, request.notification_id)
        return api.DismissNotificationResponse(dismissed=True)

    def dismiss_all_notifications(self, request: Proto, caller: Account) -> Proto:
        """Take everything away and tell how much it was."""
        del request
        count = self._world.inbox.dismiss_where(caller.id, lambda _: True)
        return api.DismissAllNotificationsResponse(dismissed_count=count)


class NotificationPreferenceCalls:
    """Answers the calls of NotificationPreferencesService."""

    def __init__(self, world: World) -> None:
        """Translate between the wire and this world."""
        self._world = world

    def get_server_notification_preference(self, request: Proto, caller: Account) -> Proto:
        """Return the server-wide level."""
        del request
        return api.GetNotificationPreferenceResponse(preference=self.preference(caller, None))

    def update_server_notification_preference(self, request: Proto, caller: Account) -> Proto:
        """Set the server-wide level."""
        self._world.inbox.set_level(caller.id, None, Level(request.level))
        return api.UpdateNotificationPreferenceResponse(preference=self.preference(caller, None))

    def get_room_notification_preference(self, request: Proto, caller: Account) -> Proto:
        """Return the level of a room."""
        room = self._own_room(request, caller)
        return api.GetNotificationPreferenceResponse(preference=self.preference(caller, room))

    def update_room_notification_preference(self, request: Proto, caller: Account) -> Proto:
        """Set the level of a room."""
        room = self._own_room(request, caller)
        self._world.inbox.set_level(caller.id, room, Level(request.level))
        return api.UpdateNotificationPreferenceResponse(preference=self.preference(caller, room))

    def preference(self, caller: Account, room: Room | None) -> Proto:
        """Show the level set and the one that holds."""
        return api.NotificationPreference(
            level=int(self._world.inbox.level(caller.id, room)),
            effective_level=int(self._world.inbox.effective_level(caller.id, room)),
        )

    def _own_room(self, request: Proto, caller: Account) -> Room:
        room = self._world.rooms.require(request.room_id)
        if not self._world.permissions.is_member(caller, room):
            raise refused(Reason.DENIED)
        return room
