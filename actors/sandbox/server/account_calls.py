"""What an account asks about itself and the server: MyAccount, Viewer, Server, Discovery.

Source: Chatto 0.4.20, proto/chatto/api/v1/account.proto, proto/chatto/api/v1/viewer.proto,
proto/chatto/api/v1/server_state.proto, proto/chatto/discovery/v1/server.proto.
"""

from .accounts import Account, CustomStatus
from .assets import MAX_UPLOAD, MAX_VIDEO_UPLOAD
from .editing import EDIT_WINDOW_S
from .frames import SERVER_VERSION, Event
from .leaving import Leaving
from .notification_calls import NotificationPreferenceCalls
from .pb import Proto, api, at, discovery, nanoseconds
from .permissions import PERMISSION_NAMES
from .presence import Status
from .refusals import Reason, refused
from .views import Views
from .world import World

SERVER_NAME = "Chatto Sandbox"
MAX_EMOJI, MAX_STATUS_TEXT = 16, 100  # characters


class MyAccountCalls:
    """Answers the calls of MyAccountService an agent or its owner makes."""

    def __init__(self, world: World, views: Views, leaving: Leaving) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views
        self._leaving = leaving

    def update_profile(self, request: Proto, caller: Account) -> Proto:
        """Change login or display name."""
        if request.HasField("login"):
            self._world.accounts.rename(caller, request.login)
        if request.HasField("display_name"):
            caller.display_name = request.display_name
        tell_profile(self._world, caller, caller)
        return api.UpdateProfileResponse(user=self._views.user(caller))

    def update_password(self, request: Proto, caller: Account) -> Proto:
        """Change the password; it ends every token and stream of the account."""
        if not request.current_password:
            raise refused(Reason.PASSWORD_MISSING)
        if request.current_password != caller.password:
            raise refused(Reason.PASSWORD_WRONG)
        caller.password = request.password
        self._leaving.end_sessions(caller, "password_changed")
        return api.UpdatePasswordResponse(user=self._views.user(caller))

    def update_presence(self, request: Proto, caller: Account) -> Proto:
        """Say that one is there, for a minute."""
        self._world.presence.say(caller.id, Status(request.status))
        return api.UpdatePresenceResponse(status=request.status)

    def update_custom_status(self, request: Proto, caller: Account) -> Proto:
        """Say something about oneself."""
        expires_ns = None
        if request.HasField("expires_at"):
            expires_ns = nanoseconds(request.expires_at)
        self._require_status(request, expires_ns)
        caller.status = CustomStatus(request.emoji, request.text, expires_ns)
        payload = {"user_id": caller.id, "emoji": request.emoji, "text": request.text}
        if expires_ns is not None:
            payload["expires_at"] = at(expires_ns)
        event = Event("user_custom_status_set", caller.id, payload)
        self._world.feed.tell_everybody(event)
        return api.UpdateCustomStatusResponse(status=self._views.custom_status(caller))

    def delete_custom_status(self, request: Proto, caller: Account) -> Proto:
        """Take that back."""
        del request
        caller.status = None
        event = Event("user_custom_status_cleared", caller.id, {"user_id": caller.id})
        self._world.feed.tell_everybody(event)
        return api.DeleteCustomStatusResponse()

    def _require_status(self, request: Proto, expires_ns: int | None) -> None:
        if not request.emoji:
            raise refused(Reason.STATUS_WITHOUT_EMOJI)
        if len(request.emoji) > MAX_EMOJI or request.emoji.isascii():
            raise refused(Reason.STATUS_EMOJI)
        if not request.text.strip():
            raise refused(Reason.STATUS_EMPTY)
        if len(request.text) > MAX_STATUS_TEXT:
            raise refused(Reason.STATUS_TOO_LONG)
        if expires_ns is not None and expires_ns <= self._world.clock.now_ns():
            raise refused(Reason.STATUS_IN_PAST)


class ViewerCalls:
    """Answers the call of ViewerService."""

    def __init__(
        self, world: World, views: Views, preferences: NotificationPreferenceCalls
    ) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views
        self._preferences = preferences

    def get_viewer(self, request: Proto, caller: Account) -> Proto:
        """Show the caller's own account and what it may do."""
        del request
        return api.GetViewerResponse(
            user=api.ViewerUser(
                profile=self._views.user(caller),
                has_password=True,
                viewer_can_delete_account=True,
                settings=api.UserSettings(time_format=api.TIME_FORMAT_AUTO),
            ),
            capabilities=self._capabilities(caller),
            server_notification_preference=self._preferences.preference(caller, None),
            room_notification_preferences=self._room_preferences(caller),
            viewer_permissions=api.ServerViewerPermissions(
                permissions=[
                    api.PermissionGrant(
                        permission=name, granted=self._world.permissions.may(caller, name)
                    )
                    for name in PERMISSION_NAMES
                ]
            ),
            viewer_state=api.ServerViewerState(has_unread_rooms=self._has_unread(caller)),
        )

    def _capabilities(self, caller: Account) -> Proto:
        threads = self._world.threads.followed_by(caller.id)
        entries = self._world.inbox.of(caller.id).values()
        followed_ids = {thread.root.id for thread in threads}
        return api.ViewerCapabilities(
            grants=[api.CapabilityGrant(capability="dm.start", granted=True)],
            has_unread_followed_threads=any(one.is_unread_by(caller.id) for one in threads),
            has_pending_followed_thread_notifications=any(
                entry.thread_root_id in followed_ids for entry in entries
            ),
        )

    def _room_preferences(self, caller: Account) -> list[Proto]:
        return [
            api.RoomNotificationPreference(
                room_id=room.id, preference=self._preferences.preference(caller, room)
            )
            for room in self._world.rooms.all()
            if self._world.permissions.is_member(caller, room)
        ]

    def _has_unread(self, caller: Account) -> bool:
        return any(
            self._world.permissions.is_member(caller, room)
            and self._world.markers.has_unread(caller.id, room)
            for room in self._world.rooms.all()
            if not room.is_dm
        )


class ServerCalls:
    """Answers the calls of ServerService and ServerDiscoveryService."""

    def get_runtime_config(self, request: Proto, caller: Account) -> Proto:
        """Return limits clients have to know."""
        del request, caller
        runtime = api.ServerRuntimeConfig(
            max_upload_size=MAX_UPLOAD,
            max_video_upload_size=MAX_VIDEO_UPLOAD,
            message_edit_window_seconds=EDIT_WINDOW_S,
        )
        return api.GetRuntimeConfigResponse(runtime=runtime)

    def get_motd(self, request: Proto, caller: Account) -> Proto:
        """Return the message of the day: there is none."""
        del request, caller
        return api.GetMotdResponse()

    def get_server(self, request: Proto, caller: Account | None) -> Proto:
        """Return what everybody may know without an account."""
        del request, caller
        return discovery.GetServerResponse(
            profile=api.ServerPublicProfile(name=SERVER_NAME, version=SERVER_VERSION),
            login=api.ServerLogin(direct_registration_enabled=False),
        )


def tell_profile(world: World, actor: Account, account: Account) -> None:
    """Tell everybody how an account is called now."""
    payload = {
        "user_id": account.id,
        "login": account.login,
        "display_name": account.display_name,
    }
    world.feed.tell_everybody(Event("user_profile_updated", actor.id, payload))
