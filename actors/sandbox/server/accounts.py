"""Accounts: who exists, under which login, with which roles.

Logins and role names share one namespace. Look-ups ignore case and know only living accounts;
a deleted one is remembered because old messages refer to it.
Source: Chatto 0.4.20, cli/internal/core/users.go, cli/internal/core/validation.go.
"""

import re
from dataclasses import dataclass, field

from .clock import Clock
from .ids import IdKind, IdSource
from .refusals import Reason, refused

LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,30}[A-Za-z0-9_-])")
ROLES = ("everyone", "moderator", "admin", "owner")  # lowest rank first
PINGABLE_ROLES = frozenset({"moderator"})
RESERVED = frozenset({*ROLES, "all", "here"})


@dataclass(slots=True, eq=False)
class CustomStatus:
    """What an account says about itself."""

    emoji: str
    text: str
    expires_ns: int | None
    """None: until it is taken back."""


@dataclass(slots=True, eq=False)
class Account:
    """A person or an agent."""

    id: str
    login: str
    display_name: str
    password: str
    created_ns: int
    roles: set[str] = field(default_factory=set)
    """Roles given to it; everybody has `everyone` besides."""
    status: CustomStatus | None = None
    is_deleted: bool = False

    @property
    def role_names(self) -> list[str]:
        """All roles, the lowest first."""
        return [name for name in ROLES if name == "everyone" or name in self.roles]


class Accounts:
    """All accounts of the server."""

    def __init__(self, clock: Clock, ids: IdSource) -> None:
        """Start without any."""
        self._clock = clock
        self._ids = ids
        self._by_id: dict[str, Account] = {}
        self._by_login: dict[str, Account] = {}

    def add(self, login: str, password: str, *, display_name: str = "") -> Account:
        """Create an account.

        Args:
            login: 2-32 characters of `[A-Za-z0-9._-]`.
            password: taken as it is.
            display_name: empty for the login with a capital letter.

        Raises:
            RefusedError: the login is malformed, reserved or taken.
        """
        self._require_free(login)
        account = Account(
            id=self._ids.new(IdKind.USER),
            login=login,
            display_name=display_name or login.title(),
            password=password,
            created_ns=self._clock.now_ns(),
        )
        self._by_id[account.id] = account
        self._by_login[login.lower()] = account
        return account

    def known(self, user_id: str) -> Account | None:
        """Look an account up, a deleted one too."""
        return self._by_id.get(user_id)

    def get(self, user_id: str) -> Account | None:
        """Look a living account up."""
        account = self._by_id.get(user_id)
        return None if account is None or account.is_deleted else account

    def require(self, user_id: str) -> Account:
        """Return a living account.

        Raises:
            RefusedError: there is none with this ID.
        """
        account = self.get(user_id)
        if account is None:
            raise refused(Reason.UNKNOWN)
        return account

    def by_login(self, login: str) -> Account | None:
        """Look a living account up by its login, in any case."""
        return self._by_login.get(login.lower())

    def living(self) -> list[Account]:
        """Return all accounts that are not deleted, in the order they were made."""
        return [account for account in self._by_id.values() if not account.is_deleted]

    def with_role(self, name: str) -> list[Account]:
        """Return the living accounts that were given this role."""
        return [account for account in self.living() if name in account.roles]

    def rename(self, account: Account, login: str) -> None:
        """Give an account another login; the old one means nobody from now on.

        Raises:
            RefusedError: the login is malformed, reserved or taken by another account.
        """
        if login.lower() != account.login.lower():
            self._require_free(login)
        del self._by_login[account.login.lower()]
        account.login = login
        self._by_login[login.lower()] = account

    def forget(self, account: Account) -> None:
        """Delete an account; its login is free again."""
        account.is_deleted = True
        account.roles.clear()
        account.status = None
        del self._by_login[account.login.lower()]

    def _require_free(self, login: str) -> None:
        if not LOGIN.fullmatch(login):
            raise refused(Reason.BAD_LOGIN)
        if login.lower() in RESERVED:
            raise refused(Reason.RESERVED_LOGIN)
        if login.lower() in self._by_login:
            raise refused(Reason.LOGIN_TAKEN)
