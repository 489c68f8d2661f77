"""The admin services, as far as tests set a server up through them.

Source: Chatto 0.4.20, proto/chatto/admin/v1/members.proto,
proto/chatto/admin/v1/permissions.proto, cli/internal/core/role_management.go.
"""

from collections.abc import Mapping

from . import access
from .account_calls import tell_profile
from .accounts import ROLES, Account
from .leaving import Leaving
from .membership import Membership
from .pb import Proto, admin, at
from .permissions import ADMINISTER, PERMISSION_NAMES, SERVER_SCOPE
from .refusals import Reason, refused
from .users import matching, page_of
from .views import Views
from .world import World

DECISIONS: Mapping[int, bool | None] = {
    admin.PERMISSION_DECISION_ALLOW: True,
    admin.PERMISSION_DECISION_DENY: False,
    admin.PERMISSION_DECISION_NONE: None,
}
DEFAULT_MEMBERS = 20  # in a page


class AdminUserCalls:
    """Answers calls of AdminUserService."""

    def __init__(
        self, world: World, views: Views, membership: Membership, leaving: Leaving
    ) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views
        self._membership = membership
        self._leaving = leaving

    def list_members(self, request: Proto, caller: Account) -> Proto:
        """List all accounts."""
        access.require_server_wide(self._world, caller, ADMINISTER)
        found = matching(self._world.accounts.living(), request.search)
        accounts, page = page_of(found, request.page, default=DEFAULT_MEMBERS)
        return admin.ListMembersResponse(
            members=[self._member(account) for account in accounts], page=page
        )

    def assign_role(self, request: Proto, caller: Account) -> Proto:
        """Give an account a role."""
        account = self._with_role(request, caller)
        account.roles.add(request.role_name)
        self._membership.refresh_hearing()
        return admin.AssignRoleResponse(member=self._member(account))

    def revoke_role(self, request: Proto, caller: Account) -> Proto:
        """Take a role from an account."""
        account = self._with_role(request, caller)
        account.roles.discard(request.role_name)
        self._membership.refresh_hearing()
        return admin.RevokeRoleResponse(member=self._member(account))

    def update_user(self, request: Proto, caller: Account) -> Proto:
        """Change login or display name of an account."""
        account = self._account(request, caller)
        if request.HasField("login"):
            self._world.accounts.rename(account, request.login)
        if request.HasField("display_name"):
            account.display_name = request.display_name
        tell_profile(self._world, caller, account)
        return admin.UpdateUserResponse(
            user=self._views.user(account), member=self._member(account)
        )

    def update_user_password(self, request: Proto, caller: Account) -> Proto:
        """Set the password of an account; it is signed out everywhere."""
        account = self._account(request, caller)
        account.password = request.password
        self._leaving.end_sessions(account, "password_reset")
        return admin.UpdateUserPasswordResponse(member=self._member(account))

    def delete_user(self, request: Proto, caller: Account) -> Proto:
        """Delete an account."""
        access.require_server_wide(self._world, caller, ADMINISTER)
        account = self._world.accounts.get(request.user_id)
        if account is None:
            raise refused(Reason.NO_USER)
        self._leaving.delete(caller, account)
        return admin.DeleteUserResponse(deleted=True)

    def _account(self, request: Proto, caller: Account) -> Account:
        access.require_server_wide(self._world, caller, ADMINISTER)
        return self._world.accounts.require(request.user_id)

    def _with_role(self, request: Proto, caller: Account) -> Account:
        account = self._account(request, caller)
        if request.role_name not in ROLES:
            raise refused(Reason.UNKNOWN_ROLE)
        if request.role_name == "everyone":
            raise refused(Reason.IMPLICIT_ROLE)
        return account

    def _member(self, account: Account) -> Proto:
        return admin.AdminMember(
            user=self._views.user(account),
            roles=account.role_names,
            created_at=at(account.created_ns),
            viewer_can_delete_account=True,
        )


class AdminPermissionCalls:
    """Answers the call of AdminPermissionService that changes what a role may do."""

    def __init__(self, world: World, membership: Membership) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._membership = membership

    def set_role_permission(self, request: Proto, caller: Account) -> Proto:
        """Allow or deny a role something: everywhere, in a group, or in one room."""
        access.require_server_wide(self._world, caller, ADMINISTER)
        if request.role_name not in ROLES:
            raise refused(Reason.UNKNOWN_ROLE)
        if request.permission not in PERMISSION_NAMES:
            raise refused(Reason.INTERNAL)
        is_server_wide = request.scope.kind <= admin.PERMISSION_SCOPE_KIND_SERVER
        scope_id = SERVER_SCOPE if is_server_wide else request.scope.id
        self._world.permissions.decide(
            request.role_name,
            request.permission,
            scope_id,
            allowed=DECISIONS[request.decision],
        )
        self._membership.refresh_hearing()
        return admin.SetRolePermissionResponse(
            decision=admin.PermissionDecisionUpdate(
                permission=request.permission, scope=request.scope, decision=request.decision
            )
        )
