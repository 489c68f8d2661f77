"""The table of services: which object answers the calls of which Connect service.

A service of the server that is missing here, or a method its objects lack, is answered
`unimplemented`.
"""

from .account_calls import MyAccountCalls, ServerCalls, ViewerCalls
from .admin_calls import AdminPermissionCalls, AdminUserCalls
from .asset_calls import AssetCalls, UploadCalls
from .directory_calls import RoomDirectoryCalls, UserCalls
from .editing import Editing
from .leaving import Leaving
from .membership import Membership
from .message_calls import MessageCalls
from .notification_calls import NotificationCalls, NotificationPreferenceCalls
from .pages import Pages
from .posting import Posting
from .room_calls import MemberCalls, RoomCalls
from .timeline_calls import RoomTimelineCalls, ThreadCalls
from .views import Views
from .world import World

PUBLIC = frozenset(
    {
        "chatto.discovery.v1.ServerDiscoveryService",
        "chatto.auth.v1.ExternalIdentityAuthService",
    }
)
"""Services that need no credential."""


def services_of(world: World) -> dict[str, tuple[object, ...]]:
    """Build everything that answers calls on this world, by full name of the service."""
    views = Views(world)
    pages = Pages(world, views)
    membership = Membership(world)
    posting = Posting(world)
    editing = Editing(world, posting)
    leaving = Leaving(world, membership, editing)
    return {
        **_account_services(world, views, leaving),
        "chatto.api.v1.UserService": (UserCalls(world, views),),
        "chatto.api.v1.RoomDirectoryService": (RoomDirectoryCalls(world, views),),
        "chatto.api.v1.RoomService": (
            RoomCalls(world, views, membership),
            MemberCalls(world, views, membership),
            RoomTimelineCalls(world, pages),
        ),
        "chatto.api.v1.MessageService": (MessageCalls(world, views, posting, editing),),
        "chatto.api.v1.ThreadService": (ThreadCalls(world, views, pages),),
        "chatto.api.v1.AssetUploadService": (UploadCalls(world, views),),
        "chatto.api.v1.AssetService": (AssetCalls(world, views),),
        "chatto.admin.v1.AdminUserService": (AdminUserCalls(world, views, membership, leaving),),
        "chatto.admin.v1.AdminPermissionService": (AdminPermissionCalls(world, membership),),
    }


def _account_services(
    world: World, views: Views, leaving: Leaving
) -> dict[str, tuple[object, ...]]:
    """Build what answers an account's questions about itself, its inbox and the server."""
    preferences = NotificationPreferenceCalls(world)
    server = ServerCalls()
    return {
        "chatto.discovery.v1.ServerDiscoveryService": (server,),
        "chatto.api.v1.ServerService": (server,),
        "chatto.api.v1.ViewerService": (ViewerCalls(world, views, preferences),),
        "chatto.api.v1.MyAccountService": (MyAccountCalls(world, views, leaving),),
        "chatto.api.v1.NotificationService": (NotificationCalls(world, views),),
        "chatto.api.v1.NotificationPreferencesService": (preferences,),
    }
